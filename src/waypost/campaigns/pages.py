"""The pages of campaigns: the table, the editor with its rotator and its links, statistics by target."""

from collections.abc import Mapping
from typing import Any

from pydantic import field_validator
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import ItemId
from waypost.campaigns import ops
from waypost.campaigns.api import Assignment, CampaignChange, NewCampaign
from waypost.dashboard import statistics
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.urls.short_urls import list_url, short_url

pages = Router()
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
def list_campaigns(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Page[ops.Campaign], Mapping[int, int], str]:
        page = ops.page(tx, context.account, context.page_request())
        return page, ops.link_counts(tx, [one.id for one in page.items]), ops.get_username(tx, context.account)

    page, sizes, username = context.read_after_ingest(work)
    told: dict[str, Any] = {"sizes": sizes, "addresses": lambda one: _addresses(context, one, username)}
    return context.render("campaigns/list.html", page=page, **told)


@pages.get("/dashboard/campaigns/new")
def blank_campaign(context: PageContext) -> Response:
    return context.render("campaigns/new.html", form=Form({"rotation": "random"}), base=context.settings.base)


@pages.post("/dashboard/campaigns/new")
def add_campaign(context: PageContext) -> Response:
    form = context.form(_SHAPE)

    def add() -> ops.Campaign:
        fields = form.read(NewCampaign, context.time_zone, _SHAPE).sent()
        return context.write(lambda tx: ops.add(tx, context.account, **fields))

    campaign = form.attempt(add)
    if campaign is None:
        return context.render("campaigns/new.html", status=400, form=form, base=context.settings.base)
    return context.redirect(_ADD.format(campaign.id), message="Your campaign is ready. Choose its links.")


@pages.get("/dashboard/campaigns/{id:int}")
def edit_campaign(context: PageContext, id: int) -> Response:
    return _editor(context, id)


@pages.post("/dashboard/campaigns/{id:int}")
def save_campaign(context: PageContext, id: int) -> Response:
    now = _values(context.read(lambda tx: ops.get_owned(tx, context.account, id)))
    # The name is always sent on: the API wants it in every change.
    form = context.form(_SHAPE, current={field: value for field, value in now.items() if field != "name"})

    def change() -> None:
        fields = form.read(CampaignChange, context.time_zone, _SHAPE).sent()
        context.save(
            form,
            lambda tx: _values(ops.get_owned(tx, context.account, id)),
            lambda tx: ops.change(tx, context.account, id, **fields),
        )

    form.attempt(change)
    if form.errors:
        return _editor(context, id, form=form, status=400)
    return context.redirect(f"{_LIST}/{id}", message="Saved.")


@pages.post("/dashboard/campaigns/{id:int}/links")
def save_places(context: PageContext, id: int) -> Response:
    """Weights and quotas of the links on one page of them."""
    form = context.form(_PLACES)

    def work(tx: Connection) -> None:
        ops.get_owned(tx, context.account, id)
        before = ops.page_of_links(tx, id, context.page_request(_A_PAGE))
        form.reject_stale(_rows(before))
        there = {place.id: place for place in before.items}
        for row in form.read(_Places, context.time_zone, _PLACES).place:
            place = there.get(row.id)
            wanted = {"weight": 1 if row.weight is None else row.weight, "quota": row.quota}
            changed = {name: value for name, value in wanted.items() if place and getattr(place, name) != value}
            if changed:
                ops.assign(tx, context.account, id, row.id, **changed)

    if form.attempt(lambda: context.write(work) or True) is None:
        return _editor(context, id, places=form, status=400)
    return context.redirect(f"{_LIST}/{id}#links", message="Saved.")


@pages.get("/dashboard/campaigns/{id:int}/add")
def choose_links(context: PageContext, id: int) -> Response:
    q = context.query("q")

    def work(tx: Connection) -> tuple[ops.Campaign, list[ops.Candidate]]:
        return ops.get_owned(tx, context.account, id), ops.candidates(tx, context.account, id, _FOUND, q=q)

    campaign, found = context.read(work)
    told: dict[str, Any] = {"q": q, "most": _FOUND, "own": context.settings.own_host}
    return context.render("campaigns/add.html", campaign=campaign, found=found, **told)


