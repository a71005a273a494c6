"""Dashboard pages of campaigns: list, and a tab each for the links, the settings and the statistics."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response

from waypost.api.request_body import Body
from waypost.api.types import ItemId, Name
from waypost.dashboard import periods, statistics, trash
from waypost.dashboard.context import PageContext
from waypost.dashboard.forms import Form, Shape, Value
from waypost.dashboard.i18n import ngettext
from waypost.dashboard.routing import Router
from waypost.db.crud import Page
from waypost.items.campaigns import ops
from waypost.items.campaigns import statistics as campaign_statistics
from waypost.items.campaigns.api import Assignment, CampaignChange, NewCampaign
from waypost.items.campaigns.statistics import Totals
from waypost.urls.short_urls import list_url, rotator_url

pages = Router()
_SHAPE = Shape(flags=("public", "indexable", "sticky"))
_ROTATOR_SHAPE = Shape(rows={"place": ("id", "weight", "quota")})
_LIST = "/dashboard/campaigns"
_ADD_LINKS = "/dashboard/campaigns/{}/add"
_MAX_CANDIDATES = 25


class _LinkRow(Assignment):
    """A row of the editor's table of links."""

    id: ItemId


class _NamedCampaign(NewCampaign):
    """A new campaign of the dashboard; the API gives it a name if there is none."""

    name: Annotated[Name, Field(examples=["Spring sale"])]


class _LinkRows(Body):
    place: tuple[_LinkRow, ...] = ()
    rotation: ops.Rotation | None = None


@pages.get("/dashboard/campaigns")
def list_campaigns(context: PageContext) -> Response:
    def work(tx: Connection) -> tuple[Page[ops.Campaign], Mapping[int, Totals], str]:
        page = ops.page(tx, context.account, context.page_request())
        totals = campaign_statistics.totals(tx, context.account, [campaign.id for campaign in page.items])
        return page, totals, ops.get_username(tx, context.account)

    page, totals, username = context.read_after_ingest(work)
    return context.render_list(
        "campaigns/list.html",
        page,
        totals=totals,
        addresses=lambda campaign: _addresses(context, campaign, username),
    )


@pages.get("/dashboard/campaigns/new")
def show_new_form(context: PageContext) -> Response:
    return context.render("campaigns/new.html", form=Form({"rotation": "random"}), base=context.settings.base)


@pages.post("/dashboard/campaigns/new", resumable=True)
def create_campaign(context: PageContext) -> Response:
    form = context.form(_SHAPE)
    campaign = context.create(form, _NamedCampaign, ops.add, _SHAPE)
    if campaign is None:
        return context.render("campaigns/new.html", status=400, form=form, base=context.settings.base)
    return context.redirect(_ADD_LINKS.format(campaign.id), message="Your campaign is ready. Select its links.")


@pages.get("/dashboard/campaigns/{id:int}")
def show_campaign(context: PageContext, id: int) -> Response:
    return _links_page(context, id)


@pages.get("/dashboard/campaigns/{id:int}/settings")
def show_settings(context: PageContext, id: int) -> Response:
    return _settings_page(context, id)


@pages.post("/dashboard/campaigns/{id:int}/settings", resumable=True)
def update_campaign(context: PageContext, id: int) -> Response:
    values = _values(context.read(lambda tx: ops.get_owned(tx, context.account, id)))
    # The name always counts as changed, because the API requires it in every change.
    form = context.form(_SHAPE, current={field: value for field, value in values.items() if field != "name"})

    def stored(tx: Connection) -> Mapping[str, Value]:
        return _values(ops.get_owned(tx, context.account, id))

    if not context.update(form, CampaignChange, ops.change, id, stored, _SHAPE):
        return _settings_page(context, id, form=form, status=400)
    return context.redirect(f"{_LIST}/{id}/settings", message="Saved.")


