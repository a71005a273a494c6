"""Cache invalidation: apply the change log to this process's cache.

A change takes effect immediately in the process that made it, and within a second in all others.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import structlog
from sqlalchemy import Connection

from waypost.core.errors import Problem
from waypost.db import change_log, notifications
from waypost.db.change_log import Change, LogPosition, Name
from waypost.db.database import Database
from waypost.db.notifications import Wakeup
from waypost.visits.cache import Cache

T = TypeVar("T")
_log = structlog.get_logger("change log")
_READ_TIMEOUT_SECONDS = 1.0  # less would treat busy connections as lost; requests can wait this long
_NOTIFY_SECONDS = 0.02  # changes of so many seconds share one notification
_POLL_SECONDS = 0.3  # finds changes whose notification was lost together with a connection


class CacheInvalidator:
    """Keeps one process's cache up to date."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self._database = database
        self._cache = cache
        self._read_lock = threading.Lock()  # concurrent requests share the result of the first one's read
        self._apply_lock = threading.Lock()
        self._wakeup = Wakeup()
        self._is_unreachable = False
        try:
            self._position: LogPosition | None = database.read(change_log.current_position)
        except Problem:  # the database is unavailable at start: the cache is still empty
            self._position = None

    def catch_up(self, recorded: Sequence[Change] = ()) -> None:
        """Apply all changes since the last read. `follow` then notifies the other processes.

        `recorded` are the changes of a transaction that was just committed. If no other process has logged any since
        the last read, nothing is read.

        When this returns, this process serves nothing older. Exception: the database became unavailable after the
        change was committed; then the change is applied when the change log can be read again.
        """
        if self._apply_recorded(recorded):
            self._wakeup.interrupt()
            return
        try:
            with self._read_lock:
                has_changes = self._apply_changes(partial(self._database.read, timeout=_READ_TIMEOUT_SECONDS))
        except Problem:
            _log.warning("change log unreachable; a committed change is not in effect yet")
            return
        if has_changes:
            self._wakeup.interrupt()

    def follow(self) -> None:
        """Wait for the next change and apply it, and notify other processes of own changes. On SQLite, never wait.

        While the database is unavailable, cached entries are served.
        """
        if not self._database.is_sqlite:
            notifications.wait_for_notification(self._database, _POLL_SECONDS, self._wakeup)
            if self._wakeup.is_interrupted:
                time.sleep(_NOTIFY_SECONDS)
                self._wakeup.is_interrupted = False
                notifications.notify(self._database)  # this process gets it as well, and then reads
                return
        try:
            self._apply_changes(partial(notifications.poll, self._database))
            self._is_unreachable = False
        except Problem:
            if not self._is_unreachable:
                _log.warning("change log unreachable; serving from the cache")
            self._is_unreachable = True
        except Exception:  # noqa: BLE001  # the edge of the task that follows changes: it must not end
            _log.exception("change log could not be read; serving from the cache")

    def stop(self) -> None:
        """End a waiting `follow`."""
        self._wakeup.set()

    def _apply_recorded(self, recorded: Sequence[Change]) -> bool:
        """Apply the changes if they are the next ones in the log."""
        with self._apply_lock:
            position = None if self._position is None else self._position.after(recorded)
            if position is None:
                return False
            self._cache.invalidate([(change.host, change.alias) for change in recorded])
            self._position = position
            return True

    def _apply_changes(self, read: "_Read") -> bool:
        """Return whether there were changes. The read holds no lock: its connection may hang until a timeout."""
        has_changes = False
        while True:
            before = self._position
            position, names = read(partial(_read_changes, before))
            has_changes |= names is None or bool(names)
            with self._apply_lock:
                # Otherwise another thread has applied changes in between: read again, because invalidating the same
                # changes twice would drop entries that were read after them.
                if self._position == before:
                    if names is None or names:
                        self._cache.invalidate(names)
                    self._position = position
                    return has_changes


def _read_changes(before: LogPosition | None, tx: Connection) -> tuple[LogPosition, list[Name] | None]:
    return (change_log.current_position(tx), None) if before is None else change_log.read_since(tx, before)


class _Read(Protocol):
    """Runs a read transaction."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...
