# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: bio pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.bio_pages import BioChange, NewBio
from waypost_client.models.bio_pages import Bio, BioAnswer, BioDone
from waypost_client.models.shared import MessageResponse, Report
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class BioPagesOperations(Requests):
    """Operations of the API: bio pages."""

    def list_bio_pages(self, *, limit: int | None = None, page: int | None = None) -> Page[Bio]:
        """List bio pages, newest first."""
        return self._page(Bio, ("bios",), part="data", collection="bios", query={"limit": limit, "page": page})

    def bio_pages(self, *, page_size: int = PAGE_SIZE) -> Iterator[Bio]:
        """Iterate over the items of all pages of `list_bio_pages`."""
        return self._pages(lambda page: self.list_bio_pages(limit=page_size, page=page))

    def read_bio_page(self, id: int) -> BioAnswer:
        """Read a bio page with its blocks and statistics."""
        return self._fetch(BioAnswer, "GET", ("bio", id))

    def read_bio_page_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the visits of a bio page over time and by dimension."""
        return self._fetch(
            Report,
            "GET",
            ("bio", id, "stats"),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    def create_bio_page(self, *, name: str, **fields: Unpack[NewBio]) -> BioDone:
        """Create a bio page."""
        return self._fetch(
            BioDone,
            "POST",
            ("bio", "add"),
            body={"name": name, **check_fields("create_bio_page", fields, NewBio.__annotations__)},
        )

    def update_bio_page(self, id: int, **fields: Unpack[BioChange]) -> MessageResponse:
        """Update a bio page.

        Fields that are not sent keep their values; `null` sets the default. `blocks` replaces all blocks;
        those with the
        same destination or title keep their clicks.
        """
        return self._fetch(
            MessageResponse,
            "PUT",
            ("bio", id, "update"),
            body={**check_fields("update_bio_page", fields, BioChange.__annotations__)},
        )

    def delete_bio_page(self, id: int) -> MessageResponse:
        """Delete a bio page.

        Its alias stays reserved for your account.
        """
        return self._fetch(MessageResponse, "DELETE", ("bio", id, "delete"))
