"""The threads that run API requests: few at a time, because they compete for the interpreter's lock.

Not anyio's: its queue, limiter and context for each call take a tenth of a small request.
"""

import asyncio
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

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
        self._waiting: deque[_Job] = deque()
        self._free_turns = _TURNS
        self._running = 0
        self._threads = 0
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        weakref.finalize(self, _stop, self._jobs)

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Job(self, loop, work, future))
        self._start()
        return await future

    def _start(self) -> None:
        """Begin with waiting requests, as many as there are turns and threads for."""
        while self._waiting and self._free_turns and self._running < _MAX_THREADS:
            job = self._waiting.popleft()
            if job.future.cancelled():
                continue
            self._free_turns -= 1
            self._running += 1
            job.timer = job.loop.call_later(_TURN_SECONDS, self._end_turn, job)
            if self._threads < self._running:
                self._threads += 1
                name = f"api {self._threads}"
                threading.Thread(target=_run_jobs, args=(self._jobs,), name=name, daemon=True).start()
            self._jobs.put(job)

    def _end_turn(self, job: "_Job") -> None:
        if job.has_turn:
            job.has_turn = False
            self._free_turns += 1
            self._start()

    def finish(self, job: "_Job", result: Any, error: BaseException | None) -> None:
        """Return the result of a job to its request, in the event loop."""
        self._running -= 1
        if job.timer is not None:
            job.timer.cancel()
        if not job.future.done():
            if error is None:
                job.future.set_result(result)
            else:
                job.future.set_exception(error)
        if job.has_turn:
            self._end_turn(job)
        else:
            self._start()


@dataclass(eq=False)
class _Job:
    """A request that waits or runs. With a turn, it counts as one of the two at a time."""

    threads: RequestThreads
    loop: asyncio.AbstractEventLoop
    work: Callable[[], Any]
    future: "asyncio.Future[Any]"
    has_turn: bool = True
    timer: asyncio.TimerHandle | None = field(default=None, repr=False)


def _run_jobs(jobs: "SimpleQueue[_Job | None]") -> None:
    """Work until the event loop's threads are not used any more."""
    while (job := jobs.get()) is not None:
        result, error = None, None
        try:
            result = job.work()
        except BaseException as raised:  # noqa: BLE001  # the request raises it
            error = raised
        with suppress(RuntimeError):  # the event loop has ended
            job.loop.call_soon_threadsafe(job.threads.finish, job, result, error)
        del job, result, error  # nothing of the request stays while the thread waits


def _stop(jobs: "SimpleQueue[_Job | None]") -> None:
    for _ in range(_MAX_THREADS):
        jobs.put(None)
