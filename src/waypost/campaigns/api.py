"""`/campaigns` and `/campaign/…` (API document, section Campaigns; decisions 24 to 29)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.date_range import AskedSpan
from waypost.api.middleware import Context, RequestContext
from waypost.api.request_body import Body, JsonRoute
from waypost.api.responses import Done, Success
from waypost.api.types import Line, Name, PathId, Positive
from waypost.campaigns import ops
from waypost.campaigns.ops import Rotation
from waypost.clicks.stats import queries as stats
from waypost.clicks.stats.queries import Report
from waypost.urls.short_urls import list_url, short_url

router = APIRouter(route_class=JsonRoute, tags=["Campaigns"])


class CampaignOut(BaseModel):
    """A campaign: its name stands in all three of `name`, `domain` and `campaign` (decision 24)."""

    id: int
    name: str
    domain: str
    campaign: str
    public: bool
    rotator: str | bool
    list: str
    views: int


class CampaignDone(CampaignOut, Success):
    """What create and update answer."""


class CampaignWhole(CampaignOut):
    """A campaign with how its rotator goes: `winner` is after how many clicks, `winnerlink` the link that has won."""

    rotation: Rotation
    sticky: bool
    winner: int | None
    winnerlink: int | None


class CampaignDetails(Success):
    details: CampaignWhole


class PlaceOut(BaseModel):
    """A link in a campaign: `clicks` are those that the rotator gave it in the span, `given` those under its quota."""

    id: int
    shorturl: str
    title: str
    clicks: int
    weight: int
    quota: int | None
    given: int


class CampaignReport(Success):
    """The visits of rotator and list page in a span, and where the rotator led."""

    data: Report
    links: Sequence[PlaceOut]


_Weight = Annotated[int, Field(ge=0, le=1000)]


class _Settable(Body):
    slug: Line | None = None
    public: bool | None = None
    rotation: Rotation | None = None
    sticky: bool | None = None
    winner: Positive | None = None


class NewCampaign(_Settable):
    name: Name | None = None


class CampaignChange(_Settable):
    name: Name


class Assignment(Body):
    """How the rotator treats a link; a body is not needed."""

    weight: _Weight | None = None
    quota: Positive | None = None


_AS_IT_IS = Assignment()


@router.get("/campaigns", response_model=pagination.envelope("campaigns", CampaignOut))
def list_campaigns(context: Context, asked: pagination.Asked) -> Any:
    page, shown = context.read_after_ingest(
        lambda tx: (ops.page(tx, context.account, asked), _shower(context, ops.username(tx, context.account)))
    )
    return pagination.answer("campaigns", page, shown)


@router.get("/campaign/{id}")
def read_campaign(context: Context, id: PathId) -> CampaignDetails:
    campaign, username, won = context.read_after_ingest(
        lambda tx: (ops.own(tx, context.account, id), ops.username(tx, context.account), ops.winner(tx, id))
    )
    told: Any = {"rotation": campaign.rotation, "sticky": campaign.sticky, "winner": campaign.winner}
    shown = _shower(context, username)(campaign).model_dump()
    return CampaignDetails(details=CampaignWhole(**shown, **told, winnerlink=won))


@router.get("/campaign/{id}/stats")
def campaign_statistics(context: Context, id: PathId, span: AskedSpan) -> CampaignReport:
    """The visits of a campaign's rotator and list page over time and by every dimension, and by link."""

    def work(tx: Connection) -> tuple[Report, list[ops.Place]]:
        ops.own(tx, context.account, id)
        return stats.report(tx, "campaign", id, span), ops.places(tx, context.account, id, span)

    report, places = context.read_after_ingest(work)
    return CampaignReport(data=report, links=[_place(context, place) for place in places])


@router.post("/campaign/add", status_code=201)
def add_campaign(context: Context, body: NewCampaign) -> CampaignDone:
    return _done(
        context,
        *context.write(lambda tx: (ops.add(tx, context.account, **body.sent()), ops.username(tx, context.account))),
    )


@router.post("/campaign/{campaignid}/assign/{linkid}")
def assign_link(context: Context, campaignid: PathId, linkid: PathId, body: Assignment = _AS_IT_IS) -> Done:
    """Put a link into a campaign; and, for its rotator, set the link's weight and its quota of clicks."""
    fields = body.sent()
    context.write(lambda tx: ops.assign(tx, context.account, campaignid, linkid, **fields))
    return Done(message="Link successfully added to the campaign.")


@router.put("/campaign/{id}/update")
def update_campaign(context: Context, id: PathId, body: CampaignChange) -> CampaignDone:
    fields = body.sent()
    return _done(
        context,
        *context.write(lambda tx: (ops.change(tx, context.account, id, **fields), ops.username(tx, context.account))),
    )


@router.delete("/campaign/{id}/delete")
def delete_campaign(context: Context, id: PathId) -> Done:
    context.write(lambda tx: ops.remove(tx, context.account, id))
    return Done(message="Campaign has been deleted successfully.")


def _done(context: RequestContext, campaign: ops.Campaign, username: str) -> CampaignDone:
    return CampaignDone(**_shower(context, username)(campaign).model_dump())


def _place(context: RequestContext, place: ops.Place) -> PlaceOut:
    url = short_url(context.settings.base, place.host, place.scheme, place.alias)
    told = {name: getattr(place, name) for name in ("id", "title", "clicks", "weight", "quota", "given")}
    return PlaceOut(shorturl=url, **told)


def _shower(context: RequestContext, username: str) -> Callable[[ops.Campaign], CampaignOut]:
    base = context.settings.base

    def shown(campaign: ops.Campaign) -> CampaignOut:
        return CampaignOut(
            id=campaign.id,
            name=campaign.name,
            domain=campaign.name,
            campaign=campaign.name,
            public=campaign.public,
            rotator=f"{base}/r/{campaign.slug}" if campaign.slug else False,
            list=list_url(base, username, campaign.slug, campaign.id),
            views=campaign.views,
        )

    return shown
