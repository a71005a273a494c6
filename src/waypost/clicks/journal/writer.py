"""Append-only click journal. Each click is one line on disk before the visitor gets the response.

Each worker appends to its own segment and holds a file lock on it. A released lock means that the worker has ended and
nothing writes to the segment again. Closed segments are deleted once they are counted.
"""

import fcntl
import os
import time
import uuid
from pathlib import Path

import structlog

from waypost import atomic_files

_log = structlog.get_logger("journal")
SEGMENT_SUFFIX = ".log"
_MAX_AGE_SECONDS = 3.0  # a counted address is deleted from the disk within ten seconds (decision 47)
_MAX_BYTES = 64 * 1024 * 1024


class Journal:
    """The journal of one worker. Not thread-safe, except for `sync`: visits write on the event loop."""

    def __init__(self, folder: Path, *, sync_always: bool = False) -> None:
        self._folder = folder
        self._sync_always = sync_always
        self._fd = -1
        self._size = 0
        self._opened_at = 0.0
        self._is_unsynced = False
        self.lost = 0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, lines: bytes) -> bool:
        """Append whole lines. Return False if some could not be written; they are counted in `lost`."""
        written = 0
        try:
            if self._fd < 0:
                self._open()
            written = os.write(self._fd, lines)
        except OSError:
            pass
        if written == len(lines):
            self._size += written
        else:
            # Keep whole lines: the ingester may already have read them.
            kept = lines.rfind(b"\n", 0, written) + 1
            self._size += kept
            self._truncate()
            self._count_lost(lines.count(b"\n", kept))
        self._is_unsynced = True
        if self._sync_always:
            self.sync()
        return written == len(lines)

    def sync(self) -> None:
        """Flush written lines to the disk. May run in another thread during `write`."""
        if self._is_unsynced and self._fd >= 0:
            self._is_unsynced = False
            try:
                atomic_files.sync_content(self._fd)
            except OSError as error:
                _log.error("cannot flush the click journal to disk", reason=error.strerror)

    def rotate(self) -> None:
        """Close the segment if it is old or large. The next write opens a new one."""
        if self._fd >= 0 and (time.monotonic() - self._opened_at > _MAX_AGE_SECONDS or self._size > _MAX_BYTES):
            self.close()

    def close(self) -> None:
        """Flush and close the segment."""
        if self._fd >= 0:
            self.sync()
            os.close(self._fd)  # releases the lock
            self._fd = -1

    def _truncate(self) -> None:
        """Remove a partial line, so that the next line starts at a line boundary."""
        if self._fd >= 0:
            try:
                os.ftruncate(self._fd, self._size)
            except OSError:
                self.close()

    def _count_lost(self, clicks: int) -> None:
        if self.lost // 1000 != (self.lost + clicks) // 1000 or not self.lost:
            _log.error("clicks are lost: cannot write the click journal", lost=self.lost + clicks)
        self.lost += clicks

    def _open(self) -> None:
        name = f"{time.time_ns():020d}-{uuid.uuid4().hex}"
        new = self._folder / f"{name}.new"
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Rename after locking, so that the ingester never sees a segment whose writer holds no lock yet.
            new.rename(self._folder / f"{name}{SEGMENT_SUFFIX}")
        except OSError:
            os.close(fd)
            raise
        self._fd, self._size, self._opened_at = fd, 0, time.monotonic()
