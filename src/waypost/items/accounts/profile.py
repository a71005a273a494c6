"""Selections of a person: language and time zone; and of an account: its name on the public pages of its files.

The name is shown only if the account has entered one.
"""

from collections.abc import Sequence
from functools import cache
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field
from sqlalchemy import Connection, select

from waypost.api.request_body import Body
from waypost.api.types import Line
from waypost.auth import people
from waypost.core import clock
from waypost.core.errors import invalid
from waypost.db import account_rows, change_log
from waypost.db.schema import accounts, files


def choose_language(tx: Connection, person: int, language: str) -> None:
    """Store a code of LANGUAGES."""
    people.change(tx, person, "language", {"language": language})


ZONE_FIELD = "timezone"
_TECHNICAL = ("Etc/", "SystemV/")


@cache
def time_zone_names() -> Sequence[str]:
    """Return the names of all zones of places, and UTC."""
    places = (name for name in available_timezones() if "/" in name and not name.startswith(_TECHNICAL))
    return ["UTC", *sorted(places)]


def choose_time_zone(tx: Connection, person: int, name: str) -> None:
    """Store the name of a zone, "" for that of the browser. Raises INVALID for an unknown name."""
    if name and clock.zone(name) is None:
        raise invalid(ZONE_FIELD, f"{ZONE_FIELD} must be the name of a time zone, such as Europe/Berlin or UTC.")
    people.change(tx, person, ZONE_FIELD, {"timezone": name})


class Sender(Body):
    """The form of the name; without one, no name is shown."""

    sender: Annotated[Line, AfterValidator(str.strip), Field(max_length=64)] = ""


def sender_of(tx: Connection, account: int) -> str:
    """Return the name that visitors of files see; "" for none."""
    return str(tx.execute(select(accounts.c.sender).where(accounts.c.id == account)).scalar_one())


def choose_sender(tx: Connection, account: int, *, sender: str = "") -> None:
    """Store the name that visitors of files see; "" shows none."""
    if account_rows.change(tx, account, "sender", {"sender": sender}):
        change_log.record_items(tx, files, files.c.account == account)
