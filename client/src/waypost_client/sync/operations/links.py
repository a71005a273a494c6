# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.links import LinkChange, NewLink
from waypost_client.models.links import Link, LinkAnswer, LinkDone, LinkUpdated
from waypost_client.models.shared import MessageResponse, Report
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class LinksOperations(Requests):
    """Operations of the API: links."""

    def list_links(
        self,
        *,
        order: str | None = None,
        q: str | None = None,
        short: str | None = None,
        limit: int | None = None,
        page: int | None = None,
    ) -> Page[Link]:
        """List links, or find one by its short URL.

        With `short`, one link is returned with its statistics. If there is none, the status is 200 and
        `error` is 1.
        """
        return self._page(
            Link,
            ("urls",),
            part="data",
            collection="urls",
            query={"order": order, "q": q, "short": short, "limit": limit, "page": page},
        )

    def links(
        self, *, order: str | None = None, q: str | None = None, short: str | None = None, page_size: int = PAGE_SIZE
    ) -> Iterator[Link]:
        """Iterate over the items of all pages of `list_links`."""
        return self._pages(lambda page: self.list_links(order=order, q=q, short=short, limit=page_size, page=page))

    def read_link(self, id: int) -> LinkAnswer:
        """Read a link with its statistics."""
        return self._fetch(LinkAnswer, "GET", ("url", id))

    def read_link_statistics(
        self,
        id: int,
        *,
        from_: str | None = None,
        to: str | None = None,
        interval: Literal["hour", "day", "week", "month"] | None = None,
        timezone: str | None = None,
    ) -> Report:
        """Read the visits of a link over time and by dimension."""
        return self._fetch(
            Report,
            "GET",
            ("url", id, "stats"),
            part="data",
            query={"from": from_, "to": to, "interval": interval, "timezone": timezone},
        )

    def create_link(self, *, url: str, **fields: Unpack[NewLink]) -> LinkDone:
        """Create a link."""
        return self._fetch(
            LinkDone,
            "POST",
            ("url", "add"),
            body={"url": url, **check_fields("create_link", fields, NewLink.__annotations__)},
        )

    def update_link(self, id: int, **fields: Unpack[LinkChange]) -> LinkUpdated:
        """Update a link.

        Fields that are not sent keep their values; `null` sets the default. The change is in effect within a
        second.
        """
        return self._fetch(
            LinkUpdated,
            "PUT",
            ("url", id, "update"),
            body={**check_fields("update_link", fields, LinkChange.__annotations__)},
        )

    def delete_link(self, id: int) -> MessageResponse:
        """Delete a link.

        Its alias stays reserved for your account.
        """
        return self._fetch(MessageResponse, "DELETE", ("url", id, "delete"))
