# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: share links."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.share_links import NewShare, ShareChange
from waypost_client.models.share_links import Share, ShareDone
from waypost_client.models.shared import MessageResponse
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class AsyncShareLinksOperations(AsyncRequests):
    """Operations of the API: share links."""

    async def list_shares(
        self,
        *,
        type: Literal["link", "qr", "bio", "campaign"] | None = None,
        itemid: int | None = None,
        limit: int | None = None,
        page: int | None = None,
    ) -> Page[Share]:
        """List the share links of statistics, newest first."""
        return await self._page(
            Share,
            ("shares",),
            part="data",
            collection="shares",
            query={"type": type, "itemid": itemid, "limit": limit, "page": page},
        )

    def shares(
        self,
        *,
        type: Literal["link", "qr", "bio", "campaign"] | None = None,
        itemid: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> AsyncIterator[Share]:
        """Iterate over the items of all pages of `list_shares`."""
        return self._pages(lambda page: self.list_shares(type=type, itemid=itemid, limit=page_size, page=page))

    async def read_share(self, id: int) -> Share:
        """Read a share link."""
        return await self._fetch(Share, "GET", ("share", id), part="details")

    async def create_share(
        self, *, type: Literal["link", "qr", "bio", "campaign"], itemid: int, **fields: Unpack[NewShare]
    ) -> ShareDone:
        """Share the statistics of a link, QR code, bio page or campaign.

        The page needs no account. It shows the statistics of this item only.
        """
        return await self._fetch(
            ShareDone,
            "POST",
            ("share", "add"),
            body={"type": type, "itemid": itemid, **check_fields("create_share", fields, NewShare.__annotations__)},
        )

    async def update_share(self, id: int, **fields: Unpack[ShareChange]) -> ShareDone:
        """Update a share link.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return await self._fetch(
            ShareDone,
            "PUT",
            ("share", id, "update"),
            body={**check_fields("update_share", fields, ShareChange.__annotations__)},
        )

    async def delete_share(self, id: int) -> MessageResponse:
        """Revoke a share link: its page is gone at once."""
        return await self._fetch(MessageResponse, "DELETE", ("share", id, "delete"))
