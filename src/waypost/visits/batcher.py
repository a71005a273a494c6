"""Collect the requests of one turn of the event loop, and run one function for all of them in a thread.

The event loop itself does the work where it can, which costs half as much: a single request that takes less than a
millisecond, or a batch that another process works on while the event loop continues.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Generic, TypeVar

import structlog

_log = structlog.get_logger("visits")
K = TypeVar("K")
V = TypeVar("V")
_Item = tuple[K, Callable[[V | BaseException], None]]
_MAX_RUNNING = 4
_SLOW_SECONDS = 0.05  # one batch at a time collects more requests; another one begins only if it takes longer
_STALL_SECONDS = 0.25
_MAX_BATCH = 500
_QUICK_SECONDS = 0.001
_SLOW_DISK_SECONDS = 1.0  # after two requests in a row that were not quick, threads do the work for so long
_MAX_WAITING = 1000


def deliver(done: Callable[[V], object], value: V) -> None:
    """Call `done`, which answers one request. If it raises, that is logged, because other requests wait behind it."""
    try:
        done(value)
    except Exception:  # noqa: BLE001  # any fault of one request
        _log.exception("a request could not be answered")


class Batcher(Generic[K, V]):
    """Runs on the event loop of one worker."""

    def __init__(
        self,
        work: Callable[[Sequence[K]], Sequence[V]],
        *,
        thread_name: str,
        is_quick: bool = False,
        start: Callable[[Sequence[K], Callable[[Sequence[V] | None], None]], bool] | None = None,
    ) -> None:
        """`work` returns a value for each of the keys, in their order. `is_quick`: it waits for nothing but a disk.

        `start` does the same without blocking: it returns False if it cannot, or calls its second argument later with
        the values, or with None if `work` must do it.
        """
        self._work = work
        self._start_without_thread = start
        self._is_quick = is_quick
        self._was_quick = True
        self._threads_until = 0.0
        self._thread_name = thread_name
        self._threads = 0
        self._batches: SimpleQueue[tuple[asyncio.AbstractEventLoop, Sequence[_Item[K, V]]] | None] = SimpleQueue()
        self._queue: list[_Item[K, V]] = []
        self._waiting = 0
        self._running = 0
        self._progress_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_overloaded(self) -> bool:
        """Return whether many requests are waiting, or the work is slow."""
        is_stalled = self._running > 0 and time.monotonic() - self._progress_at > _STALL_SECONDS
        return is_stalled or self._waiting >= _MAX_WAITING

    def submit(self, key: K, done: Callable[[V | BaseException], None]) -> None:
        """Call `done` in a later turn of the event loop, with the value or with the exception that `work` raised."""
        self._queue.append((key, done))
        self._waiting += 1
        if len(self._queue) == 1:
            asyncio.get_running_loop().call_soon(self._start)

    async def run(self, key: K) -> V:
        """Return the value for a key."""
        future: asyncio.Future[V | BaseException] = asyncio.get_running_loop().create_future()
        self.submit(key, lambda value: None if future.done() else future.set_result(value))
        value = await future
        if isinstance(value, BaseException):
            raise value
        return value

    def close(self) -> None:
        """Stop the threads."""
        for _ in range(self._threads):
            self._batches.put(None)

    def _start(self) -> None:
        """Run the queue as a batch, unless the batches in progress are fast or all threads are busy."""
        if not self._queue or self._running >= _MAX_RUNNING:
            return
        if self._is_quick and len(self._queue) == 1 and not self._running and time.monotonic() > self._threads_until:
            self._run_in_loop()
            return
        if self._running and time.monotonic() - self._progress_at < _SLOW_SECONDS:
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_SLOW_SECONDS, self._start_another)
            return
        batch, self._queue = self._queue[:_MAX_BATCH], self._queue[_MAX_BATCH:]
        if not self._running:
            self._progress_at = time.monotonic()
        self._running += 1
        start = self._start_without_thread
        if start is None or not start([key for key, _ in batch], partial(self._end, batch)):
            self._run_in_thread(batch)

    def _end(self, batch: Sequence[_Item[K, V]], values: Sequence[V] | None) -> None:
        """Deliver the values that were computed without a thread, or let a thread compute them."""
        if values is None:
            self._run_in_thread(batch)
        else:
            self._finish(batch, values)

    def _run_in_thread(self, batch: Sequence[_Item[K, V]]) -> None:
        if self._threads < self._running:
            self._threads += 1
            threading.Thread(target=self._run_batches, name=f"{self._thread_name} {self._threads}", daemon=True).start()
        self._batches.put((asyncio.get_running_loop(), batch))

    def _start_another(self) -> None:
        self._timer = None
        self._start()

    def _run_in_loop(self) -> None:
        batch, self._queue = self._queue, []
        began = time.monotonic()
        values = self._values(batch)
        was_quick, self._was_quick = self._was_quick, time.monotonic() - began < _QUICK_SECONDS
        if not was_quick and not self._was_quick:
            self._threads_until = began + _SLOW_DISK_SECONDS
        self._running += 1
        self._finish(batch, values)

    def _run_batches(self) -> None:
        """Work in a thread, and deliver the values to the event loop."""
        while (item := self._batches.get()) is not None:
            loop, batch = item
            values = self._values(batch)
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(self._finish, batch, values)

    def _values(self, batch: Sequence[_Item[K, V]]) -> Sequence[V | BaseException]:
        try:
            return self._work([key for key, _ in batch])
        except BaseException as error:  # noqa: BLE001  # every waiting request raises it
            return [error] * len(batch)

    def _finish(self, batch: Sequence[_Item[K, V]], values: Sequence[V | BaseException]) -> None:
        self._running -= 1
        self._waiting -= len(batch)
        self._progress_at = time.monotonic()
        for (_, done), value in zip(batch, values, strict=True):
            deliver(done, value)
        self._start()
