# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: campaigns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.campaigns import Assignment, CampaignChange, NewCampaign
from waypost_client.models.campaigns import Campaign, CampaignDone, CampaignReport, CampaignSettings
from waypost_client.models.shared import MessageResponse
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class AsyncCampaignsOperations(AsyncRequests):
    """Operations of the API: campaigns."""

    async def list_campaigns(self, *, limit: int | None = None, page: int | None = None) -> Page[Campaign]:
        """List campaigns, newest first."""
        return await self._page(
            Campaign, ("campaigns",), part="data", collection="campaigns", query={"limit": limit, "page": page}
        )

    def campaigns(self, *, page_size: int = PAGE_SIZE) -> AsyncIterator[Campaign]:
        """Iterate over the items of all pages of `list_campaigns`."""
        return self._pages(lambda page: self.list_campaigns(limit=page_size, page=page))

    async def read_campaign(self, id: int) -> CampaignSettings:
        """Read a campaign with the settings of its rotator."""
        return await self._fetch(CampaignSettings, "GET", ("campaign", id), part="details")

    async def read_campaign_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> CampaignReport:
        """Read the visits of a campaign's rotator and list page over time, by dimension and by link."""
        return await self._fetch(
            CampaignReport,
            "GET",
            ("campaign", id, "stats"),
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    async def create_campaign(self, **fields: Unpack[NewCampaign]) -> CampaignDone:
        """Create a campaign."""
        return await self._fetch(
            CampaignDone,
            "POST",
            ("campaign", "add"),
            body={**check_fields("create_campaign", fields, NewCampaign.__annotations__)},
        )

    async def assign_link(self, campaignid: int, linkid: int, **fields: Unpack[Assignment]) -> MessageResponse:
        """Move a link into a campaign, and set its weight and its quota of clicks for the rotator.

        A link is in one campaign at most.
        """
        return await self._fetch(
            MessageResponse,
            "POST",
            ("campaign", campaignid, "assign", linkid),
            body={**check_fields("assign_link", fields, Assignment.__annotations__)},
        )

    async def update_campaign(self, id: int, *, name: str, **fields: Unpack[CampaignChange]) -> CampaignDone:
        """Update a campaign.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return await self._fetch(
            CampaignDone,
            "PUT",
            ("campaign", id, "update"),
            body={"name": name, **check_fields("update_campaign", fields, CampaignChange.__annotations__)},
        )

    async def delete_campaign(self, id: int) -> MessageResponse:
        """Delete a campaign.

        Its links are kept.
        """
        return await self._fetch(MessageResponse, "DELETE", ("campaign", id, "delete"))
