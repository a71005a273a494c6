# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: splash pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewSplash(TypedDict, total=False):
    """A new splash page."""

    title: str | None
    """Heading of the page."""
    message: str | None
    """Text of the page, with line breaks."""
    counter: int | None
    """Seconds until visitors are redirected."""
    skip: int | None
    """Seconds until the button to skip appears."""
    link: str | None
    """URL of your own that the page links to."""
    banner: str | None
    """URL of a picture."""
    logo: str | None
    """URL of a logo above the heading."""


class SplashChange(TypedDict, total=False):
    """The fields of a splash page. Absent ones keep their values."""

    name: str
    """Name for yourself."""
    title: str | None
    """Heading of the page."""
    message: str | None
    """Text of the page, with line breaks."""
    counter: int | None
    """Seconds until visitors are redirected."""
    skip: int | None
    """Seconds until the button to skip appears."""
    link: str | None
    """URL of your own that the page links to."""
    banner: str | None
    """URL of a picture."""
    logo: str | None
    """URL of a logo above the heading."""
