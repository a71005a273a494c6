# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: qr codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from waypost_client.models.shared import StatisticsBlock
from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Code(Record):
    """A QR code in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    link: str = ""
    """URL of the image."""
    scans: int = 0
    """Scans, if the code is tracked."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class CodeDetails(Record):
    """A QR code with all its fields."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    link: str = ""
    """URL of the image."""
    scans: int = 0
    """Scans, if the code is tracked."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""
    alias: str = ""
    """The part of the short URL after the host."""
    shorturl: str = ""
    """URL that the image of a tracked code contains."""
    type: str = ""
    """Kind of the content."""
    data: str | Mapping[str, Any] = ""
    """The content: a string, or an object with the parts of its type, such as `phone` and `message`."""
    dynamic: bool = False
    """True if the image contains a short URL: scans are counted, and the content can change. By default the type
    decides.
    """
    foreground: str = ""
    """Color of the modules, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    background: str = ""
    """Color of the background, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    gradient: Mapping[str, Any] | None = None
    """Gradient from the foreground to a second color; null without one."""
    modules: str = ""
    """Shape of the modules."""
    eyes: str = ""
    """Shape of the three corners."""
    level: str = ""
    """Error correction; `auto`: what the logo needs."""
    margin: int = 0
    """Width of the margin, in modules."""
    caption: str = ""
    """Text below the code, in a frame; empty for neither."""
    logo: bool = False
    """True if the code has a logo."""
    version: int = 0
    """Counts changes; an image with `?v=` can be cached for ever."""


@dataclass(frozen=True, kw_only=True)
class CodeDone(Record):
    """The response to a create request."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    link: str = ""
    """URL of the image."""


@dataclass(frozen=True, kw_only=True)
class Preview(Record):
    """A QR code that was drawn."""

    image: str = ""
    """The image as a `data:` URL."""
    content: str = ""
    """The text in the image."""
    level: str = ""
    """Level of error correction that was used."""
    modules: int = 0
    """Modules along each side, without the margin."""


@dataclass(frozen=True, kw_only=True)
class Failure(Record):
    """The body of every failure."""

    message: str = ""
    """One sentence that a person can act on."""
    code: str = ""
    """Stable name of the problem, for programs."""
    field: str | None = None
    """Name of the input at fault."""


@dataclass(frozen=True, kw_only=True)
class CodeAnswer(Record):
    """A QR code with the statistics of its scans."""

    details: CodeDetails = field(default_factory=CodeDetails)
    """The QR code."""
    data: StatisticsBlock = field(default_factory=StatisticsBlock)
    """The statistics of its scans."""


@dataclass(frozen=True, kw_only=True)
class CodesDone(Record):
    """The response to several new QR codes."""

    message: str = ""
    """Result in one sentence."""
    results: tuple[CodeDone | Failure, ...] = ()
    """The response of `POST /qr/add` for each code, in order."""
