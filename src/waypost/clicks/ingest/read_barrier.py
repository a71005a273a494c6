"""Wait for the ingester, so that statistics include every click answered before the request (decision 48)."""

import time
from collections.abc import Iterable
from pathlib import Path

from sqlalchemy import Connection, select

from waypost.clicks import journal
from waypost.clicks.ingest import coordination
from waypost.clicks.ingest.coordination import wake_ingester
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db.database import Database
from waypost.db.schema import segments

_TIMEOUT_SECONDS = 10.0
_STALL_SECONDS = 2.0  # an ingester without any progress for so long is stopped, or waits for the database
_SHORT_SECONDS = 0.25  # the next requests wait so long, for some seconds
_BEHIND_SECONDS = 5.0
_POLL_SECONDS = 0.004
_counted: dict[Path, dict[str, int]] = {}
"""Known positions of the ingester in each journal. They only grow, so most requests read none."""
_behind_until: dict[Path, float] = {}
"""Journals whose ingester made no progress lately, with a time of the monotonic clock."""


def require(folder: Path, database: Database) -> None:
    """Return once all lines that are in this machine's journal now are counted; a new limit starts from them.

    Raises UNAVAILABLE after ten seconds: an error is better than a limit that lets too many through.
    """
    if not _wait(folder, database, _TIMEOUT_SECONDS):
        raise Problem(Kind.UNAVAILABLE, "The newest clicks are still being counted. Try again.", retry_after=5)


def wait(folder: Path, database: Database) -> int:
    """Wait until all lines that are in this machine's journal now are counted. Return 0.

    If the ingester makes no progress, return the age in seconds of the oldest click that is not counted: the response
    must say that its numbers are incomplete.
    """
    is_behind = time.monotonic() < _behind_until.get(folder, 0.0)
    if _wait(folder, database, _SHORT_SECONDS if is_behind else _STALL_SECONDS):
        return 0
    _behind_until[folder] = time.monotonic() + _BEHIND_SECONDS
    return max(1, round(oldest_uncounted(folder, database)))


def is_passed(folder: Path, tx: Connection) -> bool:
    """Return whether all lines that are in this machine's journal now are counted in the transaction."""
    sizes = journal.segment_sizes(folder) if folder.is_dir() else {}
    positions = _positions(tx, sizes) if sizes else {}
    return all(positions.get(name, 0) >= size for name, size in sizes.items())


def uncounted_bytes(folder: Path, database: Database) -> int:
    """Return how many bytes of this machine's journal are not counted yet."""
    sizes = journal.segment_sizes(folder) if folder.is_dir() else {}
    positions = database.read(lambda tx: _positions(tx, sizes))
    return sum(max(0, size - positions.get(name, 0)) for name, size in sizes.items())


def oldest_uncounted(folder: Path, database: Database) -> float:
    """Return the age in seconds of the oldest click of this machine that is not counted yet; 0 if there is none."""
    sizes = journal.segment_sizes(folder) if folder.is_dir() else {}
    positions = database.read(lambda tx: _positions(tx, sizes))
    pending = {name: positions.get(name, 0) for name, size in sizes.items() if size > positions.get(name, 0)}
    times = [at for name, position in pending.items() if (at := journal.time_at(folder / name, position)) is not None]
    return max(0.0, (clock.now_ms() - min(times)) / 1000) if times else 0.0


def _wait(folder: Path, database: Database, stall_seconds: float) -> bool:
    """Return whether everything that is in the journal now was counted.

    Gives up after ten seconds, or after `stall_seconds` if the ingester made no step lately.
    """
    sizes = journal.segment_sizes(folder) if folder.is_dir() else {}
    known = _counted.get(folder, {})
    pending = {name: size for name, size in sizes.items() if size > known.get(name, 0)}
    began = time.monotonic()
    while pending:
        positions = database.read(lambda tx: _positions(tx, sizes))
        _counted[folder] = positions
        present = journal.segment_sizes(folder) if folder.is_dir() else {}
        # A segment is deleted only after it is counted completely.
        pending = {name: size for name, size in pending.items() if name in present and positions.get(name, 0) < size}
        if pending:
            waited = time.monotonic() - began
            is_stalled = waited > stall_seconds and not coordination.is_counting(folder, _STALL_SECONDS)
            if is_stalled or waited > _TIMEOUT_SECONDS:
                return False
            wake_ingester(folder)
            time.sleep(_POLL_SECONDS)
    return True


def _positions(tx: Connection, names: Iterable[str]) -> dict[str, int]:
    query = select(segments.c.name, segments.c.position).where(segments.c.name.in_(names))
    return {row.name: row.position for row in tx.execute(query)}
