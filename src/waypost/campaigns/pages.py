"""The pages of campaigns: the table, the editor with its rotator and its links, statistics by target."""

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.aliases.urls import list_url, short_url
from waypost.api.bodies import Body
from waypost.api.fields import ItemId
from waypost.campaigns import ops
from waypost.campaigns.api import Assignment, CampaignChange, NewCampaign
from waypost.dashboard import statistics
from waypost.dashboard.desk import Desk
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.pages import Pages
from waypost.dashboard.words import plural
from waypost.rows import Page

pages = Pages()
_SHAPE = Shape(flags=("public", "sticky"))
_PLACES = Shape(rows={"place": ("id", "weight", "quota")})
_LIST = "/dashboard/campaigns"
_ADD = "/dashboard/campaigns/{}/add"
_A_PAGE, _FOUND = 200, 25


class _Place(Assignment):
    """A row of the table of links."""

    id: ItemId

    @field_validator("weight", "quota", mode="before")
    @classmethod
    def _blank(cls, value: Any) -> Any:
        return value or None


class _Places(Body):
    place: tuple[_Place, ...] = ()


@pages.get("/dashboard/campaigns")
def list_campaigns(desk: Desk) -> Response:
    def work(tx: Connection) -> tuple[Page[ops.Campaign], Mapping[int, int], str]:
        page = ops.page(tx, desk.account, desk.window())
        return page, ops.sizes(tx, [one.id for one in page.items]), ops.username(tx, desk.account)

    page, sizes, username = desk.read_counts(work)
    told: dict[str, Any] = {"sizes": sizes, "addresses": lambda one: _addresses(desk, one, username)}
    return desk.page("campaigns/list.html", page=page, **told)


@pages.get("/dashboard/campaigns/new")
def blank_campaign(desk: Desk) -> Response:
    return desk.page("campaigns/new.html", form=Form({"rotation": "random"}), base=desk.settings.base)


@pages.post("/dashboard/campaigns/new")
def add_campaign(desk: Desk) -> Response:
    form = desk.typed(_SHAPE)

    def add() -> ops.Campaign:
        fields = form.read(NewCampaign, desk.zone, _SHAPE).sent()
        return desk.write(lambda tx: ops.add(tx, desk.account, **fields))

    campaign = form.attempt(add)
    if campaign is None:
        return desk.page("campaigns/new.html", status=400, form=form, base=desk.settings.base)
    return desk.go(_ADD.format(campaign.id), said="Your campaign is ready. Choose its links.")


@pages.get("/dashboard/campaigns/{id:int}")
def edit_campaign(desk: Desk, id: int) -> Response:
    return _editor(desk, id)


@pages.post("/dashboard/campaigns/{id:int}")
def save_campaign(desk: Desk, id: int) -> Response:
    now = _values(desk.read(lambda tx: ops.own(tx, desk.account, id)))
    # The name is always sent on: the API wants it in every change.
    form = desk.typed(_SHAPE, now={field: value for field, value in now.items() if field != "name"})

    def change() -> None:
        fields = form.read(CampaignChange, desk.zone, _SHAPE).sent()
        desk.save(
            form,
            lambda tx: _values(ops.own(tx, desk.account, id)),
            lambda tx: ops.change(tx, desk.account, id, **fields),
        )

    form.attempt(change)
    if form.faults:
        return _editor(desk, id, form=form, status=400)
    return desk.go(f"{_LIST}/{id}", said="Saved.")


@pages.post("/dashboard/campaigns/{id:int}/links")
def save_places(desk: Desk, id: int) -> Response:
    """Weights and quotas of the links on one page of them."""
    form = desk.typed(_PLACES)

    def work(tx: Connection) -> None:
        ops.own(tx, desk.account, id)
        before = ops.members(tx, id, desk.window(_A_PAGE))
        form.refuse_stale(_rows(before))
        there = {place.id: place for place in before.items}
        for row in form.read(_Places, desk.zone, _PLACES).place:
            place = there.get(row.id)
            wanted = {"weight": 1 if row.weight is None else row.weight, "quota": row.quota}
            changed = {name: value for name, value in wanted.items() if place and getattr(place, name) != value}
            if changed:
                ops.assign(tx, desk.account, id, row.id, **changed)

    if form.attempt(lambda: desk.write(work) or True) is None:
        return _editor(desk, id, places=form, status=400)
    return desk.go(f"{_LIST}/{id}#links", said="Saved.")


@pages.get("/dashboard/campaigns/{id:int}/add")
def choose_links(desk: Desk, id: int) -> Response:
    q = desk.asked("q")

    def work(tx: Connection) -> tuple[ops.Campaign, list[ops.Candidate]]:
        return ops.own(tx, desk.account, id), ops.candidates(tx, desk.account, id, _FOUND, q=q)

    campaign, found = desk.read(work)
    told: dict[str, Any] = {"q": q, "most": _FOUND, "own": desk.settings.own_host}
    return desk.page("campaigns/add.html", campaign=campaign, found=found, **told)


