"""The pages of links: the table, quick creation, the editor, statistics."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, get_args

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.aliases.urls import short_url
from waypost.clicks.countries import NAMES
from waypost.dashboard import forms, pictures, statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural
from waypost.links import choices, glance, looks, ops, selection
from waypost.links.api import LinkChange, NewLink
from waypost.links.fields import Status

pages = Pages()
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
    moments=("expiry",),
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
def list_links(desk: Desk) -> Response:
    order: ops.Order = "click" if desk.asked("order") == "click" else "date"
    status = next((one for one in get_args(Status) if one == desk.asked("status")), None)
    dead = desk.asked("status") == "dead"
    only = selection.Only(campaign=desk.number("campaign"), channel=desk.number("channel"), status=status, dead=dead)
    window, q = desk.window(), desk.asked("q")

    def work(tx: Connection) -> tuple[Any, Any, set[int]]:
        kept = {"campaigns": [only.campaign or 0], "channels": [only.channel or 0]}
        chosen = choices.of(tx, desk.account, names=choices.SHELVES, kept=kept)
        found = glance.page(tx, desk.account, window, order=order, q=q, only=only)
        shown = [link.id for link in found.items] if desk.settings.dead_links_days else []
        return found, chosen, looks.among(tx, desk.account, shown)

    page, chosen, broken = desk.read_counts(work)
    told: dict[str, Any] = {
        "broken": broken,
        "q": q,
        "order": order,
        "only": only,
        "filtered": bool(q) or only != selection.ALL,
        "most": glance.MOST,
    }
    return desk.page("links/list.html", page=page, choices=chosen, short=lambda link: _url(link, desk), **told)


@pages.get("/dashboard/links/new")
def blank_link(desk: Desk) -> Response:
    return _new_page(desk, Form({"url": desk.asked("url", most=8192), "campaign": desk.asked("campaign")}))


@pages.post("/dashboard/links/new")
def add_link(desk: Desk) -> Response:
    form = desk.typed(SHAPE)
    link = form.attempt(lambda: _add(desk, form))
    if link is None:
        return _new_page(desk, form, status=400)
    return desk.go(_LIST, said="Your link is ready.", also=_url(link, desk))


@pages.get("/dashboard/links/{id:int}")
def edit_link(desk: Desk, id: int) -> Response:
    now = desk.read(lambda tx: _values(tx, desk, id))
    return _edit_page(desk, id, Form(now))


@pages.post("/dashboard/links/{id:int}")
def save_link(desk: Desk, id: int) -> Response:
    form = desk.typed(SHAPE, now=desk.read(lambda tx: _values(tx, desk, id)))
    link = form.attempt(lambda: _change(desk, id, form))
    if link is None:
        return _edit_page(desk, id, form, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved.", also=_url(link, desk))


@pages.get("/dashboard/links/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    link = desk.read(lambda tx: ops.own(tx, desk.account, id))
    return desk.page("links/delete.html", links=[link], short=lambda one: _url(one, desk))


@pages.post("/dashboard/links/delete")
def delete_links(desk: Desk) -> Response:
    count = desk.remove_ticked(ops.remove)
    return desk.go(_LIST, said=plural(count, "The link is deleted.", "%(count)s links are deleted."))


@pages.post("/dashboard/links/bulk")
def change_many(desk: Desk) -> Response:
    """What was chosen for the ticked rows: a status, a campaign, a channel, or deletion, which is asked about first."""
    ids, (action, _, target) = desk.picked(), desk.typed().text("action").partition("-")
    if not ids:
        return desk.go(_LIST, said="Tick the links that you mean first.", tone="bad")
    if action == "delete":
        found = desk.read(lambda tx: [ops.own(tx, desk.account, link) for link in ids])
        return desk.page("links/delete.html", links=found, short=lambda one: _url(one, desk))

    def work(tx: Connection) -> None:
        for link in ids:
            fields: dict[str, Any] = {"status": target}
            if action == "campaign":
                fields = {"campaign": int(target or 0) or None}
            elif action == "channel":
                fields = {"channel": [*ops.own(tx, desk.account, link).channel, int(target)]}
            body = LinkChange.model_validate(fields)
            ops.change(tx, desk.account, link, settings=desk.settings, **body.sent())

    if action not in ("status", "campaign", "channel") or not (action == "status" or target.isdecimal()):
        return desk.go(_LIST, said="Choose what to do with them first.", tone="bad")
    desk.write(work)
    return desk.go(_LIST, said=plural(len(ids), "The link is changed.", "%(count)s links are changed."))


@pages.get("/dashboard/links/{id:int}/stats")
def link_statistics(desk: Desk, id: int) -> Response:
    link = desk.read(lambda tx: ops.own(tx, desk.account, id))
    title = link.title or short_url(desk.settings.base, link.host, link.scheme, link.alias).partition("://")[2]
    return statistics.page(desk, "link", id, title=title, back=f"{_LIST}/{id}", short=_url(link, desk))


@pages.get("/dashboard/links/{id:int}/trial")
def try_link(desk: Desk, id: int) -> Response:
    """What a visitor would get who is only described. Nothing is counted."""
    chosen = {name: desk.asked(name) for name in ("country", "device", "language")}
    os, device = _DEVICES.get(chosen["device"], ("", ""))

    def work(tx: Connection) -> tuple[ops.Link, tuple[str, str]]:
        link = ops.own(tx, desk.account, id)
        told = {"country": chosen["country"].upper(), "language": chosen["language"].casefold()[:2]}
        return link, desk.kit.trial(tx, desk.account, id, os=os, device=device, **told)

    link, (why, url) = desk.read(work)
    return desk.page("links/trial.html", link=link, why=why, url=url, form=Form(chosen), **_TRIAL)


def _add(desk: Desk, form: Form) -> ops.Link:
    fields = form.read(NewLink, desk.zone, SHAPE).sent()
    return desk.write(lambda tx: ops.add(tx, desk.account, settings=desk.settings, **fields))


def _change(desk: Desk, id: int, form: Form) -> ops.Link:
    """Set what differs from what there is, unless somebody else changed it meanwhile."""
    body = form.read(LinkChange, desk.zone, SHAPE)
    fields = body.sent()
    if form.text("unlock"):
        fields["password"] = None
    if body.clicklimit is not None:
        desk.count_clicks()  # what was clicked before a limit counts against it

    return desk.save(
        form,
        lambda tx: _values(tx, desk, id),
        lambda tx: ops.change(tx, desk.account, id, settings=desk.settings, **fields),
    )


def _values(tx: Connection, desk: Desk, id: int) -> Mapping[str, Value]:
    """What the editor shows of a link."""
    link, details = ops.own(tx, desk.account, id), ops.details(tx, id)
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
        "domain": link.host or desk.settings.own_host,
        "password": "",
        "expiry": "" if details.expiry is None else forms.local(details.expiry, desk.zone),
        "clicklimit": "" if details.clicklimit is None else str(details.clicklimit),
        "campaign": "" if link.campaign is None else str(link.campaign),
        "channel": [str(channel) for channel in link.channel],
        "pixels": [str(pixel) for pixel in details.pixels],
    }


def _new_page(desk: Desk, form: Form, *, status: int = 200) -> Response:
    return desk.page(
        "links/new.html", status=status, form=form, choices=_choices(desk, form), own=desk.settings.own_host
    )


def _edit_page(desk: Desk, id: int, form: Form, *, status: int = 200) -> Response:
    def work(tx: Connection) -> tuple[ops.Link, bool, looks.Seen | None]:
        return ops.own(tx, desk.account, id), ops.details(tx, id).password, looks.of(tx, desk.account, id)

    link, locked, seen = desk.read(work)
    told: dict[str, Any] = {
        "link": link,
        "seen": seen,
        "locked": locked,
        "short": _url(link, desk),
        "own": desk.settings.own_host,
    }
    told["picture"] = pictures.code(_url(link, desk))
    return desk.page("links/edit.html", status=status, form=form, choices=_choices(desk, form), **told)


def _choices(desk: Desk, form: Form) -> choices.Choices:
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
    return desk.read(lambda tx: choices.of(tx, desk.account, kept=kept))


def _url(link: ops.Link, desk: Desk) -> str:
    return short_url(desk.settings.base, link.host, link.scheme, link.alias)
