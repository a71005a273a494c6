"""Dashboard pages of one link: editor, dry run, statistics. The list is in `list_pages`."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.dashboard import forms, localized_names, statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.routing import Router
from waypost.items.links import dead_links, ops, targeting, utm
from waypost.items.links.form import (
    LISTED,
    Options,
    apply_utm,
    assign_row_errors,
    ensure_channels,
    fill_utm,
    find_campaign,
    find_existing,
    load_options,
    localize_targets,
    read_targets,
    respond_quick_create,
)
from waypost.items.links.schemas import LinkChange, NewLink
from waypost.media.qrcode import render
from waypost.urls.url_parts import utm_values_of

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
    flags=("unlock", "dropquery"),
    local_times=("expiry",),
    exact=("password",),
    urls=(
        *("url", "expiryurl", "metaimage", "geotarget.link", "devicetarget.link", "languagetarget.link"),
        *("deeplink.apple", "deeplink.google"),
    ),
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


@pages.get("/dashboard/links/new")
def show_new_form(context: PageContext) -> Response:
    """Show the form, filled in from the query: bookmarklets and the share menu of phones open it."""
    values = {name: context.query(name, max_length=8192) for name in ("url", "title", "campaign", "domain")}
    values["domain"] = values["domain"] or context.quick_options.last_domain
    return _new_page(context, Form(values))


@pages.post("/dashboard/links/new", resumable=True)
def create_link(context: PageContext) -> Response:
    form = read_targets(context.form(SHAPE))
    if form.text("quick") and "domain" not in context.fields:  # its field is in a fold that was not opened
        form.values["domain"] = context.quick_options.last_domain
    link = context.create(form, NewLink, partial(_add, context, form), SHAPE)
    _assign_errors(context, form)
    if form.text("quick") in ("create", "quick"):
        return respond_quick_create(context, form, link)
    if link is None:
        return _new_page(context, form, status=400)
    if isinstance(link, ops.Link):
        return _new_page(context, form, existing=link)
    message, url, another = "Your link is ready.", context.short_url(link), _next_form(context, form)
    if form.text("again"):
        return context.redirect(another, message=message, copy_text=url)
    card = (f"{_LIST}/{link.id}", another)
    return context.redirect(context.back_path(_LIST), message=message, copy_text=url, card=card)


def _next_form(context: PageContext, form: Form) -> str:
    """Return the path of the form for another link, in the same campaign and domain."""
    kept = {"campaign": form.text("campaign"), "domain": form.text("domain"), "next": context.back_path(_LIST)}
    return f"{_LIST}/new?{urlencode(kept)}"


@pages.get("/dashboard/links/{id:int}")
def show_link(context: PageContext, id: int) -> Response:
    values = context.read(lambda tx: _values(tx, context, id))
    return _edit_page(context, id, Form(values))


@pages.post("/dashboard/links/{id:int}", resumable=True)
def update_link(context: PageContext, id: int) -> Response:
    form = read_targets(context.form(SHAPE, current=context.read(lambda tx: _values(tx, context, id))))
    link = _update(context, id, form)
    if link is None:
        return _edit_page(context, id, form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.", copy_text=context.short_url(link))


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

    def work(tx: Connection) -> tuple[ops.Link, ops.Details, tuple[str, str]]:
        link, details = ops.get_details(tx, context.account, id)
        country, language = visitor["country"].upper(), visitor["language"]
        result = context.services.dry_run(
            tx, context.account, id, country=country, os=os, device=device, language=language
        )
        return link, details, result

    link, details, (reason, url) = context.read(work)
    return context.render(
        "links/dry_run.html",
        link=link,
        reason=reason,
        url=url,
        form=Form(visitor),
        countries=localized_names.country_options(),
        languages=[*localized_names.language_options(), *_regional_languages(details)],
    )


def _regional_languages(link: ops.Details) -> list[tuple[str, str]]:
    """Return the languages of the link's rules that have a script or region."""
    tags = dict.fromkeys(rule.get("language", "") for rule in link.languagetarget)
    parts = [(tag, tag.partition("-")) for tag in tags]
    return [(tag, f"{localized_names.language_name(code)} ({rest})") for tag, (code, _, rest) in parts if rest]


def _add(context: PageContext, form: Form, tx: Connection, account: int, **fields: Any) -> ops.Address | ops.Link:
    """Create a link, and return its address. Return the existing link instead if the form asks for it."""
    apply_utm(tx, account, form, fields)
    if existing := find_existing(tx, account, form, fields):
        return existing
    _add_typed_channels(tx, account, form, fields)
    _set_typed_campaign(tx, account, form, fields)
    return ops.add(tx, account, settings=context.settings, **fields)


