# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: qr codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Required


class Gradient(TypedDict, total=False):
    """A gradient from the foreground to this color."""

    color: Required[str]
    """Second color, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    type: Literal["linear", "radial"]
    """Form of the gradient."""
    angle: int
    """Degrees clockwise from rightwards, if linear."""


class NewCodes(TypedDict, total=False):
    """Several new QR codes."""


class NewCode(TypedDict, total=False):
    """A new QR code."""

    name: str | None
    """Name for yourself."""
    dynamic: bool | None
    """True if the image contains a short URL: scans are counted, and the content can change. By default the type
    decides.
    """
    foreground: str | None
    """Color of the modules, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    background: str | None
    """Color of the background, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    gradient: Gradient | None
    """Gradient from the foreground to a second color; null without one."""
    modules: Literal["square", "rounded", "dots", "bars"] | None
    """Shape of the modules."""
    eyes: Literal["square", "rounded", "dot", "circle"] | None
    """Shape of the three corners."""
    level: Literal["auto", "L", "M", "Q", "H"] | None
    """Error correction; `auto`: what the logo needs."""
    margin: int | None
    """Width of the margin, in modules."""
    caption: str | None
    """Text below the code, in a frame; empty for neither."""
    logo: str | None
    """A PNG or JPEG: its URL, a data: URL, or the short URL or alias of a file of yours."""
    custom: str | None
    """Alias instead of a random one, unique on its host."""


class PreviewCode(TypedDict, total=False):
    """A QR code that is drawn, but not saved."""

    name: str | None
    """Name for yourself."""
    dynamic: bool | None
    """True if the image contains a short URL: scans are counted, and the content can change. By default the type
    decides.
    """
    foreground: str | None
    """Color of the modules, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    background: str | None
    """Color of the background, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    gradient: Gradient | None
    """Gradient from the foreground to a second color; null without one."""
    modules: Literal["square", "rounded", "dots", "bars"] | None
    """Shape of the modules."""
    eyes: Literal["square", "rounded", "dot", "circle"] | None
    """Shape of the three corners."""
    level: Literal["auto", "L", "M", "Q", "H"] | None
    """Error correction; `auto`: what the logo needs."""
    margin: int | None
    """Width of the margin, in modules."""
    caption: str | None
    """Text below the code, in a frame; empty for neither."""
    logo: str | None
    """A PNG or JPEG: its URL, a data: URL, or the short URL or alias of a file of yours."""
    custom: str | None
    """Alias instead of a random one, unique on its host."""
    format: Literal["png", "svg", "pdf"]
    """Format of the images."""
    size: int
    """Width and height of PNG images, in pixels."""


class CodeChange(TypedDict, total=False):
    """The fields of a QR code. Absent ones keep their values; the content is required."""

    type: Literal["text", "vcard", "link", "email", "phone", "sms", "wifi", "event", "geo", "whatsapp", "app", "crypto"]
    """Kind of the content."""
    name: str | None
    """Name for yourself."""
    dynamic: bool | None
    """True if the image contains a short URL: scans are counted, and the content can change. By default the type
    decides.
    """
    foreground: str | None
    """Color of the modules, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    background: str | None
    """Color of the background, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`."""
    gradient: Gradient | None
    """Gradient from the foreground to a second color; null without one."""
    modules: Literal["square", "rounded", "dots", "bars"] | None
    """Shape of the modules."""
    eyes: Literal["square", "rounded", "dot", "circle"] | None
    """Shape of the three corners."""
    level: Literal["auto", "L", "M", "Q", "H"] | None
    """Error correction; `auto`: what the logo needs."""
    margin: int | None
    """Width of the margin, in modules."""
    caption: str | None
    """Text below the code, in a frame; empty for neither."""
    logo: str | None
    """A PNG or JPEG: its URL, a data: URL, or the short URL or alias of a file of yours."""