@pages.post("/dashboard/campaigns/{id:int}/add")
def assign_links(desk: Desk, id: int) -> Response:
    links = desk.picked()
    if not links:
        return desk.go(_ADD.format(id), said="Tick the links that you mean first.", tone="bad")

    def work(tx: Connection) -> None:
        for link in links:
            ops.assign(tx, desk.account, id, link)

    desk.write(work)
    return desk.go(f"{_LIST}/{id}", said=plural(len(links), "The link is in.", "%(count)s links are in."))


@pages.post("/dashboard/campaigns/{id:int}/remove")
def unassign_links(desk: Desk, id: int) -> Response:
    links = desk.picked()
    if not links:
        return desk.go(f"{_LIST}/{id}", said="Tick the links that you mean first.", tone="bad")
    count = desk.write(lambda tx: ops.unassign(tx, desk.account, id, links))
    return desk.go(f"{_LIST}/{id}", said=plural(count, "The link is taken out.", "%(count)s links are taken out."))


@pages.get("/dashboard/campaigns/{id:int}/stats")
def campaign_statistics(desk: Desk, id: int) -> Response:
    span = statistics.asked_span(desk)
    desk.count_clicks()

    def work(tx: Connection) -> tuple[ops.Campaign, list[ops.Place], int | None]:
        return ops.own(tx, desk.account, id), ops.places(tx, desk.account, id, span), ops.winner(tx, id)

    campaign, places, won = desk.read(work)
    places.sort(key=lambda place: -place.clicks)
    told: dict[str, Any] = {"targets": places, "won": won, "address": lambda place: _short(desk, place)}
    if campaign.slug:
        told["short"] = f"{desk.settings.base}/r/{campaign.slug}"
    told |= {"template": "campaigns/stats.html", "apart": "sources", "campaign": campaign}
    return statistics.page(desk, "campaign", id, title=campaign.name, back=f"{_LIST}/{id}", **told)


@pages.get("/dashboard/campaigns/{id:int}/delete")
def ask_to_delete(desk: Desk, id: int) -> Response:
    campaign, sizes = desk.read(lambda tx: (ops.own(tx, desk.account, id), ops.sizes(tx, [id])))
    return desk.page("campaigns/delete.html", campaign=campaign, size=sizes.get(id, 0))


@pages.post("/dashboard/campaigns/{id:int}/delete")
def delete_campaign(desk: Desk, id: int) -> Response:
    desk.write(lambda tx: ops.remove(tx, desk.account, id))
    return desk.go(_LIST, said="The campaign is deleted. Its links go on.")


def _editor(
    desk: Desk, id: int, *, form: Form | None = None, places: Form | None = None, status: int = 200
) -> Response:
    def work(tx: Connection) -> tuple[ops.Campaign, Page[ops.Place], int | None, str]:
        campaign = ops.own(tx, desk.account, id)
        members = ops.members(tx, id, desk.window(_A_PAGE))
        return campaign, members, ops.winner(tx, id), ops.username(tx, desk.account)

    campaign, page, won, username = desk.read_counts(work)
    told: dict[str, Any] = {"page": page, "won": won, "base": desk.settings.base}
    told |= {"addresses": _addresses(desk, campaign, username), "short": lambda place: _short(desk, place)}
    told |= {"form": form or Form(_values(campaign)), "weights": places or Form(_rows(page))}
    typed = places["place"] if places else ()
    told["typed"] = {row["id"]: row for row in typed if isinstance(row, dict)}
    return desk.page("campaigns/edit.html", status=status, campaign=campaign, **told)


def _values(campaign: ops.Campaign) -> Mapping[str, Value]:
    """What the editor shows of a campaign."""
    told = {name: "on" if getattr(campaign, name) else "" for name in ("public", "sticky")}
    number = "" if campaign.winner is None else str(campaign.winner)
    return {**told, "name": campaign.name, "slug": campaign.slug or "", "rotation": campaign.rotation, "winner": number}


def _rows(page: Page[ops.Place]) -> Mapping[str, Value]:
    """What the table of links shows of them."""
    rows = [{"id": str(one.id), "weight": str(one.weight), "quota": str(one.quota or "")} for one in page.items]
    return {"place": rows}


def _addresses(desk: Desk, campaign: ops.Campaign, username: str) -> Mapping[str, str]:
    base = desk.settings.base
    rotator = f"{base}/r/{campaign.slug}" if campaign.slug else ""
    return {"rotator": rotator, "list": list_url(base, username, campaign.slug, campaign.id)}


def _short(desk: Desk, place: ops.Place) -> str:
    return short_url(desk.settings.base, place.host, place.scheme, place.alias)
