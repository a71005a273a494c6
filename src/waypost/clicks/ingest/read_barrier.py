"""Wait for the ingester, so that statistics include every click answered before the request (decision 48)."""

import time
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection, select

from waypost.clicks.ingest.lock import wake_ingester
from waypost.clicks.journal import reader
from waypost.db.database import Database
from waypost.db.schema import segments
from waypost.errors import Kind, Problem

_TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.004
_counted: dict[Path, dict[str, int]] = {}
"""Known positions of the ingester in each journal. They only grow, so most requests read none."""


def wait(folder: Path, database: Database) -> None:
    """Return once all lines that are in this machine's journal now are counted.

    Raises UNAVAILABLE after ten seconds: an error is better than an incomplete number.
    """
    sizes = reader.segment_sizes(folder) if folder.is_dir() else {}
    known = _counted.get(folder, {})
    pending = {name: size for name, size in sizes.items() if size > known.get(name, 0)}
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while pending:
        positions = database.read(lambda tx: _positions(tx, sizes))
        _counted[folder] = positions
        present = reader.segment_sizes(folder)
        # A segment is deleted only after it is counted completely.
        pending = {name: size for name, size in pending.items() if name in present and positions.get(name, 0) < size}
        if pending and time.monotonic() > deadline:
            raise Problem(Kind.UNAVAILABLE, "The newest clicks are still being counted. Try again.", retry_after=5)
        if pending:
            wake_ingester(folder)
            time.sleep(_POLL_SECONDS)


def is_passed(folder: Path, tx: Connection) -> bool:
    """Return whether all lines that are in this machine's journal now are counted in the transaction."""
    sizes = reader.segment_sizes(folder) if folder.is_dir() else {}
    positions = _positions(tx, sizes) if sizes else {}
    return all(positions.get(name, 0) >= size for name, size in sizes.items())


def uncounted_bytes(folder: Path, database: Database) -> int:
    """Return how many bytes of this machine's journal are not counted yet."""
    sizes = reader.segment_sizes(folder) if folder.is_dir() else {}
    positions = database.read(lambda tx: _positions(tx, sizes))
    return sum(max(0, size - positions.get(name, 0)) for name, size in sizes.items())


def _positions(tx: Connection, names: Iterable[str]) -> dict[str, int]:
    query = select(segments.c.name, segments.c.position).where(segments.c.name.in_(names))
    return {row.name: row.position for row in tx.execute(query)}
