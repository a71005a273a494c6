# Written by `make docs`. Do not edit: change the code and run it again.
"""Records of responses: account."""

from __future__ import annotations

from dataclasses import dataclass

from waypost_client.records import Record


@dataclass(frozen=True, kw_only=True)
class Account(Record):
    """An account."""

    id: int = 0
    """Id of the item in paths and in other requests."""
    email: str = ""
    """E-mail address, for signing in and notices."""
    username: str = ""
    """Name for signing in and in URLs of list pages."""
    avatar: str = ""
    """URL of a picture."""
    status: str = ""
    """Status of the plan."""
    plan: str = ""
    """Name of the plan, which sets the limits."""
    expires: str = ""
    """End of the plan, in UTC; the year 9999 if there is none."""
    registered: str = ""
    """Time of registration, in UTC."""