@pages.post("/dashboard/campaigns/{id:int}/add")
def assign_links(context: PageContext, id: int) -> Response:
    links = context.selected_ids()
    if not links:
        return context.redirect(_ADD.format(id), message="Tick the links that you mean first.", tone="bad")

    def work(tx: Connection) -> None:
        for link in links:
            ops.assign(tx, context.account, id, link)

    context.write(work)
    return context.redirect(f"{_LIST}/{id}", message=ngettext("The link is in.", "%(count)s links are in.", len(links)))


@pages.post("/dashboard/campaigns/{id:int}/remove")
def unassign_links(context: PageContext, id: int) -> Response:
    links = context.selected_ids()
    if not links:
        return context.redirect(f"{_LIST}/{id}", message="Tick the links that you mean first.", tone="bad")
    count = context.write(lambda tx: ops.unassign(tx, context.account, id, links))
    return context.redirect(
        f"{_LIST}/{id}", message=ngettext("The link is taken out.", "%(count)s links are taken out.", count)
    )


@pages.get("/dashboard/campaigns/{id:int}/stats")
def campaign_statistics(context: PageContext, id: int) -> Response:
    span = statistics.asked_span(context)
    context.wait_for_ingest()

    def work(tx: Connection) -> tuple[ops.Campaign, list[ops.CampaignLink], int | None]:
        return ops.get_owned(tx, context.account, id), ops.links_by_clicks(tx, context.account, id, span), ops.get_winner(tx, id)

    campaign, places, won = context.read(work)
    places.sort(key=lambda place: -place.clicks)
    told: dict[str, Any] = {"targets": places, "won": won, "address": lambda place: _short(context, place)}
    if campaign.slug:
        told["short"] = f"{context.settings.base}/r/{campaign.slug}"
    told |= {"template": "campaigns/stats.html", "apart": "sources", "campaign": campaign}
    return statistics.page(context, "campaign", id, title=campaign.name, back=f"{_LIST}/{id}", **told)


@pages.get("/dashboard/campaigns/{id:int}/delete")
def ask_to_delete(context: PageContext, id: int) -> Response:
    campaign, sizes = context.read(lambda tx: (ops.get_owned(tx, context.account, id), ops.link_counts(tx, [id])))
    return context.render("campaigns/delete.html", campaign=campaign, size=sizes.get(id, 0))


@pages.post("/dashboard/campaigns/{id:int}/delete")
def delete_campaign(context: PageContext, id: int) -> Response:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return context.redirect(_LIST, message="The campaign is deleted. Its links go on.")


def _editor(
    context: PageContext, id: int, *, form: Form | None = None, places: Form | None = None, status: int = 200
) -> Response:
    def work(tx: Connection) -> tuple[ops.Campaign, Page[ops.CampaignLink], int | None, str]:
        campaign = ops.get_owned(tx, context.account, id)
        members = ops.page_of_links(tx, id, context.page_request(_A_PAGE))
        return campaign, members, ops.get_winner(tx, id), ops.get_username(tx, context.account)

    campaign, page, won, username = context.read_after_ingest(work)
    told: dict[str, Any] = {"page": page, "won": won, "base": context.settings.base}
    told |= {"addresses": _addresses(context, campaign, username), "short": lambda place: _short(context, place)}
    told |= {"form": form or Form(_values(campaign)), "weights": places or Form(_rows(page))}
    typed = places["place"] if places else ()
    told["typed"] = {row["id"]: row for row in typed if isinstance(row, dict)}
    return context.render("campaigns/edit.html", status=status, campaign=campaign, **told)


def _values(campaign: ops.Campaign) -> Mapping[str, Value]:
    """What the editor shows of a campaign."""
    told = {name: "on" if getattr(campaign, name) else "" for name in ("public", "sticky")}
    number = "" if campaign.winner is None else str(campaign.winner)
    return {**told, "name": campaign.name, "slug": campaign.slug or "", "rotation": campaign.rotation, "winner": number}


def _rows(page: Page[ops.CampaignLink]) -> Mapping[str, Value]:
    """What the table of links shows of them."""
    rows = [{"id": str(one.id), "weight": str(one.weight), "quota": str(one.quota or "")} for one in page.items]
    return {"place": rows}


def _addresses(context: PageContext, campaign: ops.Campaign, username: str) -> Mapping[str, str]:
    base = context.settings.base
    rotator = f"{base}/r/{campaign.slug}" if campaign.slug else ""
    return {"rotator": rotator, "list": list_url(base, username, campaign.slug, campaign.id)}


def _short(context: PageContext, place: ops.CampaignLink) -> str:
    return short_url(context.settings.base, place.host, place.scheme, place.alias)
