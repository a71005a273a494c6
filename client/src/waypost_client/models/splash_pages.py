# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: splash pages."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class SplashItem(Record):
    """A splash page in a list."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class Splash(Record):
    """A splash page with all its fields."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    name: str = ""
    """Name for yourself."""
    date: str = ""
    """Time of creation, in UTC."""
    title: str = ""
    """Heading of the page."""
    message: str = ""
    """Text of the page, with line breaks."""
    counter: int = 0
    """Seconds until visitors are redirected."""
    skip: int = 0
    """Seconds until the button to skip appears."""
    link: str = ""
    """URL of your own that the page links to."""
    banner: str = ""
    """URL of a picture."""
    logo: str = ""
    """URL of a logo above the heading."""
