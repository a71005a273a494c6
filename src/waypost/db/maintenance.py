"""Maintenance mode: changes are refused, redirects and downloads continue (decision 102)."""

import time

from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import DBAPIError

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db import audit_log
from waypost.db.database import Database, upsert
from waypost.db.schema import installation

FOLLOW_SECONDS = 0.5
"""Every process follows a switch within this time."""
_NAME = "maintenance"
_RETRY_SECONDS = 60
_MESSAGE = "The service is in maintenance, so nothing can be changed right now. Please try again later."


class MaintenanceMode:
    """The mode as a process knows it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_on = False
        self._read_again = 0.0

    def is_on(self) -> bool:
        """Return whether it is on. While the database does not answer, or refuses to, as it was before."""
        if time.monotonic() >= self._read_again:
            try:
                self._is_on = self._database.read(since, autocommit=True) is not None
            except (Problem, DBAPIError):  # DBAPIError: damage or a missing right, and `/readyz` must report it
                return self._is_on
            self._read_again = time.monotonic() + FOLLOW_SECONDS
        return self._is_on

    def require_off(self) -> None:
        """Raise UNAVAILABLE while it is on. Called before every change that an account or a visitor requests."""
        if self.is_on():
            raise Problem(Kind.UNAVAILABLE, _MESSAGE, retry_after=_RETRY_SECONDS)


def since(tx: Connection) -> int | None:
    """Return the time since which it is on, in seconds, UTC; None if it is off."""
    value = tx.execute(select(installation.c.value).where(installation.c.name == _NAME)).scalar_one_or_none()
    return int(bytes(value)) if value is not None else None


def switch_on(tx: Connection) -> None:
    """Switch it on, unless it is on."""
    statement = upsert(tx, installation).values(name=_NAME, value=str(clock.now()).encode())
    if tx.execute(statement.on_conflict_do_nothing().returning(installation.c.name)).first() is not None:
        audit_log.record(tx, None, "maintenance.started")


def switch_off(tx: Connection) -> None:
    """Switch it off."""
    if tx.execute(delete(installation).where(installation.c.name == _NAME)).rowcount:
        audit_log.record(tx, None, "maintenance.ended")
