"""The pace of batches: as large as other writers can wait for. On SQLite they queue, and write between two batches."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

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
