"""The threads that run API requests: few at a time, because they compete for the interpreter's lock."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")
_TURNS = 2
_TURN_SECONDS = 0.05
_MAX_THREADS = 40


class RequestThreads:
    """Runs the requests of one event loop, two at a time.

    A request that takes longer than 50 ms waits for something else than the interpreter, such as a statement, the
    ingester or another server. It continues, and the next request begins: so two slow ones do not delay all others.
    At most 40 threads run at the same time.
    """

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_TURNS)
        self._limiter = anyio.CapacityLimiter(_MAX_THREADS)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result."""
        await self._turns.acquire()
        is_released = False

        def release() -> None:
            nonlocal is_released
            if not is_released:
                is_released = True
                self._turns.release()

        timer = asyncio.get_running_loop().call_later(_TURN_SECONDS, release)
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            timer.cancel()
            release()
