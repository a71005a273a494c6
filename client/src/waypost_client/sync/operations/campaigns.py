# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: campaigns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.campaigns import Assignment, CampaignChange, NewCampaign
from waypost_client.models.campaigns import Campaign, CampaignDone, CampaignReport, CampaignSettings
from waypost_client.models.shared import MessageResponse
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class CampaignsOperations(Requests):
    """Operations of the API: campaigns."""

    def list_campaigns(self, *, limit: int | None = None, page: int | None = None) -> Page[Campaign]:
        """List campaigns, newest first."""
        return self._page(
            Campaign, ("campaigns",), part="data", collection="campaigns", query={"limit": limit, "page": page}
        )

    def campaigns(self, *, page_size: int = PAGE_SIZE) -> Iterator[Campaign]:
        """Iterate over the items of all pages of `list_campaigns`."""
        return self._pages(lambda page: self.list_campaigns(limit=page_size, page=page))

    def read_campaign(self, id: int) -> CampaignSettings:
        """Read a campaign with the settings of its rotator."""
        return self._fetch(CampaignSettings, "GET", ("campaign", id), part="details")

    def read_campaign_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> CampaignReport:
        """Read the visits of a campaign's rotator and list page over time, by dimension and by link."""
        return self._fetch(
            CampaignReport,
            "GET",
            ("campaign", id, "stats"),
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    def create_campaign(self, **fields: Unpack[NewCampaign]) -> CampaignDone:
        """Create a campaign."""
        return self._fetch(
            CampaignDone,
            "POST",
            ("campaign", "add"),
            body={**check_fields("create_campaign", fields, NewCampaign.__annotations__)},
        )

    def assign_link(self, campaignid: int, linkid: int, **fields: Unpack[Assignment]) -> MessageResponse:
        """Move a link into a campaign, and set its weight and its quota of clicks for the rotator.

        A link is in one campaign at most.
        """
        return self._fetch(
            MessageResponse,
            "POST",
            ("campaign", campaignid, "assign", linkid),
            body={**check_fields("assign_link", fields, Assignment.__annotations__)},
        )

    def update_campaign(self, id: int, *, name: str, **fields: Unpack[CampaignChange]) -> CampaignDone:
        """Update a campaign.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return self._fetch(
            CampaignDone,
            "PUT",
            ("campaign", id, "update"),
            body={"name": name, **check_fields("update_campaign", fields, CampaignChange.__annotations__)},
        )

    def delete_campaign(self, id: int) -> MessageResponse:
        """Delete a campaign.

        Its links are kept.
        """
        return self._fetch(MessageResponse, "DELETE", ("campaign", id, "delete"))
