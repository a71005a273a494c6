"""The time of the last backup, which the dashboard shows to administrators."""

from sqlalchemy import Connection, select

from waypost.core import clock
from waypost.db.database import upsert
from waypost.db.schema import installation

_NAME = "last backup"


def record(tx: Connection) -> None:
    """Store that a backup was completed now."""
    value = str(clock.now()).encode()
    statement = upsert(tx, installation).values(name=_NAME, value=value)
    tx.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def get(tx: Connection) -> int | None:
    """Return the time of the last backup in seconds, UTC; None if there was none."""
    value = tx.execute(select(installation.c.value).where(installation.c.name == _NAME)).scalar_one_or_none()
    return int(bytes(value)) if value is not None else None
