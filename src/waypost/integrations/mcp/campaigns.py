"""Tools for campaigns. Links enter a campaign by change_link and change_links."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from waypost.api.types import ItemId, Name
from waypost.db.crud import Page
from waypost.integrations.mcp.tool import PageArguments, PageResult, Result, Tool, ToolContext, paging
from waypost.items.campaigns import api, ops
from waypost.items.campaigns.api import CampaignChange, CampaignOut, CampaignSettings, NewCampaign

_ID = Field(description="Id of the campaign, as list_items returns it.")


class ReadCampaign(PageArguments):
    """Arguments of read_campaign. The page is that of the links."""

    id: Annotated[ItemId, _ID]


class CampaignLink(BaseModel):
    """A link in a campaign."""

    id: int = Field(description="Id of the link.")
    short_url: str = Field(description="Short URL of the link.")
    title: str = Field(description="Title of the link.")
    clicks: int = Field(description="All clicks of the link.")
    weight: int = Field(description="Share of the visits of the rotator, relative to other links, with `weighted`.")
    quota: int | None = Field(description="Clicks after which the rotator skips the link; null for no limit.")


class CampaignContent(PageResult):
    """A campaign and a page of its links."""

    campaign: CampaignSettings = Field(description="The campaign.")
    links: list[CampaignLink] = Field(description="The links of this page, oldest first.")


class CreateCampaign(NewCampaign):
    """Arguments of create_campaign."""

    model_config = ConfigDict(extra="forbid")


class ChangeCampaign(CampaignChange):
    """Arguments of change_campaign."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[ItemId, _ID]
    name: Annotated[Name, Field(description="Name, unique among your campaigns.")] = ""

    def sent(self) -> dict[str, Any]:
        """Return the fields of the campaign that were sent."""
        return {name: value for name, value in super().sent().items() if name != "id"}


class CampaignState(Result):
    """A campaign."""

    campaign: CampaignOut = Field(description="The campaign.")


def read_campaign(context: ToolContext, arguments: ReadCampaign) -> CampaignContent:
    """Read a campaign with the settings of its rotator and a page of its links."""
    settings = api.read_campaign(context, arguments.id).details

    def work(tx: Connection) -> Page[ops.CampaignLink]:
        ops.get_owned(tx, context.account, arguments.id)
        return ops.page_of_links(tx, context.account, arguments.id, arguments.window)

    page = context.read(work)
    return CampaignContent(**paging(page), campaign=settings, links=[_link(link, context) for link in page.items])


def create_campaign(context: ToolContext, arguments: CreateCampaign) -> CampaignState:
    """Create a campaign. With a `slug`, it gets a rotator: a URL that sends each visitor to one of its links."""
    done = context.run(api.create_campaign(context, arguments))
    return CampaignState(campaign=CampaignOut(**dict(done)))


def change_campaign(context: ToolContext, arguments: ChangeCampaign) -> CampaignState:
    """Change a campaign. Arguments that are not sent keep their values; null sets the default."""
    done = context.run(api.update_campaign(context, arguments.id, arguments))
    return CampaignState(campaign=CampaignOut(**dict(done)))


def _link(link: ops.CampaignLink, context: ToolContext) -> CampaignLink:
    return CampaignLink(
        id=link.id,
        short_url=context.short_url(link),
        title=link.title,
        clicks=link.clicks,
        weight=link.weight,
        quota=link.quota,
    )


TOOLS = (
    Tool("Read a campaign", "read", read_campaign),
    Tool("Create a campaign", "create", create_campaign),
    Tool("Change a campaign", "change", change_campaign),
)
