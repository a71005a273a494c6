"""Dashboard pages of links: list, editor, dry run, statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.clicks.geo.countries import NAMES
from waypost.dashboard import forms, qr_image, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value, parse_id
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.links import dead_links, form_options, ops, search
from waypost.links.columns import Status
from waypost.links.schemas import LinkChange, NewLink

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
# Operating system and device type of each device of the dry run, as visits are classified.
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
_COUNTRY_OPTIONS = sorted(NAMES.items(), key=lambda country: country[1])
_LANGUAGE_OPTIONS = [(code, code) for code in _LANGUAGES]


@pages.get("/dashboard/links")
def list_links(context: PageContext) -> Response:
    order: search.Order = "click" if context.query("order") == "click" else "date"
    status = next((value for value in get_args(Status) if value == context.query("status")), None)
    link_filter = search.LinkFilter(
        campaign=context.query_id("campaign"),
        channel=context.query_id("channel"),
        status=status,
        dead=context.query("status") == "dead",
    )
    page_request, q = context.page_request(), context.query("q")

    def work(tx: Connection) -> tuple[Any, Any, set[int]]:
        selected = {"campaigns": [link_filter.campaign or 0], "channels": [link_filter.channel or 0]}
        options = form_options.load(tx, context.account, names=form_options.COLLECTIONS, selected=selected)
        page = search.quick_page(tx, context.account, page_request, order=order, q=q, link_filter=link_filter)
        checked_ids = [link.id for link in page.items] if context.settings.dead_links_days else []
        return page, options, dead_links.dead_among(tx, context.account, checked_ids)

    page, options, dead = context.read_after_ingest(work)
    return context.render(
        "links/list.html",
        page=page,
        choices=options,
        dead_links=dead,
        q=q,
        order=order,
        link_filter=link_filter,
        filtered=bool(q) or link_filter != search.NO_FILTER,
        max_matches=search.MAX_MATCHES,
        short_url=context.short_url,
    )


@pages.get("/dashboard/links/new")
def show_new_form(context: PageContext) -> Response:
    """Show the form, filled in from the query: bookmarklets and the share menu of phones open it."""
    values = {name: context.query(name, max_length=8192) for name in ("url", "title", "campaign")}
    return _new_page(context, Form(values))


@pages.post("/dashboard/links/new")
def create_link(context: PageContext) -> Response:
    form = context.form(SHAPE)
    link = form.attempt(lambda: _create(context, form))
    if link is None:
        return _new_page(context, form, status=400)
    return context.redirect(_LIST, message="Your link is ready.", copy_text=context.short_url(link))


@pages.get("/dashboard/links/{id:int}")
def show_link(context: PageContext, id: int) -> Response:
    values = context.read(lambda tx: _values(tx, context, id))
    return _edit_page(context, id, Form(values))


@pages.post("/dashboard/links/{id:int}")
def update_link(context: PageContext, id: int) -> Response:
    form = context.form(SHAPE, current=context.read(lambda tx: _values(tx, context, id)))
    link = form.attempt(lambda: _update(context, id, form))
    if link is None:
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.", copy_text=context.short_url(link))


@pages.get("/dashboard/links/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    return _confirmation(context, [id])


@pages.post("/dashboard/links/delete")
def delete_links(context: PageContext) -> Response:
    count = context.delete_selected(ops.remove)
    return context.redirect(_LIST, message=ngettext("The link was deleted.", "%(count)s links were deleted.", count))


@pages.post("/dashboard/links/bulk")
def apply_bulk_action(context: PageContext) -> Response:
    """Set a status, campaign or channel of the selected links, or ask for confirmation to delete them."""
    ids, (action, _, target) = context.selected_ids(), context.form().text("action").partition("-")
    if not ids:
        return context.redirect(_LIST, message="Select at least one link.", tone="bad")
    if action == "delete":
        return _confirmation(context, ids)

    def work(tx: Connection) -> None:
        for link in sorted(ids):
            fields: dict[str, Any] = {"status": target}
            if action == "campaign":
                fields = {"campaign": group or None}
            elif action == "channel":
                fields = {"channel": [*ops.get_owned(tx, context.account, link).channel, group]}
            body = LinkChange.model_validate(fields)
            ops.change(tx, context.account, link, settings=context.settings, **body.sent())

    group = parse_id(target)
    is_known = target in get_args(Status) if action == "status" else group is not None
    if action not in ("status", "campaign", "channel") or not is_known:
        return context.redirect(_LIST, message="Select an action.", tone="bad")
    context.write(work)
    return context.redirect(_LIST, message=ngettext("The link was updated.", "%(count)s links were updated.", len(ids)))


@pages.get("/dashboard/links/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    link = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    url = context.short_url(link)
    title = link.title or url.partition("://")[2]
    return statistics.page(context, "link", id, title=title, back=f"{_LIST}/{id}", short=url)


@pages.get("/dashboard/links/{id:int}/trial")
def show_dry_run(context: PageContext, id: int) -> Response:
    """Show where the link leads a visitor with the given country, device and language, without counting a click."""
    visitor = {name: context.query(name) for name in ("country", "device", "language")}
    os, device = _DEVICES.get(visitor["device"], ("", ""))

    def work(tx: Connection) -> tuple[ops.Link, tuple[str, str]]:
        link = ops.get_owned(tx, context.account, id)
        country, language = visitor["country"].upper(), visitor["language"].casefold()[:2]
        return link, context.services.dry_run(
            tx, context.account, id, country=country, os=os, device=device, language=language
        )

    link, (reason, url) = context.read(work)
    return context.render(
        "links/dry_run.html",
        link=link,
        reason=reason,
        url=url,
        form=Form(visitor),
        countries=_COUNTRY_OPTIONS,
        languages=_LANGUAGE_OPTIONS,
    )


def _confirmation(context: PageContext, ids: Sequence[int]) -> Response:
    links = context.read(lambda tx: [ops.get_owned(tx, context.account, link) for link in ids])
    return context.render("links/delete.html", links=links, short_url=context.short_url)


def _create(context: PageContext, form: Form) -> ops.Address:
    fields = form.read(NewLink, context.time_zone, SHAPE).sent()
    return context.write(lambda tx: ops.add(tx, context.account, settings=context.settings, **fields))


def _update(context: PageContext, id: int, form: Form) -> ops.Address:
    """Save the changed fields. Raises INVALID if the link was changed since the form was shown."""
    body = form.read(LinkChange, context.time_zone, SHAPE)
    fields = body.sent()
    if form.text("unlock"):
        fields["password"] = None
    if body.clicklimit is not None:
        context.wait_for_ingest()  # earlier clicks count against a new limit
    return context.save(
        form,
        lambda tx: _values(tx, context, id),
        lambda tx: ops.change(tx, context.account, id, settings=context.settings, **fields),
    )


def _values(tx: Connection, context: PageContext, id: int) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    link, details = ops.get_details(tx, context.account, id)
    columns = asdict(details)
    names = ("type", "status", "expiryurl", "metatitle", "metadescription", "metaimage")
    rows = ("geotarget", "devicetarget", "languagetarget", "parameters")
    deeplink = {store: details.deeplink.get(store, "") for store in ("apple", "google")}
    return {
        **{name: getattr(link, name) for name in ("url", "title", "description")},
        **{name: columns[name] for name in names},
        **{name: [{**row} for row in columns[name]] for name in rows},
        "deeplink": [deeplink] if details.deeplink else [],
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
        "links/new.html", status=status, form=form, choices=_options(context, form), own_host=context.settings.own_host
    )


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Link, bool, dead_links.CheckResult | None]:
        link, details = ops.get_details(tx, context.account, id)
        return link, details.password, dead_links.get_result(tx, context.account, id)

    link, has_password, check = context.read(work)
    url = context.short_url(link)
    return context.render(
        "links/edit.html",
        status=status,
        form=form,
        choices=_options(context, form),
        link=link,
        check=check,
        has_password=has_password,
        short_url=url,
        own_host=context.settings.own_host,
        qr_code=qr_image.qr_data_url(url),
    )


def _options(context: PageContext, form: Form) -> form_options.Options:
    """Return the options of the form's selects; they include every selected one."""
    link_type = form.text("type")
    ids = {
        "campaigns": [form.text("campaign")],
        "channels": form["channel"],
        "pixels": form["pixels"],
        "splashes": [link_type],
        "overlays": [link_type.removeprefix("overlay-")],
    }
    selected: dict[str, list[int | str]] = {
        name: [int(value) for value in values if isinstance(value, str) and value.isdecimal() and len(value) < 16]
        for name, values in ids.items()
    }
    selected["domains"] = [form.text("domain")]
    return context.read(lambda tx: form_options.load(tx, context.account, selected=selected))
