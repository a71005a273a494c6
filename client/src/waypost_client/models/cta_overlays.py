# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: cta overlays."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class OverlayItem(Record):
    """An overlay in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    type: str = ""
    """Kind of the overlay; it decides which other fields are used."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Overlay(Record):
    """An overlay with all its fields; those that its type does not have are empty."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    type: str = ""
    """Kind of the overlay; it decides which other fields are used."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""
    message: str = ""
    """Text of the overlay."""
    label: str = ""
    """Text of the button with `link`."""
    link: str = ""
    """URL that the button opens."""
    position: str = ""
    """Place on the screen."""
    color: str = ""
    """Color of the text, `#RRGGBB`."""
    background: str = ""
    """Color of the background, `#RRGGBB`."""
    delay: int = 0
    """Seconds until the overlay appears."""
    button: str = ""
    """`contact` and `newsletter`: text of the form's button."""
    thanks: str = ""
    """`contact` and `newsletter`: text after a submission."""
    options: tuple[str, ...] = ()
    """`poll`: the 2 to 10 options; required."""
    code: str = ""
    """`coupon`: the code to copy; required."""
    image: str = ""
    """`image`: URL of the picture; required."""
    webhook: str = ""
    """URL that receives each submission once, as JSON."""


@dataclass(frozen=True, kw_only=True)
class Submission(Record):
    """A form submission; fields that the overlay type does not have are empty."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    link: int | None = None
    """Id of the link that the visitor followed; null if deleted."""
    name: str = ""
    """`contact`: name of the visitor."""
    email: str = ""
    """`contact` and `newsletter`: e-mail address of the visitor."""
    message: str = ""
    """`contact`: the message."""
    choice: str = ""
    """`poll`: the selected option."""
    date: str = ""
    """Time of creation, in UTC."""
