"""Visits to bio pages: the page, the warning before sensitive content, and the destinations of blocks."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from waypost.bios import blocks, themes, view
from waypost.clicks.classify import classifier
from waypost.clicks.journal import entry
from waypost.errors import Problem
from waypost.settings import Settings
from waypost.urls import validation
from waypost.urls.alias_namespace import OWN
from waypost.urls.short_urls import report_url
from waypost.visits.alias import AliasKind
from waypost.visits.avatar import avatar
from waypost.visits.fast_outcomes import FastPage
from waypost.visits.i18n import translatable
from waypost.visits.lookup import BioView
from waypost.visits.payload_responses import app_redirect, payload_download
from waypost.visits.request import VisitRequest, read_visit
from waypost.visits.responses import NO_STORE, PAGE_HEADERS, WEB_SCHEMES, PageRenderer, redirect, wants_html
from waypost.visits.services import Services
from waypost.visits.visit import VisitService

_CONFIRMED_COOKIE = "wp_sure"
_CONFIRMED_SECONDS = 86_400
_MAX_SUMMARY = 300  # characters of the description in a link preview


async def visit_bio(request: Request, services: Services, visit: VisitRequest, bio: BioView) -> Response:
    """Show the page and count the visit. A sensitive page shows browsers a warning first, which counts nothing."""
    if request.method == "POST":
        return _confirm(bio, services.settings)
    if wants_html(request) and bio.sensitive and not _is_confirmed(request, bio):
        title = services.pages.translate(request, translatable("Sensitive content"))
        return services.pages.page("content_warning.html", request=request, title=title, alias=bio.alias)
    services.visits.log_visit(_journal_target(bio), visit)
    page = _page(request, services.pages, bio, services.settings)
    if wants_html(request) and request.query_params.get("sure") == "1":
        _set_confirmed(page, bio, services.settings)
    return page


def fast_bio(visits: VisitService, visit: VisitRequest, bio: BioView) -> FastPage | None:
    """Return the page, if it has no warning."""
    if bio.sensitive or visit.query:
        return None
    return FastPage(_journal_target(bio), partial(_page, bio=bio, settings=visits.settings))


async def visit_block(request: Request, services: Services) -> Response:
    """`/<alias>/<block>`, and `/<alias>/vcard` for the first contact card. Counts a click of the block."""
    visit = await read_visit(request, request.path_params["alias"], services.settings)
    bio = await services.visits.resolve(visit.host, visit.alias)
    block = view.find_block(bio, request.path_params["block"]) if isinstance(bio, BioView) else None
    if not isinstance(bio, BioView) or block is None:
        return services.pages.refuse(request, "missing")
    if "blocked" in block:
        return services.pages.refuse(request, "blocked")
    if block["type"] == "vcard":
        _log_block_click(services, visit, bio, block)
        system = classifier.agent(visit.agent_text).os
        return payload_download(view.contact_card(bio, block), opens_inline=system == "iOS")
    try:
        url = validation.destination(blocks.url_of(block), field="blocks", settings=services.settings)
    except Problem:  # a rule has changed since, such as a URL scheme that is no longer allowed
        return services.pages.refuse(request, "disabled")
    _log_block_click(services, visit, bio, block)
    if url.lower().startswith(WEB_SCHEMES):
        return redirect(url)
    return app_redirect(services.pages, request, url, name=blocks.title_of(block))


async def preview_bio(request: Request, services: Services, bio: BioView) -> Response:
    """Show the URL of the page without a visit (decision 50)."""
    url = f"{services.settings.base}/{bio.alias}"
    report = report_url(services.settings.base, OWN, None, bio.alias)
    return services.pages.preview(request, url=url, alias=bio.alias, title=view.heading(bio), report=report)


def render_draft(pages: PageRenderer, settings: Settings, **fields: Any) -> str:
    """Render an unsaved page for the editor. `fields` are those of a bio page."""
    bio = BioView(id=0, account=0, sensitive=False, **fields)
    return pages.render("bio.html", **_context(bio, settings))


def _page(request: Request, pages: PageRenderer, bio: BioView, settings: Settings) -> Response:
    if not wants_html(request):
        return JSONResponse(view.as_json(bio, settings.base), headers=NO_STORE)
    page = pages.page("bio.html", request=request, **_context(bio, settings))
    page.headers["Content-Security-Policy"] = PAGE_HEADERS["Content-Security-Policy"].replace(
        "img-src data:", f"img-src data: {view.image_sources(bio)}".replace(" 'none'", "")
    )
    return page


def _context(bio: BioView, settings: Settings) -> dict[str, Any]:
    """Return the template values of a page."""
    title = view.heading(bio)
    return {
        "bio": bio,
        "title": title,
        "url": f"{settings.base}/{bio.alias}",
        "summary": " ".join(bio.description.split())[:_MAX_SUMMARY],
        "style": themes.css_variables(bio.theme),
        "avatar": avatar(title, bio.alias),
        "sections": view.sections(bio),
        "report": report_url(settings.base, OWN, None, bio.alias),
    }


def _confirm(bio: BioView, settings: Settings) -> Response:
    """Redirect to the page after the warning. The query is for browsers without cookies."""
    response = redirect(f"/{bio.alias}?sure=1" if bio.sensitive else f"/{bio.alias}", status=303)
    if bio.sensitive:
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


def _journal_target(bio: BioView) -> bytes:
    return entry.item_fields(bio.account, "bio", bio.id)


def _log_block_click(services: Services, visit: VisitRequest, bio: BioView, block: blocks.Block) -> None:
    services.visits.log_visit(entry.item_fields(bio.account, "block", block["id"]), visit)


BIOS = AliasKind(BioView, visit_bio, preview_bio, lambda _: True, fast_bio)
