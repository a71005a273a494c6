# Written by `make docs`. Do not edit: change the code and run it again.
"""Operations: channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from waypost_client.calls import check_fields
from waypost_client.fields.channels import ChannelChange, NewChannel
from waypost_client.models.channels import Channel, ChannelDone, Item
from waypost_client.models.shared import MessageResponse
from waypost_client.pages import PAGE_SIZE
from waypost_client.sync.requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from waypost_client.records import Page


class ChannelsOperations(Requests):
    """Operations of the API: channels."""

    def list_channels(self, *, limit: int | None = None, page: int | None = None) -> Page[Channel]:
        """List channels, newest first."""
        return self._page(
            Channel, ("channels",), part="data", collection="channels", query={"limit": limit, "page": page}
        )

    def channels(self, *, page_size: int = PAGE_SIZE) -> Iterator[Channel]:
        """Iterate over the items of all pages of `list_channels`."""
        return self._pages(lambda page: self.list_channels(limit=page_size, page=page))

    def list_channel_items(self, id: int, *, limit: int | None = None, page: int | None = None) -> Page[Item]:
        """List the items of a channel: links, bio pages and QR codes."""
        return self._page(Item, ("channel", id), part="data", collection="items", query={"limit": limit, "page": page})

    def channel_items(self, id: int, *, page_size: int = PAGE_SIZE) -> Iterator[Item]:
        """Iterate over the items of all pages of `list_channel_items`."""
        return self._pages(lambda page: self.list_channel_items(id, limit=page_size, page=page))

    def create_channel(self, *, name: str, **fields: Unpack[NewChannel]) -> ChannelDone:
        """Create a channel."""
        return self._fetch(
            ChannelDone,
            "POST",
            ("channel", "add"),
            body={"name": name, **check_fields("create_channel", fields, NewChannel.__annotations__)},
        )

    def update_channel(self, id: int, **fields: Unpack[ChannelChange]) -> ChannelDone:
        """Update a channel.

        Fields that are not sent keep their values; `null` sets the default.
        """
        return self._fetch(
            ChannelDone,
            "PUT",
            ("channel", id, "update"),
            body={**check_fields("update_channel", fields, ChannelChange.__annotations__)},
        )

    def delete_channel(self, id: int) -> MessageResponse:
        """Delete a channel.

        Its items are kept.
        """
        return self._fetch(MessageResponse, "DELETE", ("channel", id, "delete"))

    def assign_to_channel(self, channelid: int, type: Literal["links", "bio", "qr"], itemid: int) -> MessageResponse:
        """Add an item to a channel.

        Adding it again changes nothing.
        """
        return self._fetch(MessageResponse, "POST", ("channel", channelid, "assign", type, itemid))
