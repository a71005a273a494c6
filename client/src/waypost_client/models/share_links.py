# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: share links."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Share(Record):
    """A share link."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    type: str = ""
    """Kind of the item."""
    itemid: int = 0
    """Id of the item whose statistics are shared."""
    url: str = ""
    """Address of the page. A secret one must not be published."""
    title: str = ""
    """Heading of the page; by default the short URL, or the name of the campaign."""
    slug: str = ""
    """Makes the address public and readable: 3 to 50 letters, digits, `-` and `_`; the id follows. Without it
    the address is secret.
    """
    haspassword: bool = False
    """True if visitors must enter a password."""
    firstday: str = ""
    """First day that is shown, `YYYY-MM-DD`."""
    lastday: str = ""
    """Last day that is shown, `YYYY-MM-DD`."""
    days: int | None = None
    """Only so many days until today are shown, instead of fixed days."""
    timezone: str = ""
    """Time zone of the days."""
    expiry: str = ""
    """Last second before the item expires, in UTC; empty if it does not expire."""
    date: str = ""
    """Time of creation, in UTC."""


@dataclass(frozen=True, kw_only=True)
class ShareDone(Record):
    """The response to create and update: a message and the share link."""

    message: str = ""
    """Result in one sentence."""
    id: int = 0
    """Id of the item in paths and in other requests."""
    type: str = ""
    """Kind of the item."""
    itemid: int = 0
    """Id of the item whose statistics are shared."""
    url: str = ""
    """Address of the page. A secret one must not be published."""
    title: str = ""
    """Heading of the page; by default the short URL, or the name of the campaign."""
    slug: str = ""
    """Makes the address public and readable: 3 to 50 letters, digits, `-` and `_`; the id follows. Without it
    the address is secret.
    """
    haspassword: bool = False
    """True if visitors must enter a password."""
    firstday: str = ""
    """First day that is shown, `YYYY-MM-DD`."""
    lastday: str = ""
    """Last day that is shown, `YYYY-MM-DD`."""
    days: int | None = None
    """Only so many days until today are shown, instead of fixed days."""
    timezone: str = ""
    """Time zone of the days."""
    expiry: str = ""
    """Last second before the item expires, in UTC; empty if it does not expire."""
    date: str = ""
    """Time of creation, in UTC."""
