"""The last backup and its failure, which the dashboard shows to administrators."""

import json
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, delete, select

from waypost.core import clock
from waypost.db.database import upsert
from waypost.db.schema import installation

_NAME = "last backup"
FAILURE = "failed backup"
"""The name of the row of `installation` with the failure."""


@dataclass(frozen=True)
class Failure:
    """A backup that failed: its time in seconds, UTC, and the reason as a sentence."""

    at: int
    reason: str


def record(tx: Connection) -> None:
    """Store that a backup was completed now. A failure before it is over."""
    _store(tx, _NAME, str(clock.now()))
    tx.execute(delete(installation).where(installation.c.name == FAILURE))


def record_failure(tx: Connection, reason: str) -> None:
    """Store that a backup failed now."""
    _store(tx, FAILURE, json.dumps(asdict(Failure(clock.now(), reason))))


def get(tx: Connection) -> int | None:
    """Return the time of the last backup in seconds, UTC; None if there was none."""
    value = _read(tx, _NAME)
    return int(value) if value is not None else None


def failure(tx: Connection) -> Failure | None:
    """Return the last backup if it failed."""
    value = _read(tx, FAILURE)
    return Failure(**json.loads(value)) if value is not None else None


def _store(tx: Connection, name: str, text: str) -> None:
    value = text.encode()
    statement = upsert(tx, installation).values(name=name, value=value)
    tx.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def _read(tx: Connection, name: str) -> bytes | None:
    value = tx.execute(select(installation.c.value).where(installation.c.name == name)).scalar_one_or_none()
    return bytes(value) if value is not None else None
