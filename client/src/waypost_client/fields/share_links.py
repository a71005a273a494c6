# Written by `make docs`. Do not edit: change the code and run it again.
"""Optional fields of requests: share links."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    pass


class NewShare(TypedDict, total=False):
    """A new share link."""

    title: str | None
    """Heading of the page; by default the short URL, or the name of the campaign."""
    slug: str | None
    """Makes the address public and readable: 3 to 50 letters, digits, `-` and `_`; the id follows. Without it
    the address is secret.
    """
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    firstday: str | None
    """First day that is shown, `YYYY-MM-DD`."""
    lastday: str | None
    """Last day that is shown, `YYYY-MM-DD`."""
    days: int | None
    """Only so many days until today are shown, instead of fixed days."""
    timezone: str | None
    """Time zone of the days."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """


class ShareChange(TypedDict, total=False):
    """The fields of a share link. Absent ones keep their values."""

    title: str | None
    """Heading of the page; by default the short URL, or the name of the campaign."""
    slug: str | None
    """Makes the address public and readable: 3 to 50 letters, digits, `-` and `_`; the id follows. Without it
    the address is secret.
    """
    password: str | None
    """Password that visitors must enter. `null` removes it."""
    firstday: str | None
    """First day that is shown, `YYYY-MM-DD`."""
    lastday: str | None
    """Last day that is shown, `YYYY-MM-DD`."""
    days: int | None
    """Only so many days until today are shown, instead of fixed days."""
    timezone: str | None
    """Time zone of the days."""
    expiry: str | None
    """Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such as
    `+02:00`. `null` removes the expiry.
    """
