"""The API of campaigns: `/campaigns` and `/campaign/…` (decisions 24 to 29)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.date_range import RequestedSpan
from waypost.api.request_body import Body
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import Line, Name, PathId, Positive
from waypost.campaigns import ops
from waypost.campaigns.ops import Rotation
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Report
from waypost.urls.short_urls import list_url, rotator_url

router = APIRouter(tags=["Campaigns"])


class CampaignOut(BaseModel):
    """A campaign. `name`, `domain` and `campaign` all contain its name (decision 24)."""

    id: int
    name: str
    domain: str
    campaign: str
    public: bool
    rotator: str | bool
    list: str
    views: int


class CampaignDone(CampaignOut, Success):
    """The response of create and update."""


class CampaignSettings(CampaignOut):
    """A campaign with its rotator settings: `winner` is a number of clicks, `winnerlink` the winning link, if any."""

    rotation: Rotation
    sticky: bool
    winner: int | None
    winnerlink: int | None


class CampaignDetails(Success):
    details: CampaignSettings


class CampaignLinkOut(BaseModel):
    """A link in a campaign: `clicks` from the rotator in the span, `given` counted against its quota."""

    id: int
    shorturl: str
    title: str
    clicks: int
    weight: int
    quota: int | None
    given: int


class CampaignReport(Success):
    """The visits of rotator and list page in a span, in total and by link."""

    data: Report
    links: Sequence[CampaignLinkOut]


_Weight = Annotated[int, Field(ge=0, le=1000)]


class _CampaignFields(Body):
    slug: Line | None = None
    public: bool | None = None
    rotation: Rotation | None = None
    sticky: bool | None = None
    winner: Positive | None = None


class NewCampaign(_CampaignFields):
    name: Name | None = None


class CampaignChange(_CampaignFields):
    name: Name


class Assignment(Body):
    """The rotator settings of a link. The body is optional."""

    weight: _Weight | None = None
    quota: Positive | None = None


_NO_CHANGE = Assignment()


@router.get("/campaigns", response_model=pagination.list_model("campaigns", CampaignOut))
def list_campaigns(context: Context, page_request: pagination.RequestedPage) -> Any:
    page, username = context.read_after_ingest(
        lambda tx: (ops.page(tx, context.account, page_request), ops.get_username(tx, context.account))
    )
    return pagination.list_response("campaigns", page, lambda item: CampaignOut(**_fields(context, item, username)))


@router.get("/campaign/{id}")
def read_campaign(context: Context, id: PathId) -> CampaignDetails:
    def work(tx: Connection) -> tuple[ops.Campaign, str, int | None]:
        campaign = ops.get_owned(tx, context.account, id)
        return campaign, ops.get_username(tx, context.account), ops.get_winner(tx, id)

    campaign, username, winner_link = context.read_after_ingest(work)
    fields = _fields(context, campaign, username)
    return CampaignDetails(details=CampaignSettings(**fields, winnerlink=winner_link))


@router.get("/campaign/{id}/stats")
def campaign_statistics(context: Context, id: PathId, span: RequestedSpan) -> CampaignReport:
    """Return the visits of a campaign's rotator and list page over time, by dimension and by link."""

    def work(tx: Connection) -> tuple[Report, list[ops.CampaignLink]]:
        ops.get_owned(tx, context.account, id)
        return reports.report(tx, "campaign", id, span), ops.links_by_clicks(tx, context.account, id, span)

    report, links = context.read_after_ingest(work)
    return CampaignReport(data=report, links=[_link_out(context, link) for link in links])


@router.post("/campaign/add", status_code=201)
def add_campaign(context: Context, body: NewCampaign) -> CampaignDone:
    fields = body.sent()
    return _done(context, lambda tx: ops.add(tx, context.account, **fields))


@router.post("/campaign/{campaignid}/assign/{linkid}")
def assign_link(context: Context, campaignid: PathId, linkid: PathId, body: Assignment = _NO_CHANGE) -> MessageResponse:
    """Move a link into a campaign, and set its weight and its quota of clicks for the rotator."""
    fields = body.sent()
    return context.change(
        lambda tx: ops.assign(tx, context.account, campaignid, linkid, **fields),
        lambda _: MessageResponse(message="Link successfully added to the campaign."),
    )


@router.put("/campaign/{id}/update")
def update_campaign(context: Context, id: PathId, body: CampaignChange) -> CampaignDone:
    fields = body.sent()
    return _done(context, lambda tx: ops.change(tx, context.account, id, **fields))


@router.delete("/campaign/{id}/delete")
def delete_campaign(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Campaign has been deleted successfully."),
    )


def _done(context: RequestContext, work: Callable[[Connection], ops.Campaign]) -> CampaignDone:
    """Run `work` in a transaction and describe the campaign that it returns."""
    return context.change(
        lambda tx: (work(tx), ops.get_username(tx, context.account)),
        lambda done: CampaignDone(**_fields(context, *done)),
    )


def _link_out(context: RequestContext, link: ops.CampaignLink) -> CampaignLinkOut:
    return CampaignLinkOut(**vars(link), shorturl=context.short_url(link))


def _fields(context: RequestContext, campaign: ops.Campaign, username: str) -> dict[str, Any]:
    base = context.settings.base
    return {
        **vars(campaign),
        "domain": campaign.name,
        "campaign": campaign.name,
        "rotator": rotator_url(base, campaign.slug) or False,
        "list": list_url(base, username, campaign.slug, campaign.id),
    }
