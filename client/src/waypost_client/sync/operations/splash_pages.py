# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: splash pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from waypost_client.calls import check_fields
from waypost_client.fields.splash_pages import NewSplash, SplashChange
from waypost_client.models.shared import CreatedResponse, MessageResponse
from waypost_client.models.splash_pages import Splash, SplashItem
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class SplashPagesOperations(Requests):
    """Operations of the API: splash pages."""

    def list_splash_pages(self, *, limit: int | None = None, page: int | None = None) -> Page[SplashItem]:
        """List splash pages, newest first."""
        return self._page(
            SplashItem, ("splash",), part="data", collection="splash", query={"limit": limit, "page": page}
        )

    def splash_pages(self, *, page_size: int = PAGE_SIZE) -> Iterator[SplashItem]:
        """Iterate over the items of all pages of `list_splash_pages`."""
        return self._pages(lambda page: self.list_splash_pages(limit=page_size, page=page))

    def read_splash_page(self, id: int) -> Splash:
        """Read a splash page."""
        return self._fetch(Splash, "GET", ("splash", id), part="details")

    def create_splash_page(self, *, name: str, **fields: Unpack[NewSplash]) -> CreatedResponse:
        """Create a splash page.

        Links with its id in `type` show it before their destination.
        """
        return self._fetch(
            CreatedResponse,
            "POST",
            ("splash", "add"),
            body={"name": name, **check_fields("create_splash_page", fields, NewSplash.__annotations__)},
        )

    def update_splash_page(self, id: int, **fields: Unpack[SplashChange]) -> MessageResponse:
        """Update a splash page.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return self._fetch(
            MessageResponse,
            "PUT",
            ("splash", id, "update"),
            body={**check_fields("update_splash_page", fields, SplashChange.__annotations__)},
        )

    def delete_splash_page(self, id: int) -> MessageResponse:
        """Delete a splash page.

        Its links become direct.
        """
        return self._fetch(MessageResponse, "DELETE", ("splash", id, "delete"))
