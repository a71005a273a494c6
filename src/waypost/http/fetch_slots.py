"""Slots for requests to other servers: a server that answers slowly holds few of the threads that serve requests."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from waypost.core.errors import Kind, Problem

MAX_OF_ACCOUNT = 4
_MAX = 20  # half of the threads of the API
_RETRY_SECONDS = 5


class FetchSlots:
    """Counts the requests that wait for other servers in a process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()

    @contextmanager
    def hold(self, account: int) -> Iterator[None]:
        """Hold a slot for the block. Raises RATE_LIMITED if its account, UNAVAILABLE if all, hold too many."""
        with self._lock:
            if self._waiting[account] >= MAX_OF_ACCOUNT:
                message = f"{MAX_OF_ACCOUNT} requests of this account wait for other servers. Try again after them."
                raise Problem(Kind.RATE_LIMITED, message, retry_after=_RETRY_SECONDS)
            if self._waiting.total() >= _MAX:
                message = "Too many requests wait for other servers right now. Please try again."
                raise Problem(Kind.UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
            self._waiting[account] += 1
        try:
            yield
        finally:
            with self._lock:
                self._waiting[account] -= 1
                self._waiting += Counter()  # without accounts that wait for nothing
