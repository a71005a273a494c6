# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: channels."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Channel(Record):
    """A channel."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your channels."""
    description: str = ""
    """Text for yourself."""
    color: str = ""
    """Color of the badge, `#RRGGBB`."""
    starred: bool = False
    """True to highlight the channel."""


@dataclass(frozen=True, kw_only=True)
class Item(Record):
    """An item of a channel."""

    type: str = ""
    """Kind of the item."""
    id: int = 0
    """Id of the item in paths and in other requests."""
    title: str = ""
    """Title or name of the item, or its short URL."""
    preview: str = ""
    """URL of its QR code."""
    link: str = ""
    """Short URL."""
    date: str = ""
    """Day on which the item was assigned, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ChannelDone(Record):
    """The response to create and update: a message and the channel."""

    message: str = ""
    """Result in one sentence."""
    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name, unique among your channels."""
    description: str = ""
    """Text for yourself."""
    color: str = ""
    """Color of the badge, `#RRGGBB`."""
    starred: bool = False
    """True to highlight the channel."""