@pages.post("/dashboard/campaigns/{id:int}/links", resumable=True)
def update_links(context: PageContext, id: int) -> Response:
    """Save the rotation, and the weights and quotas of the links on one page of the table."""
    form = context.form(_ROTATOR_SHAPE)

    def work(tx: Connection, body: _LinkRows) -> None:
        campaign = ops.get_owned(tx, context.account, id)
        page = ops.page_of_links(tx, context.account, id, context.page_request())
        form.reject_stale(_rotator_values(campaign, page))
        if campaign.slug and body.rotation not in (None, campaign.rotation):
            ops.change(tx, context.account, id, rotation=body.rotation)
        links = {link.id: link for link in page.items}
        for row in body.place:
            link = links.get(row.id)
            values = {"weight": 1 if row.weight is None else row.weight, "quota": row.quota}
            changes = {name: value for name, value in values.items() if link and getattr(link, name) != value}
            if changes:
                ops.assign(tx, context.account, id, row.id, **changes)

    context.collect(form, _LinkRows, lambda body: context.write(lambda tx: work(tx, body)), _ROTATOR_SHAPE)
    if form.errors:
        context.read(lambda tx: _assign_to_cells(tx, context, id, form))
        return _links_page(context, id, rotator_form=form, status=400)
    page = context.page_request().page
    return context.redirect(f"{_LIST}/{id}{f'?page={page}' if page > 1 else ''}#links", message="Saved.")


@pages.get("/dashboard/campaigns/{id:int}/add")
def show_candidates(context: PageContext, id: int) -> Response:
    q = context.query("q")

    def work(tx: Connection) -> tuple[ops.Campaign, list[ops.Candidate]]:
        candidates = ops.candidates(tx, context.account, id, _MAX_CANDIDATES, words=context.search_words(tx, q))
        return ops.get_owned(tx, context.account, id), candidates

    campaign, candidates = context.read(work)
    return context.render(
        "campaigns/add.html",
        campaign=campaign,
        candidates=candidates,
        q=q,
        limit=_MAX_CANDIDATES,
        short_url=context.short_url,
    )


@pages.post("/dashboard/campaigns/{id:int}/add")
def add_links(context: PageContext, id: int) -> Response:
    links = context.selected_ids()
    if not links:
        return context.redirect(_ADD_LINKS.format(id), message="Select at least one link.", tone="bad")

    def work(tx: Connection) -> None:
        for link in sorted(links):
            ops.assign(tx, context.account, id, link)

    context.write(work)
    message = ngettext("The link was added.", "%(count)s links were added.", len(links))
    return context.redirect(f"{_LIST}/{id}", message=message)


@pages.post("/dashboard/campaigns/{id:int}/remove")
def remove_links(context: PageContext, id: int) -> Response:
    links = context.selected_ids()
    if not links:
        return context.redirect(f"{_LIST}/{id}", message="Select at least one link.", tone="bad")
    count = context.write(lambda tx: ops.unassign(tx, context.account, id, links))
    message = ngettext("The link was removed.", "%(count)s links were removed.", count)
    return context.redirect(f"{_LIST}/{id}", message=message)


@pages.get("/dashboard/campaigns/{id:int}/stats")
def show_statistics(context: PageContext, id: int) -> Response:
    period = periods.requested(context)
    campaign = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    loaded = statistics.load_requested(context, "campaign", id, period)

    by_link = context.read(lambda tx: campaign_statistics.read(tx, context.account, campaign, loaded, period))
    return statistics.page(
        context,
        "campaign",
        id,
        title=campaign.name,
        back=_LIST,
        back_label="Campaigns",
        template="campaigns/stats.html",
        loaded=loaded,
        campaign=campaign,
        short_url=context.short_url,
        short=rotator_url(context.settings.base, campaign.slug),
        are_items_apart=True,
        **by_link,
    )


@pages.get("/dashboard/campaigns/{id:int}/delete")
def confirm_deletion(context: PageContext, id: int) -> Response:
    account = context.account
    campaign, link_counts = context.read(
        lambda tx: (ops.get_owned(tx, account, id), ops.link_counts(tx, account, [id]))
    )
    return context.render("campaigns/delete.html", campaign=campaign, link_count=link_counts.get(id, 0))


