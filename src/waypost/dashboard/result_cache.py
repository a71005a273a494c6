"""A cache of statistics that visitors may read: it bounds what they cost, however often they ask."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from waypost.errors import Kind, Problem

T = TypeVar("T")
LIFE_SECONDS = 60
_MAX_ENTRIES = 512
_MAX_RUNNING = 2
_WAIT_SECONDS = 2.0


class ResultCache:
    """Results by key, for a minute. Thread-safe; one for each process.

    Few results are computed at the same time, so that visitors leave threads and connections to users.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._running = threading.BoundedSemaphore(_MAX_RUNNING)

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of a key; `compute` it if it is not known. Raises UNAVAILABLE if too many are computed."""
        if (entry := self._find(key)) is not None:
            return entry[1]  # type: ignore[no-any-return]  # the key determines the type
        if not self._running.acquire(timeout=_WAIT_SECONDS):
            raise Problem(Kind.UNAVAILABLE, "This service is busy right now. Please try again.", retry_after=5)
        try:
            if (entry := self._find(key)) is not None:  # another thread has computed it
                return entry[1]  # type: ignore[no-any-return]
            result = compute()
        finally:
            self._running.release()
        with self._lock:
            self._entries[key] = (time.monotonic() + LIFE_SECONDS, result)
            self._entries.move_to_end(key)
            if len(self._entries) > _MAX_ENTRIES:
                self._entries.popitem(last=False)
        return result

    def _find(self, key: Hashable) -> tuple[float, Any] | None:
        with self._lock:
            entry = self._entries.get(key)
        return entry if entry is not None and time.monotonic() < entry[0] else None
