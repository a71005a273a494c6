# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: cta overlays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.cta_overlays import NewOverlay, OverlayChange
from waypost_client.models.cta_overlays import Overlay, OverlayItem, Submission
from waypost_client.models.shared import CreatedResponse, MessageResponse
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.local_files import Progress, Target
    from waypost_client.records import Downloaded, Page


class AsyncCtaOverlaysOperations(AsyncRequests):
    """Operations of the API: cta overlays."""

    async def list_overlays(self, *, limit: int | None = None, page: int | None = None) -> Page[OverlayItem]:
        """List overlays, newest first."""
        return await self._page(
            OverlayItem, ("overlay",), part="data", collection="cta", query={"limit": limit, "page": page}
        )

    def overlays(self, *, page_size: int = PAGE_SIZE) -> AsyncIterator[OverlayItem]:
        """Iterate over the items of all pages of `list_overlays`."""
        return self._pages(lambda page: self.list_overlays(limit=page_size, page=page))

    async def read_overlay(self, id: int) -> Overlay:
        """Read an overlay."""
        return await self._fetch(Overlay, "GET", ("overlay", id), part="details")

    async def list_submissions(self, id: int, *, limit: int | None = None, page: int | None = None) -> Page[Submission]:
        """List the form submissions of an overlay, newest first."""
        return await self._page(
            Submission,
            ("overlay", id, "submissions"),
            part="data",
            collection="submissions",
            query={"limit": limit, "page": page},
        )

    def submissions(self, id: int, *, page_size: int = PAGE_SIZE) -> AsyncIterator[Submission]:
        """Iterate over the items of all pages of `list_submissions`."""
        return self._pages(lambda page: self.list_submissions(id, limit=page_size, page=page))

    async def export_submissions(self, id: int, target: Target, *, progress: Progress | None = None) -> Downloaded:
        """Export the form submissions of an overlay as CSV, oldest first."""
        return await self._export(("overlay", id, "submissions", "export"), target, progress=progress)

    async def create_overlay(
        self,
        *,
        name: str,
        type: Literal["message", "contact", "poll", "newsletter", "coupon", "image"],
        **fields: Unpack[NewOverlay],
    ) -> CreatedResponse:
        """Create an overlay.

        Links with `overlay-` and its id in `type` show it over their destination.
        """
        return await self._fetch(
            CreatedResponse,
            "POST",
            ("overlay", "add"),
            body={"name": name, "type": type, **check_fields("create_overlay", fields, NewOverlay.__annotations__)},
        )

    async def update_overlay(self, id: int, **fields: Unpack[OverlayChange]) -> MessageResponse:
        """Update an overlay.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return await self._fetch(
            MessageResponse,
            "PUT",
            ("overlay", id, "update"),
            body={**check_fields("update_overlay", fields, OverlayChange.__annotations__)},
        )

    async def delete_overlay(self, id: int) -> MessageResponse:
        """Delete an overlay with its submissions.

        Its links become direct.
        """
        return await self._fetch(MessageResponse, "DELETE", ("overlay", id, "delete"))
