# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: pixels."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from waypost_client.aio.requests import AsyncRequests
from waypost_client.calls import check_fields
from waypost_client.fields.pixels import PixelChange
from waypost_client.models.pixels import Pixel
from waypost_client.models.shared import CreatedResponse, MessageResponse
from waypost_client.pages import PAGE_SIZE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class AsyncPixelsOperations(AsyncRequests):
    """Operations of the API: pixels."""

    async def list_pixels(self, *, limit: int | None = None, page: int | None = None) -> Page[Pixel]:
        """List tracking pixels, newest first."""
        return await self._page(
            Pixel, ("pixels",), part="data", collection="pixels", query={"limit": limit, "page": page}
        )

    def pixels(self, *, page_size: int = PAGE_SIZE) -> AsyncIterator[Pixel]:
        """Iterate over the items of all pages of `list_pixels`."""
        return self._pages(lambda page: self.list_pixels(limit=page_size, page=page))

    async def read_pixel(self, id: int) -> Pixel:
        """Read a tracking pixel."""
        return await self._fetch(Pixel, "GET", ("pixel", id), part="details")

    async def create_pixel(self, *, type: str, name: str, tag: str) -> CreatedResponse:
        """Create a tracking pixel.

        It starts before the destination of links that name it in `pixels`.
        """
        return await self._fetch(
            CreatedResponse, "POST", ("pixel", "add"), body={"type": type, "name": name, "tag": tag}
        )

    async def update_pixel(self, id: int, *, tag: str, **fields: Unpack[PixelChange]) -> MessageResponse:
        """Update the name or the tag of a tracking pixel."""
        return await self._fetch(
            MessageResponse,
            "PUT",
            ("pixel", id, "update"),
            body={"tag": tag, **check_fields("update_pixel", fields, PixelChange.__annotations__)},
        )

    async def delete_pixel(self, id: int) -> MessageResponse:
        """Delete a tracking pixel.

        Links no longer start it.
        """
        return await self._fetch(MessageResponse, "DELETE", ("pixel", id, "delete"))
