"""Batches of an import: their size, and the end of the import between two of them.

A batch is as large as other writers can wait for. On SQLite they queue, and write between two batches. An import in the
background is canceled by a request of its owner, a deadline, or the end of its plan.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection

from waypost.core.errors import Problem
from waypost.db.database import Database

T = TypeVar("T")
_SHORT_SECONDS, _LONG_SECONDS = 0.1, 0.3


class Pace:
    """Runs batches, and adapts the number of their rows to the time that they take."""

    def __init__(self, database: Database, first: int, largest: int) -> None:
        """`first` and `largest` are numbers of rows."""
        self._database = database
        self._size, self._largest = first, largest

    def write(self, work: Callable[[Connection, int], T]) -> T:
        """Run a batch in a transaction. `work` takes the number of rows that it may change."""
        size, began = self._size, time.perf_counter()
        result = self._database.write(lambda tx: work(tx, size))
        seconds = time.perf_counter() - began
        if seconds > _LONG_SECONDS:
            self._size = max(1, size // 2)
        elif seconds < _SHORT_SECONDS:
            self._size = min(self._largest, size * 2)
        return result


class Cancellation:
    """Tells the thread of an import to stop. Any thread may cancel; the first reason is kept."""

    def __init__(self, require: Callable[[], object] = lambda: None) -> None:
        """`require` is called by `check` as well, and can raise to stop: the service is in maintenance, for example."""
        self._require = require
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._reason: Problem | None = None
        self._callbacks: list[Callable[[], object]] = []

    def cancel(self, reason: Problem) -> None:
        """Let `check` and `sleep` raise `reason`, and run the callbacks of `calling`."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            callbacks = list(self._callbacks)
        self._event.set()
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise the reason if the import was canceled. Called before every batch."""
        if self._reason is not None:
            raise self._reason
        self._require()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises the reason as soon as the import is canceled."""
        self._event.wait(seconds)
        self.check()

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Run `callback` once if the import is canceled in this context, for example to end a child process."""
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.check()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)
