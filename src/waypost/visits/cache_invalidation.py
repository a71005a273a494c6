"""Follows the log of changes, so that a change is in force here at once and on every other process within a second."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import structlog
from sqlalchemy import Connection

from waypost.db import change_log, notifications
from waypost.db.change_log import LogPosition, Name
from waypost.db.database import Database
from waypost.db.notifications import Wakeup
from waypost.errors import Problem
from waypost.visits.cache import Cache

T = TypeVar("T")
_log = structlog.get_logger("watch")
_READ_TIMEOUT_SECONDS = 1.0  # less would treat busy connections as lost; a request can wait so long
_NEWS_SECONDS = 0.3  # who missed the news, because a connection was lost, finds the change after that


class CacheInvalidator:
    """Keeps one process's memory true."""

    def __init__(self, database: Database, memory: Cache) -> None:
        self._database = database
        self._memory = memory
        self._reading = threading.Lock()  # so that of many who ask at once the first one's answer serves the others
        self._taking_in = threading.Lock()
        self._over = Wakeup()
        self._is_out_of_reach = False
        try:
            self._place: LogPosition | None = database.read(change_log.newest)
        except Problem:  # a worker that begins while the database is away: there is nothing to forget yet
            self._place = None

    def catch_up(self) -> None:
        """Forget what changed since the last time, and tell the others.

        When this returns, no older answer is given any more here; unless the database went away since the change was
        made, which is saved all the same and taken in when the log can be read again.
        """
        try:
            with self._reading:
                is_new = self._catch_up(partial(self._database.read, timeout=_READ_TIMEOUT_SECONDS))
        except Problem:
            _log.warning("the log of changes is out of reach; a change that was made is not in force yet")
            return
        if is_new:
            notifications.notify(self._database)

    def follow(self) -> None:
        """Wait for the next change, on SQLite not at all, and take it in.

        With the database away, what is known goes on being answered.
        """
        if not self._database.is_sqlite:
            notifications.wait_for_notification(self._database, _NEWS_SECONDS, self._over)
        try:
            self._catch_up(partial(notifications.poll, self._database))
            self._is_out_of_reach = False
        except Problem:
            if not self._is_out_of_reach:
                _log.warning("the log of changes is out of reach; answering from memory")
            self._is_out_of_reach = True
        except Exception:  # noqa: BLE001  # the edge of the task that follows changes: it must not end
            _log.exception("the log of changes could not be read; answering from memory")

    def stop(self) -> None:
        """Nobody follows any more: who waits for the next change is let go."""
        self._over.set()

    def _catch_up(self, read: "_Read") -> bool:
        """Whether there was anything new. Who reads holds up nobody: the connection of one may be lost."""
        is_new = False
        while True:
            before = self._place
            place, names = read(partial(_news, before))
            is_new |= names is None or bool(names)
            with self._taking_in:
                # Else another one has read on meanwhile. What he took in is not forgotten once more: it may have been
                # looked up since.
                if self._place == before:
                    if names is None or names:
                        self._memory.invalidate(names)
                    self._place = place
                    return is_new


def _news(before: LogPosition | None, tx: Connection) -> tuple[LogPosition, list[Name] | None]:
    return (change_log.newest(tx), None) if before is None else change_log.since(tx, before)


class _Read(Protocol):
    """A way of the database's to read."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...
