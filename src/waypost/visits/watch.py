"""Follows the log of changes, so that a change is in force here at once and on every other process within a second."""

import threading

import structlog

from waypost import changes
from waypost.db import Database
from waypost.errors import Problem
from waypost.visits.memory import Memory

_log = structlog.get_logger("watch")


class Watch:
    """Keeps one process's memory true."""

    def __init__(self, database: Database, memory: Memory) -> None:
        self._database = database
        self._memory = memory
        self._last = database.read(changes.newest)
        self._reading = threading.Lock()

    def catch_up(self) -> None:
        """Forget what changed since the last time. When this returns, no older answer is given any more."""
        with self._reading:
            last, names = self._database.read(lambda tx: changes.since(tx, self._last))
            if names is None or names:
                self._memory.forget(names)
            self._last = last

    def try_catch_up(self) -> None:
        """The same, for a timer: with the database away, what is known goes on being answered."""
        try:
            self.catch_up()
        except Problem:
            _log.warning("the log of changes is out of reach; answering from memory")
        except Exception:  # noqa: BLE001  # the edge of the task that follows changes: it must not end
            _log.exception("the log of changes could not be read; answering from memory")
