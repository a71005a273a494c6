"""The API of campaigns: `/campaigns` and `/campaign/…` (decisions 24 to 29)."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Change, Context, RequestContext
from waypost.api.request_body import Body, Partial
from waypost.api.responses import MessageResponse, Success
from waypost.api.types import Id, Line, Name, PathId, Positive, RequestedSpan, ShortUrl
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Report
from waypost.items.campaigns import ops
from waypost.items.campaigns.ops import Rotation
from waypost.urls.short_urls import list_url, rotator_url

router = APIRouter(tags=["Campaigns"])
_NAME = Field(description="Name, unique among your campaigns.", examples=["Boots"])
_NAME_AGAIN = Field(description="The name again, for clients that read it here.", examples=["Boots"])
_PUBLIC = Field(description="True if visitors can open the list page.", examples=[True])
_INDEXABLE = Field(
    description="True if search engines may index the list page, which must be public for that.", examples=[False]
)
_ROTATION = Field(description="How the rotator selects a link.", examples=["random"])
_STICKY = Field(description="True if a visitor gets the same link each time.", examples=[False])
_WINNER = Field(
    description="Clicks after which the most clicked link gets all further visits; null for never.", examples=[1000]
)
_WEIGHT = Field(description="Share of the visits, relative to other links, with `weighted`.", examples=[3])
_QUOTA = Field(description="Clicks after which the rotator skips the link; null for no limit.", examples=[500])


class CampaignOut(BaseModel):
    """A campaign."""

    id: Id
    name: str = _NAME
    domain: str = _NAME_AGAIN
    campaign: str = _NAME_AGAIN
    public: bool = _PUBLIC
    rotator: str | bool = Field(
        description="URL of the rotator; false without a slug.", examples=["https://go.example.com/r/boots"]
    )
    list: str = Field(description="URL of the list page.", examples=["https://go.example.com/u/ana/boots-1"])
    views: int = Field(description="Visits of the rotator and the list page.", examples=[128])


class CampaignDone(CampaignOut, Success):
    """The response of create and update."""


class CampaignSettings(CampaignOut):
    """A campaign with the settings of its rotator and of its list page."""

    indexable: bool = _INDEXABLE
    rotation: Rotation = _ROTATION
    sticky: bool = _STICKY
    winner: int | None = _WINNER
    winnerlink: int | None = Field(description="Id of the link that has won; null before that.", examples=[None])


class CampaignDetails(Success):
    """One campaign."""

    details: CampaignSettings = Field(description="The campaign.")


class CampaignLinkOut(BaseModel):
    """A link in a campaign."""

    id: Id
    shorturl: ShortUrl
    title: str = Field(description="Title of the link.", examples=["Spring sale"])
    clicks: int = Field(description="Clicks that the rotator sent to the link in the span.", examples=[64])
    weight: int = _WEIGHT
    quota: int | None = _QUOTA
    given: int = Field(description="Clicks that are counted against the quota.", examples=[64])


class CampaignReport(Success):
    """The visits of rotator and list page in a span, in total and by link."""

    data: Report = Field(description="The visits of the rotator and the list page.")
    links: Sequence[CampaignLinkOut] = Field(description="The links, most clicked first; at most 1000.")


_Weight = Annotated[int, Field(ge=0, le=1000)]


class _CampaignFields(Body):
    slug: Line | None = Field(
        None, description="Last part of the rotator's URL; null for no rotator.", examples=["boots"]
    )
    public: Annotated[bool | None, _PUBLIC] = None
    indexable: Annotated[bool | None, _INDEXABLE] = None
    rotation: Annotated[Rotation | None, _ROTATION] = None
    sticky: Annotated[bool | None, _STICKY] = None
    winner: Annotated[Positive | None, _WINNER] = None


class NewCampaign(_CampaignFields):
    """A new campaign."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Boots", "slug": "boots", "public": True}]})

    name: Annotated[Name | None, _NAME] = None


class CampaignChange(_CampaignFields):
    """The fields of a campaign. Absent ones keep their values; the name is required."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Winter boots", "rotation": "weighted"}]})

    name: Annotated[Name, _NAME]


class Assignment(Body):
    """The rotator settings of a link. The body is optional."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"weight": 3, "quota": 500}]})

    weight: Annotated[_Weight | None, _WEIGHT] = None
    quota: Annotated[Positive | None, _QUOTA] = None


_NO_CHANGE = Assignment()


@router.get("/campaigns", response_model=pagination.list_model("campaigns", CampaignOut))
def list_campaigns(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List campaigns, newest first."""
    page, username = context.read_after_ingest(
        lambda tx: (ops.page(tx, context.account, page_request), ops.get_username(tx, context.account))
    )
    return pagination.list_response("campaigns", page, lambda item: CampaignOut(**_fields(context, item, username)))


@router.get("/campaign/{id}")
def read_campaign(context: Context, id: PathId) -> CampaignDetails:
    """Read a campaign with the settings of its rotator."""

    def work(tx: Connection) -> tuple[ops.Campaign, str, int | None]:
        campaign = ops.get_owned(tx, context.account, id)
        return campaign, ops.get_username(tx, context.account), ops.get_winner(tx, context.account, id)

    campaign, username, winner_link = context.read_after_ingest(work)
    fields = _fields(context, campaign, username)
    return CampaignDetails(details=CampaignSettings(**fields, winnerlink=winner_link))


@router.get("/campaign/{id}/stats")
def read_campaign_statistics(context: Context, id: PathId, span: RequestedSpan) -> CampaignReport:
    """Read the visits of a campaign's rotator and list page over time, by dimension and by link."""

    def work(tx: Connection) -> tuple[Report, list[ops.CampaignLink]]:
        ops.get_owned(tx, context.account, id)
        return reports.report(tx, context.account, "campaign", id, span), ops.links_by_clicks(
            tx, context.account, id, span
        )

    report, links = context.read_after_ingest(work)
    return CampaignReport(data=report, links=[_link_out(context, link) for link in links])


@router.post("/campaign/add", status_code=201)
def create_campaign(context: Context, body: NewCampaign) -> Change[CampaignDone]:
    """Create a campaign."""
    fields = body.sent()
    return _done(context, lambda tx: ops.add(tx, context.account, **fields))


@router.post("/campaign/{campaignid}/assign/{linkid}")
def assign_link(
    context: Context,
    campaignid: Annotated[PathId, Path(description="Id of the campaign.")],
    linkid: Annotated[PathId, Path(description="Id of the link.")],
    body: Assignment = _NO_CHANGE,
) -> Change[MessageResponse]:
    """Move a link into a campaign, and set its weight and its quota of clicks for the rotator.

    A link is in one campaign at most.
    """
    fields = body.sent()
    return Change(
        lambda tx: ops.assign(tx, context.account, campaignid, linkid, **fields),
        lambda _: MessageResponse(message="Link successfully added to the campaign."),
    )


@router.put("/campaign/{id}/update")
def update_campaign(context: Context, id: PathId, body: Partial[CampaignChange]) -> Change[CampaignDone]:
    """Update a campaign.

    Fields that are not sent keep their values; `null` sets the default.
    """
    fields = body.sent()
    return _done(context, lambda tx: ops.change(tx, context.account, id, **fields))


@router.delete("/campaign/{id}/delete")
def delete_campaign(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a campaign. Its links are kept."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Campaign has been deleted successfully."),
    )


def _done(context: RequestContext, work: Callable[[Connection], ops.Campaign]) -> Change[CampaignDone]:
    """Run `work` in a transaction and describe the campaign that it returns."""
    return Change(
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
