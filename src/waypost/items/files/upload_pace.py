"""The time limits of an upload: a client cannot keep a file open by sending single bytes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waypost.core.errors import Kind, Problem

_MIN_PROGRESS = 64 * 1024  # bytes that must arrive within the idle time
_FREE_SECONDS = 300.0
_MIN_RATE = 16 * 1024  # bytes a second on average, after the first five minutes


class UploadPace:
    """Adds up the time for which a client is waited for; time of the storage does not count."""

    def __init__(self, idle_seconds: float, *, field: str | None = None) -> None:
        """`field` is that of the problem."""
        self._idle_seconds, self._field = idle_seconds, field
        self._size = self._counted = 0
        self._waited = self._total = 0.0

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Wait for the client in this context. Raises TOO_SLOW."""
        began = time.monotonic()
        left = _FREE_SECONDS + self._size / _MIN_RATE - self._total
        try:
            async with asyncio.timeout(max(0.001, min(left, self._idle_seconds - self._waited))) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_slow() from None
        finally:
            seconds = time.monotonic() - began
            self._waited += seconds
            self._total += seconds

    def count(self, size: int) -> None:
        """Count bytes that have arrived."""
        self._size += size
        if self._size - self._counted >= _MIN_PROGRESS:
            self._counted, self._waited = self._size, 0.0

    def _too_slow(self) -> Problem:
        message = (
            f"The upload is too slow: at least {_MIN_PROGRESS} bytes must arrive every {self._idle_seconds:g} seconds,"
            f" and {_MIN_RATE} bytes a second on average."
        )
        return Problem(Kind.TOO_SLOW, message, field=self._field)
