"""The time zone that an account selected for the dashboard."""

from collections.abc import Sequence
from functools import cache
from zoneinfo import available_timezones

from sqlalchemy import Connection

from waypost import clock
from waypost.db.schema import accounts
from waypost.errors import invalid

FIELD = "timezone"
_TECHNICAL = ("Etc/", "SystemV/")


@cache
def names() -> Sequence[str]:
    """Return the names of all zones of places, and UTC."""
    places = (name for name in available_timezones() if "/" in name and not name.startswith(_TECHNICAL))
    return ["UTC", *sorted(places)]


def choose(tx: Connection, account: int, name: str) -> None:
    """Store the name of a zone, "" for that of the browser. Raises INVALID for an unknown name."""
    if name and clock.zone(name) is None:
        raise invalid(FIELD, f"{FIELD} must be the name of a time zone, such as Europe/Berlin or UTC.")
    tx.execute(accounts.update().where(accounts.c.id == account).values(timezone=name))