@pages.post("/dashboard/campaigns/{id:int}/delete")
def delete_campaign(context: PageContext, id: int) -> Response:
    message = "The campaign was deleted. Its links were kept."
    return trash.delete(context, "campaign", [id], trash.one_by_one(ops.remove), singular=message)


def _links_page(context: PageContext, id: int, *, rotator_form: Form | None = None, status: int = 200) -> Response:
    period = periods.default(context)

    def work(tx: Connection) -> tuple[ops.Campaign, Page[ops.CampaignLink], int | None, str, Mapping[int, int]]:
        campaign = ops.get_owned(tx, context.account, id)
        page = ops.page_of_links(tx, context.account, id, context.page_request())
        winner, username = ops.get_winner(tx, context.account, id), ops.get_username(tx, context.account)
        return campaign, page, winner, username, campaign_statistics.clicks_by_link(tx, context.account, id, period)

    campaign, page, winner, username, recent = context.read_after_ingest(work)
    submitted_rows = rotator_form["place"] if rotator_form else ()
    return context.render(
        "campaigns/links.html",
        status=status,
        campaign=campaign,
        page=page,
        winner=winner,
        recent=recent,
        addresses=_addresses(context, campaign, username),
        short_url=context.short_url,
        rotator_form=rotator_form or Form(_rotator_values(campaign, page)),
        entered_rows={row["id"]: row for row in submitted_rows if isinstance(row, dict)},
    )


def _settings_page(context: PageContext, id: int, *, form: Form | None = None, status: int = 200) -> Response:
    campaign = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return context.render(
        "campaigns/settings.html",
        status=status,
        campaign=campaign,
        base=context.settings.base,
        form=form or Form(_values(campaign)),
    )


def _values(campaign: ops.Campaign) -> Mapping[str, Value]:
    """Return the values of the editor's fields."""
    return {
        "public": "on" if campaign.public else "",
        "indexable": "on" if campaign.indexable else "",
        "sticky": "on" if campaign.sticky else "",
        "name": campaign.name,
        "slug": campaign.slug or "",
        "rotation": campaign.rotation,
        "winner": "" if campaign.winner is None else str(campaign.winner),
    }


def _rotator_values(campaign: ops.Campaign, page: Page[ops.CampaignLink]) -> Mapping[str, Value]:
    """Return the values of the fields in the table of links."""
    rows = [{"id": str(link.id), "weight": str(link.weight), "quota": str(link.quota or "")} for link in page.items]
    return {"place": rows, "rotation": campaign.rotation}


def _assign_to_cells(tx: Connection, context: PageContext, id: int, form: Form) -> None:
    """Replace the error of the table by one for each cell that has one, such as `place.7.weight` of the link 7.

    The error of the table stays if a fault is in no cell of the page.
    """
    account = context.account
    campaign, page = ops.get_owned(tx, account, id), ops.page_of_links(tx, account, id, context.page_request())
    links, parts = {str(link.id) for link in page.items}, _cells(campaign)
    rows, cells = form["place"], dict[str, str]()
    for (_, *location), text in form.faults.items():
        row = rows[location[0]] if location and isinstance(location[0], int) else ""
        if not isinstance(row, dict) or row["id"] not in links or location[1] not in parts:
            return
        cell = f"place.{row['id']}.{location[1]}"
        cells[cell] = f"{cell} {text}."
    if cells:
        form.errors.pop("place", None)
        form.errors.update(cells)


def _cells(campaign: ops.Campaign) -> tuple[str, ...]:
    """Return the parts of a row that the table shows as inputs."""
    return ("weight", "quota") if campaign.slug else ()


def _addresses(context: PageContext, campaign: ops.Campaign, username: str) -> Mapping[str, str]:
    base, slug = context.settings.base, campaign.slug
    return {"rotator": rotator_url(base, slug), "list": list_url(base, username, slug, campaign.id)}