def _add_typed_channels(tx: Connection, account: int, form: Form, fields: dict[str, Any]) -> None:
    """Add the channels that were typed to those of `fields`, or else to the selected ones."""
    if "newchannel" not in form.errors and (typed := ensure_channels(tx, account, form.text("newchannel"))):
        selected = fields.get("channel")
        selected_ids = map(int, filter(str.isdecimal, map(str, form["channel"]))) if selected is None else selected
        fields["channel"] = list(dict.fromkeys([*selected_ids, *typed]))


def _set_typed_campaign(tx: Connection, account: int, form: Form, fields: dict[str, Any]) -> None:
    """Replace the selected campaign by the typed one, which the list of an account with many does not have."""
    if (name := form.text("campaign_name")) and "campaign_name" not in form.errors:
        fields["campaign"] = find_campaign(tx, account, name)


def _update(context: PageContext, id: int, form: Form) -> ops.Address | None:
    """Save the changed fields. Return None if the form is invalid or the link was changed since the form was shown."""

    def work(tx: Connection, fields: dict[str, Any]) -> ops.Address:
        if form.text("unlock"):
            fields["password"] = None
        stored = _values(tx, context, id)
        form.reject_stale(stored)
        _add_typed_channels(tx, context.account, form, fields)
        apply_utm(tx, context.account, form, fields, url=str(stored["url"]))
        _set_typed_campaign(tx, context.account, form, fields)
        return ops.change(tx, context.account, id, settings=context.settings, **fields)

    if form.text("clicklimit"):
        context.require_ingest()  # earlier clicks count against a new limit
    link = context.submit(form, LinkChange, work, SHAPE)
    _assign_errors(context, form)
    return link


def _assign_errors(context: PageContext, form: Form) -> None:
    if form.errors:
        context.read(lambda tx: assign_row_errors(tx, form, settings=context.settings))


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
        "dropquery": "on" if details.dropquery else "",
        "password": "",
        "expiry": "" if details.expiry is None else forms.to_local_input(details.expiry, context.time_zone),
        "clicklimit": "" if details.clicklimit is None else str(details.clicklimit),
        "campaign": "" if link.campaign is None else str(link.campaign),
        "channel": [str(channel) for channel in link.channel],
        "pixels": [str(pixel) for pixel in details.pixels],
    }


def _new_page(context: PageContext, form: Form, *, status: int = 200, existing: ops.Link | None = None) -> Response:
    return context.render(
        "links/new.html",
        status=status,
        existing=existing,
        sample_code=render.qr_data_url(context.settings.base),
        **_form_context(context, form),
    )


def _form_context(context: PageContext, form: Form) -> dict[str, Any]:
    """Return the template context of the form's fields."""
    rules = {name: form[name] for name in targeting.READERS}
    used_utm, utm_templates = context.read(
        lambda tx: (utm.used_values(tx, context.account), utm.templates(tx, context.account))
    )
    return {
        "form": localize_targets(form),
        "choices": _options(context, form),
        "listed_options": LISTED,
        "used_utm": used_utm,
        "utm_templates": utm_templates,
        "utm_values": utm_values_of,
        "targeting": targeting,
        "examples": {
            "country": localized_names.country_name("Germany"),
            "language": localized_names.language_name("de"),
        },
        "countries": localized_names.country_suggestions(),
        "languages": localized_names.language_suggestions(),
        "unknown_conditions": {
            name: targeting.unknown_conditions(name, [row for row in rows if isinstance(row, Mapping)])
            for name, rows in rules.items()
            if not any(error.startswith(f"{name}.") for error in form.errors)
        },
    }


@pages.get("/dashboard/links/{id:int}/qr")
def show_qr_code(context: PageContext, id: int) -> Response:
    link = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    url = context.short_url(link)
    return context.render("links/share.html", link=link, short_url=url, qr_code=render.qr_data_url(url))


def _edit_page(context: PageContext, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Link, bool, dead_links.CheckResult | None]:
        link, details = ops.get_details(tx, context.account, id)
        return link, details.password, dead_links.get_result(tx, context.account, id)

    link, has_password, check = context.read(work)
    fill_utm(form, link.url)
    url = context.short_url(link)
    return context.render(
        "links/edit.html",
        status=status,
        **_form_context(context, form),
        link=link,
        check=check,
        has_password=has_password,
        short_url=url,
        qr_code=render.qr_data_url(url),
    )


def _options(context: PageContext, form: Form) -> Options:
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
    return context.read(lambda tx: load_options(tx, context.account, selected=selected))
