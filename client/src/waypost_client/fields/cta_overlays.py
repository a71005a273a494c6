# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: cta overlays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    pass


class NewOverlay(TypedDict, total=False):
    """A new overlay."""

    message: str | None
    """Text of the overlay."""
    label: str | None
    """Text of the button with `link`."""
    link: str | None
    """URL that the button opens."""
    position: (
        Literal["top-left", "top-center", "top-right", "bottom-left", "bottom-center", "bottom-right", "center"] | None
    )
    """Place on the screen."""
    color: str | None
    """Color of the text, `#RRGGBB`."""
    background: str | None
    """Color of the background, `#RRGGBB`."""
    delay: int | None
    """Seconds until the overlay appears."""
    button: str | None
    """`contact` and `newsletter`: text of the form's button."""
    thanks: str | None
    """`contact` and `newsletter`: text after a submission."""
    options: Sequence[str] | None
    """`poll`: the 2 to 10 options; required."""
    code: str | None
    """`coupon`: the code to copy; required."""
    image: str | None
    """`image`: URL of the picture; required."""
    webhook: str | None
    """URL that receives each submission once, as JSON."""


class OverlayChange(TypedDict, total=False):
    """The fields of an overlay. Absent ones keep their values."""

    message: str | None
    """Text of the overlay."""
    label: str | None
    """Text of the button with `link`."""
    link: str | None
    """URL that the button opens."""
    position: (
        Literal["top-left", "top-center", "top-right", "bottom-left", "bottom-center", "bottom-right", "center"] | None
    )
    """Place on the screen."""
    color: str | None
    """Color of the text, `#RRGGBB`."""
    background: str | None
    """Color of the background, `#RRGGBB`."""
    delay: int | None
    """Seconds until the overlay appears."""
    button: str | None
    """`contact` and `newsletter`: text of the form's button."""
    thanks: str | None
    """`contact` and `newsletter`: text after a submission."""
    options: Sequence[str] | None
    """`poll`: the 2 to 10 options; required."""
    code: str | None
    """`coupon`: the code to copy; required."""
    image: str | None
    """`image`: URL of the picture; required."""
    webhook: str | None
    """URL that receives each submission once, as JSON."""
    name: str
    """Name for yourself."""
    type: Literal["message", "contact", "poll", "newsletter", "coupon", "image"]
    """Kind of the overlay; it decides which other fields are used."""
