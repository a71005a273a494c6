# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: bio pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from waypost_client.models.shared import StatisticsBlock
from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Bio(Record):
    """A bio page in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name for yourself."""
    alias: str = ""
    """The part of the short URL after the host."""
    shorturl: str = ""
    """Short URL."""
    title: str = ""
    """Heading of the page; the name by default."""
    description: str = ""
    """Text below the heading."""
    theme: str = ""
    """default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor unless it ends
    with -light or -dark. Any other value means default.
    """
    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueclicks: int = 0
    """Distinct visitors, counted per day."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Design(Record):
    """Own colors and background; parts are empty as in a request."""

    background: str = ""
    """Color of the background."""
    gradient: str = ""
    """Color of the background at the bottom."""
    picture: str = ""
    """URL of the picture behind the color."""
    text: str = ""
    """Color of text on the background."""
    button: str = ""
    """Color of buttons and cards."""
    buttontext: str = ""
    """Color of text on them."""


@dataclass(frozen=True, kw_only=True)
class BlockClicks(Record):
    """The clicks of a block. Its short URL is `shorturl`/`id`."""

    id: int = 0
    """Id of the block."""
    type: str = ""
    """Kind of the block."""
    title: str = ""
    """Title of the block."""
    url: str = ""
    """Destination of the block; empty for a contact card."""
    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueClicks: int = 0
    """Distinct visitors, counted per day."""


@dataclass(frozen=True, kw_only=True)
class BioDone(Record):
    """The response of create."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    shorturl: str = ""
    """Short URL."""


@dataclass(frozen=True, kw_only=True)
class BioDetails(Record):
    """A bio page with its blocks as they were sent."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name for yourself."""
    alias: str = ""
    """The part of the short URL after the host."""
    shorturl: str = ""
    """Short URL."""
    title: str = ""
    """Heading of the page; the name by default."""
    description: str = ""
    """Text below the heading."""
    theme: str = ""
    """default, ocean, forest, sunset, paper or mono. Follows the system setting of the visitor unless it ends
    with -light or -dark. Any other value means default.
    """
    clicks: int = 0
    """Visits by people, without bots and link previews."""
    uniqueclicks: int = 0
    """Distinct visitors, counted per day."""
    date: str = ""
    """Time of creation, in UTC."""
    avatar: str = ""
    """URL of the picture above the heading; empty for none."""
    design: Design | None = None
    """Own colors and background; null for those of the theme."""
    blocks: tuple[Mapping[str, Any], ...] = ()
    """Blocks of the page, from top to bottom: link, heading, text, image, social, embed, form or vcard."""
    sensitive: bool = False
    """True to warn visitors before they see the page."""


@dataclass(frozen=True, kw_only=True)
class BioAnswer(Record):
    """A bio page with its statistics."""

    details: BioDetails = field(default_factory=BioDetails)
    """The page."""
    data: StatisticsBlock = field(default_factory=StatisticsBlock)
    """Its statistics."""
    blocks: tuple[BlockClicks, ...] = ()
    """Clicks of the clickable blocks, in the order of the page."""
