"""`/campaigns` and `/campaign/…` (API document, section Campaigns; decisions 24 to 29)."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from waypost.api import lists
from waypost.api.answers import Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came, Door
from waypost.api.fields import Line, Name, PathId
from waypost.campaigns import ops

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


class CampaignDetails(Success):
    details: CampaignOut


class NewCampaign(Body):
    name: Name | None = None
    slug: Line | None = None
    public: bool | None = None


class CampaignChange(Body):
    name: Name
    slug: Line | None = None
    public: bool | None = None


@router.get("/campaigns", response_model=lists.envelope("campaigns", CampaignOut))
def list_campaigns(door: Came, asked: lists.Asked) -> Any:
    page, shown = door.read_counts(
        lambda tx: (ops.page(tx, door.account, asked), _shower(door, ops.username(tx, door.account)))
    )
    return lists.answer("campaigns", page, shown)


@router.get("/campaign/{id}")
def read_campaign(door: Came, id: PathId) -> CampaignDetails:
    campaign, username = door.read_counts(lambda tx: (ops.own(tx, door.account, id), ops.username(tx, door.account)))
    return CampaignDetails(details=_shower(door, username)(campaign))


@router.post("/campaign/add", status_code=201)
def add_campaign(door: Came, body: NewCampaign) -> CampaignDone:
    return _done(
        door, *door.write(lambda tx: (ops.add(tx, door.account, **body.sent()), ops.username(tx, door.account)))
    )


@router.post("/campaign/{campaignid}/assign/{linkid}")
def assign_link(door: Came, campaignid: PathId, linkid: PathId) -> Done:
    door.write(lambda tx: ops.assign(tx, door.account, campaignid, linkid))
    return Done(message="Link successfully added to the campaign.")


@router.put("/campaign/{id}/update")
def update_campaign(door: Came, id: PathId, body: CampaignChange) -> CampaignDone:
    fields = body.sent()
    return _done(
        door, *door.write(lambda tx: (ops.change(tx, door.account, id, **fields), ops.username(tx, door.account)))
    )


@router.delete("/campaign/{id}/delete")
def delete_campaign(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Campaign has been deleted successfully.")


def _done(door: Door, campaign: ops.Campaign, username: str) -> CampaignDone:
    return CampaignDone(**_shower(door, username)(campaign).model_dump())


def _shower(door: Door, username: str) -> Callable[[ops.Campaign], CampaignOut]:
    base = door.settings.base

    def shown(campaign: ops.Campaign) -> CampaignOut:
        return CampaignOut(
            id=campaign.id,
            name=campaign.name,
            domain=campaign.name,
            campaign=campaign.name,
            public=campaign.public,
            rotator=f"{base}/r/{campaign.slug}" if campaign.slug else False,
            list=f"{base}/u/{username}/{campaign.slug or 'list'}-{campaign.id}",
            views=campaign.views,
        )

    return shown
