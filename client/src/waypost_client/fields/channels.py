# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewChannel(TypedDict, total=False):
    """A new channel."""

    description: str | None
    """Text for yourself."""
    color: str | None
    """Color of the badge, `#RRGGBB`."""
    starred: bool | None
    """True to highlight the channel."""


class ChannelChange(TypedDict, total=False):
    """The fields of a channel. Absent ones keep their values."""

    name: str
    """Name, unique among your channels."""
    description: str | None
    """Text for yourself."""
    color: str | None
    """Color of the badge, `#RRGGBB`."""
    starred: bool | None
    """True to highlight the channel."""
