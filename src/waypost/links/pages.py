"""The pages of links: the table, quick creation, the editor, statistics."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.geo.countries import NAMES
from waypost.dashboard import forms, qr_image, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.links import dead_links, form_options, ops, search
from waypost.links.api import LinkChange, NewLink
from waypost.links.columns import Status
from waypost.urls.short_urls import short_url

pages = Router()
SHAPE = Shape(
    lists=("pixels", "channel"),
    rows={
        "geotarget": ("location", "link"),
        "devicetarget": ("device", "link"),
        "languagetarget": ("language", "link"),
        "parameters": ("name", "value"),
        "deeplink": ("apple", "google"),
    },
    single=("deeplink",),
    flags=("unlock",),
    local_times=("expiry",),
)
_LIST = "/dashboard/links"
# What somebody may hold, as visits are classified: the system, the kind of device.
_DEVICES = {
    "iphone": ("iOS", "Mobile"),
    "ipad": ("iOS", "Tablet"),
    "android": ("Android", "Mobile"),
    "android-tablet": ("Android", "Tablet"),
    "windows": ("Windows", "Desktop"),
    "mac": ("macOS", "Desktop"),
    "linux": ("Linux", "Desktop"),
}
_LANGUAGES = "ar cs da de el en es fi fr he hi hu id it ja ko nl no pl pt ro ru sv th tr uk vi zh".split()
_TRIAL: dict[str, Any] = {"countries": sorted(NAMES.items(), key=lambda one: one[1]), "languages": _LANGUAGES}


@pages.get("/dashboard/links")
def list_links(context: PageContext) -> Response:
    order: search.Order = "click" if context.query("order") == "click" else "date"
    status = next((one for one in get_args(Status) if one == context.query("status")), None)
    dead = context.query("status") == "dead"
    only = search.LinkFilter(
        campaign=context.query_id("campaign"), channel=context.query_id("channel"), status=status, dead=dead
    )
    window, q = context.page_request(), context.query("q")

    def work(tx: Connection) -> tuple[Any, Any, set[int]]:
        kept = {"campaigns": [only.campaign or 0], "channels": [only.channel or 0]}
        chosen = form_options.load(tx, context.account, names=form_options.COLLECTIONS, selected=kept)
        found = search.quick_page(tx, context.account, window, order=order, q=q, link_filter=only)
        shown = [link.id for link in found.items] if context.settings.dead_links_days else []
        return found, chosen, dead_links.dead_among(tx, context.account, shown)

    page, chosen, broken = context.read_after_ingest(work)
    told: dict[str, Any] = {
        "broken": broken,
        "q": q,
        "order": order,
        "only": only,
        "filtered": bool(q) or only != search.NO_FILTER,
        "most": search.MAX_MATCHES,
    }
    return context.render("links/list.html", page=page, choices=chosen, short=lambda link: _url(link, context), **told)


@pages.get("/dashboard/links/new")
def blank_link(context: PageContext) -> Response:
    return _new_page(context, Form({"url": context.query("url", max_length=8192), "campaign": context.query("campaign")}))


@pages.post("/dashboard/links/new")
def add_link(context: PageContext) -> Response:
    form = context.form(SHAPE)
    link = form.attempt(lambda: _add(context, form))
    if link is None:
        return _new_page(context, form, status=400)
    return context.redirect(_LIST, message="Your link is ready.", copy_text=_url(link, context))


@pages.get("/dashboard/links/{id:int}")
def edit_link(context: PageContext, id: int) -> Response:
    now = context.read(lambda tx: _values(tx, context, id))
    return _edit_page(context, id, Form(now))


@pages.post("/dashboard/links/{id:int}")
def save_link(context: PageContext, id: int) -> Response:
    form = context.form(SHAPE, current=context.read(lambda tx: _values(tx, context, id)))
    link = form.attempt(lambda: _change(context, id, form))
    if link is None:
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.", copy_text=_url(link, context))


@pages.get("/dashboard/links/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    link = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render("links/delete.html", links=[link], short=lambda one: _url(one, context))


@pages.post("/dashboard/links/delete")
def delete_links(context: PageContext) -> Response:
    count = context.delete_selected(ops.remove)
    return context.redirect(_LIST, message=ngettext("The link is deleted.", "%(count)s links are deleted.", count))


@pages.post("/dashboard/links/bulk")
def change_many(context: PageContext) -> Response:
    """What was chosen for the ticked rows: a status, a campaign, a channel, or deletion, which is asked about first."""
    ids, (action, _, target) = context.selected_ids(), context.form().text("action").partition("-")
    if not ids:
        return context.redirect(_LIST, message="Tick the links that you mean first.", tone="bad")
    if action == "delete":
        found = context.read(lambda tx: [ops.get_owned(tx, context.account, link) for link in ids])
        return context.render("links/delete.html", links=found, short=lambda one: _url(one, context))

    def work(tx: Connection) -> None:
        for link in ids:
            fields: dict[str, Any] = {"status": target}
            if action == "campaign":
                fields = {"campaign": int(target or 0) or None}
            elif action == "channel":
                fields = {"channel": [*ops.get_owned(tx, context.account, link).channel, int(target)]}
            body = LinkChange.model_validate(fields)
            ops.change(tx, context.account, link, settings=context.settings, **body.sent())

    if action not in ("status", "campaign", "channel") or not (action == "status" or target.isdecimal()):
        return context.redirect(_LIST, message="Choose what to do with them first.", tone="bad")
    context.write(work)
    return context.redirect(_LIST, message=ngettext("The link is changed.", "%(count)s links are changed.", len(ids)))


@pages.get("/dashboard/links/{id:int}/stats")
def link_statistics(context: PageContext, id: int) -> Response:
    link = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    title = link.title or short_url(context.settings.base, link.host, link.scheme, link.alias).partition("://")[2]
    return statistics.page(context, "link", id, title=title, back=f"{_LIST}/{id}", short=_url(link, context))


@pages.get("/dashboard/links/{id:int}/trial")
def try_link(context: PageContext, id: int) -> Response:
    """What a visitor would get who is only described. Nothing is counted."""
    chosen = {name: context.query(name) for name in ("country", "device", "language")}
    os, device = _DEVICES.get(chosen["device"], ("", ""))

    def work(tx: Connection) -> tuple[ops.Link, tuple[str, str]]:
        link = ops.get_owned(tx, context.account, id)
        told = {"country": chosen["country"].upper(), "language": chosen["language"].casefold()[:2]}
        return link, context.services.dry_run(tx, context.account, id, os=os, device=device, **told)

    link, (why, url) = context.read(work)
    return context.render("links/trial.html", link=link, why=why, url=url, form=Form(chosen), **_TRIAL)


def _add(context: PageContext, form: Form) -> ops.Link:
    fields = form.read(NewLink, context.time_zone, SHAPE).sent()
    return context.write(lambda tx: ops.add(tx, context.account, settings=context.settings, **fields))


def _change(context: PageContext, id: int, form: Form) -> ops.Link:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    body = form.read(LinkChange, context.time_zone, SHAPE)
    fields = body.sent()
    if form.text("unlock"):
        fields["password"] = None
    if body.clicklimit is not None:
        context.wait_for_ingest()  # what was clicked before a limit counts against it

    return context.save(
        form,
        lambda tx: _values(tx, context, id),
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
    )


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """What the editor shows of a link."""
    link, details = ops.get_owned(tx, context.account, id), ops.get_details(tx, id)
    told = asdict(details)
    lines = ("type", "status", "expiryurl", "metatitle", "metadescription", "metaimage")
    rows = ("geotarget", "devicetarget", "languagetarget", "parameters")
    return {
        **{name: getattr(link, name) for name in ("url", "title", "description")},
        **{name: told[name] for name in lines},
        **{name: [{**row} for row in told[name]] for name in rows},
        "deeplink": [{store: details.deeplink.get(store, "") for store in ("apple", "google")}]
        * bool(details.deeplink),
        "custom": link.alias,
        "domain": link.host or context.settings.own_host,
        "password": "",
        "expiry": "" if details.expiry is None else forms.to_local_input(details.expiry, context.time_zone),
        "clicklimit": "" if details.clicklimit is None else str(details.clicklimit),
        "campaign": "" if link.campaign is None else str(link.campaign),
        "channel": [str(channel) for channel in link.channel],
        "pixels": [str(pixel) for pixel in details.pixels],
    }


def _new_page(context: PageContext, form: Form, *, status: int = 200) -> Response:
    return context.render(
        "links/new.html", status=status, form=form, choices=_choices(context, form), own=context.settings.own_host
    )


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Link, bool, dead_links.CheckResult | None]:
        return (
            ops.get_owned(tx, context.account, id),
            ops.get_details(tx, id).password,
            dead_links.get_result(tx, context.account, id),
        )

    link, locked, seen = context.read(work)
    told: dict[str, Any] = {
        "link": link,
        "seen": seen,
        "locked": locked,
        "short": _url(link, context),
        "own": context.settings.own_host,
    }
    told["picture"] = qr_image.qr_data_url(_url(link, context))
    return context.render("links/edit.html", status=status, form=form, choices=_choices(context, form), **told)


def _choices(context: PageContext, form: Form) -> form_options.Options:
    """What there is to choose from, with all that is chosen."""
    way = form.text("type")
    ids = {
        "campaigns": [form.text("campaign")],
        "channels": form["channel"],
        "pixels": form["pixels"],
        "splashes": [way],
        "overlays": [way.removeprefix("overlay-")],
    }
    kept: dict[str, list[int | str]] = {
        name: [int(one) for one in chosen if isinstance(one, str) and one.isdecimal() and len(one) < 16]
        for name, chosen in ids.items()
    }
    kept["domains"] = [form.text("domain")]
    return context.read(lambda tx: form_options.load(tx, context.account, selected=kept))


def _url(link: ops.Link, context: PageContext) -> str:
    return short_url(context.settings.base, link.host, link.scheme, link.alias)
