"""Threads of API requests: two at a time, and slow requests do not delay others."""

import gc
import threading

import anyio
import pytest

from waypost.api import threads
from waypost.api.threads import RequestThreads


class _Requests:
    """Requests that wait until `finish` is set, and the number of those that have begun."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.finish = threading.Event()
        self.running = self.most = 0
        self._lock = threading.Lock()

    def work(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.began.release()
        assert self.finish.wait(30)
        with self._lock:
            self.running -= 1

    async def run(self, runner: RequestThreads, count: int, *, expected: int) -> None:
        """Send requests, and let them finish when the expected number has begun."""

        def wait() -> None:
            assert all(self.began.acquire(timeout=30) for _ in range(expected))
            self.finish.set()

        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(runner.run, self.work)
            await anyio.to_thread.run_sync(wait)


def test_parallel_requests_run_two_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_TURN_SECONDS", 60.0)

    async def main() -> list[int]:
        runner, most = RequestThreads(), []
        for _ in range(2):
            requests = _Requests()
            await requests.run(runner, 6, expected=2)
            most.append(requests.most)
        return most

    assert anyio.run(main) == [2, 2]


def test_slow_requests_let_others_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_TURN_SECONDS", 0.001)

    async def main() -> int:
        requests = _Requests()
        await requests.run(RequestThreads(), 10, expected=10)
        return requests.most

    assert anyio.run(main) == 10


def test_failed_request_ends_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_TURN_SECONDS", 60.0)

    def fail() -> None:
        raise ValueError("a failure")

    async def main() -> None:
        runner = RequestThreads()
        for _ in range(3):
            with pytest.raises(ValueError, match="a failure"):
                await runner.run(fail)

    anyio.run(main)


def test_cancelled_request_that_waits_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_TURN_SECONDS", 60.0)
    ran: list[str] = []

    async def main() -> None:
        runner, requests = RequestThreads(), _Requests()
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(runner.run, requests.work)
            await anyio.to_thread.run_sync(lambda: [requests.began.acquire(timeout=30) for _ in range(2)])
            with anyio.move_on_after(0.01):
                await runner.run(lambda: ran.append("cancelled"))
            requests.finish.set()
        await runner.run(lambda: ran.append("later"))

    anyio.run(main)
    assert ran == ["later"]


def test_threads_end_with_their_event_loop() -> None:
    async def main() -> threading.Thread:
        return await RequestThreads().run(threading.current_thread)

    thread = anyio.run(main)
    gc.collect()
    thread.join(timeout=30)
    assert not thread.is_alive()
