"""Visits to bio pages: the page, the warning before sensitive content, and the destinations of blocks."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.clicks import journal
from waypost.clicks.classify import classifier
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.interstitials import render
from waypost.items.bios import blocks, design, embeds, form_blocks, picture_names, pictures, public_images, themes, view
from waypost.items.bios.form_blocks import PageForm
from waypost.media.branding.brand import Brand
from waypost.urls import validation
from waypost.urls.alias_namespace import OWN
from waypost.urls.blocklist import Blocklist
from waypost.urls.short_urls import report_url
from waypost.visits import writers
from waypost.visits.alias import AliasKind
from waypost.visits.avatar import avatar
from waypost.visits.i18n import translatable
from waypost.visits.outcome import JournalFields, Log, NeedsRequest, Outcome, Page
from waypost.visits.record_queries import BioView
from waypost.visits.request import VisitRequest, read_visit
from waypost.visits.responses import (
    NO_STORE,
    WEB_SCHEMES,
    PageRenderer,
    app_redirect,
    payload_download,
    redirect,
    wants_json,
)
from waypost.visits.visit import VisitService
from waypost.visits.visitor_services import Services

_CONFIRMED_COOKIE = "wp_sure"
_CONFIRMED_SECONDS = 86_400
_NO_FORMS: Mapping[int, PageForm] = {}
_MAX_SUMMARY = 300  # characters of the description in a link preview


def visit_bio(visits: VisitService, visit: VisitRequest, bio: BioView, _blocked: Blocklist) -> Outcome:
    """Return the page, which counts the visit. A warning, and a form, which changes on its own, need the request."""
    if bio.sensitive or visit.query or _has_form(bio):
        return NeedsRequest(partial(_show, bio=bio))
    expiry = blocks.last_second_unchanged(bio.blocks, clock.now())
    return Page(partial(_page, bio=bio, settings=visits.settings), _log(bio), expiry=expiry)


async def _show(request: Request, services: Services, visit: VisitRequest, *, bio: BioView) -> Response:
    """Show the page and count the visit. A sensitive page shows a warning first, which counts nothing."""
    if request.method == "POST":
        return _confirm(bio, services.settings)
    if bio.sensitive and not wants_json(request) and not _is_confirmed(request, bio):
        title = services.pages.translate(request, translatable("Sensitive content"))
        return services.pages.page("content_warning.html", request=request, title=title, alias=bio.alias)
    page = partial(_page, bio=bio, settings=services.settings, forms=await _forms(services, bio))
    response = await writers.respond(request, services, visit, Page(page, _log(bio)))
    if not wants_json(request) and request.query_params.get("sure") == "1":
        _set_confirmed(response, bio, services.settings)
    return response


async def visit_block(request: Request, services: Services) -> Response:
    """`/<alias>/<block>`, and `/<alias>/vcard` for the first contact card. Counts a click of the block.

    `/<alias>/picture-<id>` is a picture of the page, `/<alias>/card.png` its image for social networks.
    """
    visit = await read_visit(request, request.path_params["alias"], services.settings)
    bio, segment = await services.visits.resolve(visit.host, visit.alias), request.path_params["block"]
    if not isinstance(bio, BioView):
        return services.pages.refuse(request, "missing")
    if picture_names.is_name(segment):
        return await public_images.picture(request, services, bio, segment)
    if segment == public_images.CARD:
        return await public_images.card(request, services, bio)
    block = view.find_block(bio, segment, clock.now())
    if block is None or "blocked" in block:
        return services.pages.refuse(request, "missing" if block is None else "blocked")
    return _follow(request, services, visit, bio, block)


def _follow(request: Request, services: Services, visit: VisitRequest, bio: BioView, block: blocks.Block) -> Response:
    """Respond to a click on a block, and count it."""
    if block["type"] == "vcard":
        _log_block_click(services, visit, bio, block)
        system = classifier.agent(visit.agent_text).os
        return payload_download(view.contact_card(bio, block), opens_inline=system == "iOS")
    try:
        url = validation.stored(blocks.url_of(block), field="blocks", schemes=blocks.schemes(services.settings))
    except Problem:  # a rule has changed since, such as a URL scheme that is no longer allowed
        return services.pages.refuse(request, "disabled")
    _log_block_click(services, visit, bio, block)
    player = embeds.find_player(url) if block["type"] == "embed" and request.query_params.get("play") == "1" else None
    if player:
        response = redirect(player.url)
        response.headers["Referrer-Policy"] = "strict-origin-when-cross-origin"  # some players need the origin
        return response
    if url.lower().startswith(WEB_SCHEMES):
        return redirect(url)
    return app_redirect(services.pages, request, url, name=blocks.title_of(block))


async def preview_bio(request: Request, services: Services, bio: BioView) -> Response:
    """Show the URL of the page without a visit (decision 50)."""
    url = f"{services.settings.base}/{bio.alias}"
    report = report_url(services.settings.base, OWN, None, bio.alias)
    return services.pages.preview(request, url=url, alias=bio.alias, title=bio.heading, report=report)


def render_draft(
    pages: PageRenderer, settings: Settings, *, brand: Brand, forms: Mapping[int, PageForm] = _NO_FORMS, **fields: Any
) -> str:
    """Render an unsaved page for the editor, with the brand. `fields` are those of a bio page."""
    bio = BioView(id=0, account=0, sensitive=False, **fields)
    return pages.render("bio.html", **_context(bio, settings, forms), brand=brand)


def _has_form(bio: BioView) -> bool:
    return any(block["type"] == "form" for block in bio.blocks)


async def _forms(services: Services, bio: BioView) -> Mapping[int, PageForm]:
    """Return the forms of a page with their tokens, by the id of the overlay."""
    if not _has_form(bio):
        return _NO_FORMS
    forms = await services.read(lambda tx: form_blocks.find_forms(tx, bio.account, bio.blocks))
    signer, url = await services.signer.get(), f"{services.settings.base}/{bio.alias}"
    return {
        overlay: replace(form, token=render.create_form_token(signer, overlay=overlay, link=0, url=url))
        for overlay, form in forms.items()
    }


def _page(
    request: Request,
    pages: PageRenderer,
    bio: BioView,
    settings: Settings,
    forms: Mapping[int, PageForm] = _NO_FORMS,
) -> Response:
    bio = view.shown_at(bio, clock.now())
    if wants_json(request):
        return JSONResponse(view.as_json(bio, settings.base), headers=NO_STORE)
    context = {**_context(bio, settings, forms), "script": view.page_script()}
    return pages.page("bio.html", request=request, headers=view.page_headers(bio), **context)


def _context(bio: BioView, settings: Settings, forms: Mapping[int, PageForm]) -> dict[str, Any]:
    """Return the template values of a page."""
    title, url = bio.heading, f"{settings.base}/{bio.alias}"
    return {
        "bio": bio,
        "title": title,
        "url": url,
        "card": "" if bio.sensitive else public_images.card_url(bio, url),
        "summary": " ".join(bio.description.split())[:_MAX_SUMMARY],
        "style": _style(bio),
        "avatar": avatar(title, bio.alias),
        "picture": pictures.url_of(bio.avatar, f"/{bio.alias}"),
        "sections": view.sections(bio, forms),
        "report": report_url(settings.base, OWN, None, bio.alias),
    }


def _style(bio: BioView) -> str:
    if bio.design is None:
        return themes.css_variables(bio.theme)
    return design.css(bio.theme, bio.design, pictures.url_of(bio.design["picture"], f"/{bio.alias}"))


def _confirm(bio: BioView, settings: Settings) -> Response:
    """Redirect to the page after the warning. The query is for browsers without cookies."""
    response = redirect(f"/{bio.alias}?sure=1", status=303)
    _set_confirmed(response, bio, settings)
    return response


def _is_confirmed(request: Request, bio: BioView) -> bool:
    return request.query_params.get("sure") == "1" or request.cookies.get(_CONFIRMED_COOKIE) == str(bio.id)


def _set_confirmed(response: Response, bio: BioView, settings: Settings) -> None:
    """Set a cookie that is valid for, and sent to, this page only."""
    response.set_cookie(
        _CONFIRMED_COOKIE,
        str(bio.id),
        max_age=_CONFIRMED_SECONDS,
        path=f"/{bio.alias}",
        secure=settings.secure_cookies,
        httponly=True,
        samesite="lax",
    )


def _log(bio: BioView) -> Log:
    return (JournalFields(journal.item_fields(bio.account, "bio", bio.id)),)


def _log_block_click(services: Services, visit: VisitRequest, bio: BioView, block: blocks.Block) -> None:
    services.visits.log_visit(journal.item_fields(bio.account, "block", block["id"]), visit)


def has_warning(bio: BioView) -> bool:
    """Return whether the page begins with a form that confirms a warning."""
    return bio.sensitive


BIOS = AliasKind(BioView, preview_bio, has_warning, visit_bio)
