"""Progress of the ingester, which other processes read: the time of a file that it touches between its steps."""

import os
import time
from contextlib import suppress
from pathlib import Path

_FILE = "ingest.progress"


def record(folder: Path) -> None:
    """Record a step of the ingester of a journal."""
    with suppress(OSError):  # the folder is missing, or the disk is full
        (folder / _FILE).touch(mode=0o600)


def record_failure(folder: Path) -> None:
    """Record that the ingester waits for the database or the disk, and tries again."""
    with suppress(OSError):
        os.utime(folder / _FILE, (0, 0))


def is_counting(folder: Path, seconds: float) -> bool:
    """Return whether the ingester made a step within the last seconds."""
    return time.time() - _changed(folder) <= seconds


def is_stuck(folder: Path, seconds: float) -> bool:
    """Return whether the ingester is in the middle of a step that began longer than these seconds ago."""
    changed = _changed(folder)
    return changed > 0 and time.time() - changed > seconds


def _changed(folder: Path) -> float:
    try:
        return (folder / _FILE).stat().st_mtime
    except OSError:
        return 0.0
