"""The language and the time zone that an account selected."""

from collections.abc import Sequence
from functools import cache
from zoneinfo import available_timezones

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.errors import invalid
from waypost.db import account_rows
from waypost.db.schema import accounts


def choose_language(tx: Connection, account: int, language: str) -> None:
    """Store a code of LANGUAGES."""
    account_rows.change(tx, account, "language", {"language": language})


def language_of(tx: Connection, account: int) -> str:
    """Return the language of an account; "" if none was selected."""
    query = select(accounts.c.language).where(accounts.c.id == account)
    return tx.execute(query).scalar_one_or_none() or ""


ZONE_FIELD = "timezone"
_TECHNICAL = ("Etc/", "SystemV/")


@cache
def time_zone_names() -> Sequence[str]:
    """Return the names of all zones of places, and UTC."""
    places = (name for name in available_timezones() if "/" in name and not name.startswith(_TECHNICAL))
    return ["UTC", *sorted(places)]


def choose_time_zone(tx: Connection, account: int, name: str) -> None:
    """Store the name of a zone, "" for that of the browser. Raises INVALID for an unknown name."""
    if name and clock.zone(name) is None:
        raise invalid(ZONE_FIELD, f"{ZONE_FIELD} must be the name of a time zone, such as Europe/Berlin or UTC.")
    account_rows.change(tx, account, ZONE_FIELD, {"timezone": name})
