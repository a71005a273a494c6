"""Waiting for the ingester, so that a statistics read shows every click answered before it (decision 48)."""

import time
from pathlib import Path

from sqlalchemy import Connection, select

from waypost.clicks.journal import reader
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.db.schema import segments as positions
from waypost.errors import Kind, Problem

_PATIENCE = 10.0
_STEP = 0.004


def wait(folder: Path, database: Database) -> None:
    """Return when all that stands in this machine's journal now is counted.

    Raises UNAVAILABLE when the ingester does not get there in ten seconds: rather no number than a wrong one.
    """
    wanted = {name: size for name, size in reader.sizes(folder).items() if size} if folder.is_dir() else {}
    deadline = time.monotonic() + _PATIENCE
    while wanted:
        counted = database.read(lambda tx: _positions(tx, list(wanted)))  # noqa: B023  # read at once
        here = reader.sizes(folder)
        # A segment that is not there any more was counted to its end.
        wanted = {name: size for name, size in wanted.items() if name in here and counted.get(name, 0) < size}
        if wanted and time.monotonic() > deadline:
            raise Problem(Kind.UNAVAILABLE, "The newest clicks are still being counted. Try again.", retry_after=5)
        if wanted:
            journal.wake(folder)
            time.sleep(_STEP)


def lag(folder: Path, database: Database) -> int:
    """Bytes of this machine's journal that are not counted yet."""
    sizes = reader.sizes(folder) if folder.is_dir() else {}
    counted = database.read(lambda tx: _positions(tx, list(sizes)))
    return sum(max(0, size - counted.get(name, 0)) for name, size in sizes.items())


def _positions(tx: Connection, names: list[str]) -> dict[str, int]:
    found = select(positions.c.name, positions.c.position).where(positions.c.name.in_(names))
    return {row.name: row.position for row in tx.execute(found)}
