"""Follows the log of changes, so that a change is in force here at once and on every other process within a second."""

import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog
from sqlalchemy import Connection

from waypost import changes
from waypost.changes import Place
from waypost.db import Database
from waypost.errors import Problem
from waypost.postgres import Bell
from waypost.visits.memory import Memory

T = TypeVar("T")
_log = structlog.get_logger("watch")
_NEWS_SECONDS = 0.3  # who missed the news, because a connection was lost, finds the change after that


class Watch:
    """Keeps one process's memory true."""

    def __init__(self, database: Database, memory: Memory) -> None:
        self._database = database
        self._memory = memory
        self._reading = threading.Lock()  # so that of many who ask at once the first one's answer serves the others
        self._taking_in = threading.Lock()
        self._over = Bell()
        self._is_out_of_reach = False
        try:
            self._place: Place | None = database.read(changes.newest)
        except Problem:  # a worker that begins while the database is away: there is nothing to forget yet
            self._place = None

    def catch_up(self) -> None:
        """Forget what changed since the last time, and tell the others.

        When this returns, no older answer is given any more here; unless the database went away since the change was
        made, which is saved all the same and taken in when the log can be read again.
        """
        try:
            with self._reading:
                is_new = self._catch_up(self._database.read_soon)
        except Problem:
            _log.warning("the log of changes is out of reach; a change that was made is not in force yet")
            return
        if is_new:
            self._database.tell_news()

    def follow(self) -> None:
        """Wait for the next change, on SQLite not at all, and take it in.

        With the database away, what is known goes on being answered.
        """
        if not self._database.is_sqlite:
            self._database.wait_for_news(_NEWS_SECONDS, self._over)
        try:
            self._catch_up(self._database.glance)
            self._is_out_of_reach = False
        except Problem:
            if not self._is_out_of_reach:
                _log.warning("the log of changes is out of reach; answering from memory")
            self._is_out_of_reach = True
        except Exception:  # noqa: BLE001  # the edge of the task that follows changes: it must not end
            _log.exception("the log of changes could not be read; answering from memory")

    def end(self) -> None:
        """Nobody follows any more: who waits for the next change is let go."""
        self._over.ring()

    def _catch_up(self, read: "_Read") -> bool:
        """Whether there was anything new. Who reads holds up nobody: the connection of one may be lost."""
        before = self._place
        place, found = read(lambda tx: (changes.newest(tx), None) if before is None else changes.since(tx, before))
        with self._taking_in:
            # Another one may have read the same meanwhile: what was looked up since is not forgotten once more.
            taken_in = self._place
            if found is None or taken_in is None:
                self._memory.forget(None)
                self._place = place
            else:
                if names := [change.name for change in found if not taken_in.has_seen(change.id)]:
                    self._memory.forget(names)
                self._place = taken_in.and_also(place)
        return found is None or bool(found)


class _Read(Protocol):
    """A way of the database's to read."""

    def __call__(self, work: Callable[[Connection], T]) -> T: ...
