"""A database whose reads of names and writes of visits can be counted, paused and failed."""

import threading
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from waypost.core.errors import unavailable
from waypost.db.database import Database, Durability
from waypost.db.statements import DriverSelect

T = TypeVar("T")


class ObservedDatabase(Database):
    """Observes reads with autocommit, which read names, and writes of durability `process`, which take clicks."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.name_reads = 0
        self.click_writes = 0
        self.is_failing = False
        self.resume = threading.Event()
        self.resume.set()

    def event_loop_reader(self, select: DriverSelect) -> None:
        """Without it all reads are those of threads."""

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False, timeout: float | None = None) -> T:
        if not autocommit:
            return super().read(work, timeout=timeout)
        self.name_reads += 1
        return self._pause_after(lambda: super(ObservedDatabase, self).read(work, autocommit=True, timeout=timeout))

    def write(
        self,
        work: Callable[[Connection], T],
        *,
        durability: Durability = "full",
        autocommit: bool = False,
        once: bool = False,
        timeout: float | None = None,
        lock_seconds: float | None = None,
    ) -> T:
        def write() -> T:
            return super(ObservedDatabase, self).write(
                work,
                durability=durability,
                autocommit=autocommit,
                once=once,
                timeout=timeout,
                lock_seconds=lock_seconds,
            )

        if durability != "process":
            return write()
        self.click_writes += 1
        return self._pause_after(write)

    def _pause_after(self, run: Callable[[], T]) -> T:
        if self.is_failing:
            raise unavailable()
        result = run()
        assert self.resume.wait(30)
        return result
