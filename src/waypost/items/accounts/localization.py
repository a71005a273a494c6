"""The language and the time zone that an account selected."""

from collections.abc import Sequence
from functools import cache
from zoneinfo import available_timezones

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.core.errors import invalid
from waypost.db import audit_log
from waypost.db.schema import accounts


def choose_language(tx: Connection, account: int, language: str) -> None:
    """Store a code of LANGUAGES."""
    tx.execute(accounts.update().where(accounts.c.id == account).values(language=language))
    audit_log.record(tx, account, "account.updated", account, after={"language": language})


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
    tx.execute(accounts.update().where(accounts.c.id == account).values(timezone=name))
    audit_log.record(tx, account, "account.updated", account, after={"timezone": name})
