"""The imports that run in this process: a few work at a time, and those that wait for another server block none."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from waypost.core.errors import Kind, Problem
from waypost.transfer.imports.cancellation import Cancellation
from waypost.transfer.imports.plans import canceled
from waypost.transfer.imports.sources.rate_limits import Patience

_MAX_WORKING = 8
_MAX_RUNNING = 32
_POLL_SECONDS = 1.0


class Job:
    """An import in the background. It works in a turn, and gives the turn back while it waits for another server."""

    def __init__(self, require: Callable[[], object]) -> None:
        """`require` is called before every batch, and can raise to stop."""
        self.cancellation = Cancellation(require)
        self.patience = Patience()
        self.plan = 0
        self.is_waiting = False
        self._has_turn = False

    @contextmanager
    def working(self) -> Iterator[None]:
        """Wait for a turn, and take it. Raises the reason if the import is canceled."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Give the turn to another import in this context. Raises the reason if the import is canceled."""
        self._give()
        self.is_waiting = True
        try:
            yield
        finally:
            self.is_waiting = False
            self._take()

    def _take(self) -> None:
        self.cancellation.check()
        while not _turns.acquire(timeout=_POLL_SECONDS):
            self.cancellation.check()
        self._has_turn = True

    def _give(self) -> None:
        if self._has_turn:
            self._has_turn = False
            _turns.release()


class Jobs:
    """The running imports of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Job] = set()

    def add(self, job: Job) -> None:
        """Add an import. If too many run, it replaces the one whose server has kept it waiting for the longest time.

        Raises UNAVAILABLE if none of them waits for another server.
        """
        with self._lock:
            if len(self._running) >= _MAX_RUNNING:
                waiting = [other for other in self._running if other.is_waiting]
                if not waiting:
                    message = "Other imports are running. Please try again later."
                    raise Problem(Kind.UNAVAILABLE, message, retry_after=60)
                slowest = max(waiting, key=lambda other: other.patience.spent)
                slowest.cancellation.cancel(_too_slow())
                self._running.discard(slowest)
            self._running.add(job)

    def remove(self, job: Job) -> None:
        """Remove an import that has ended."""
        with self._lock:
            self._running.discard(job)

    def cancel(self, plan: int) -> None:
        """Cancel the import with this plan at once, if it runs in this process."""
        with self._lock:
            canceled_jobs = [job for job in self._running if job.plan == plan]
        for job in canceled_jobs:
            job.cancellation.cancel(canceled())


def _too_slow() -> Problem:
    message = "The other server was slow, and more imports waited than this service can run. Please try again later."
    return Problem(Kind.UNAVAILABLE, message)


_turns = threading.BoundedSemaphore(_MAX_WORKING)
running = Jobs()
