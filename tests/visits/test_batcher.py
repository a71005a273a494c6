"""Batches of requests: in the event loop while they are quick, else in threads."""

import asyncio
import threading
import time
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from waypost.visits import batcher
from waypost.visits.batcher import Batcher


def _threads(keys: Sequence[float]) -> list[int]:
    """Wait for as many seconds as each key says; return the thread for each."""
    time.sleep(sum(keys))
    return [threading.get_ident()] * len(keys)


def test_quick_requests_run_in_the_event_loop_until_two_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(batcher, "time", SimpleNamespace(monotonic=lambda: now))
    slow, quick = batcher._QUICK_SECONDS * 2, 0.0

    def work(keys: Sequence[float]) -> list[int]:
        nonlocal now
        now += sum(keys)
        return [threading.get_ident()] * len(keys)

    async def main() -> list[bool]:
        nonlocal now
        batches = Batcher(work, thread_name="test", is_quick=True)
        seconds = [quick, slow, quick, slow, slow, quick, quick]
        in_loop = [await batches.run(key) == threading.get_ident() for key in seconds]
        now += batcher._SLOW_DISK_SECONDS * 2
        in_loop.append(await batches.run(quick) == threading.get_ident())
        batches.close()
        return in_loop

    assert asyncio.run(main()) == [True, True, True, True, True, False, False, True]


def test_several_requests_of_one_turn_run_in_a_thread() -> None:
    async def main() -> set[int]:
        batches = Batcher(_threads, thread_name="test", is_quick=True)
        threads = await asyncio.gather(*(batches.run(0.0) for _ in range(3)))
        batches.close()
        return {*threads, threading.get_ident()}

    assert len(asyncio.run(main())) == 2


def test_requests_that_can_wait_long_never_run_in_the_event_loop() -> None:
    async def main() -> int:
        batches = Batcher(_threads, thread_name="test")
        thread = await batches.run(0.0)
        batches.close()
        return thread

    assert asyncio.run(main()) != threading.get_ident()


def test_failure_in_the_event_loop_is_raised_by_its_request() -> None:
    def fail(_keys: Sequence[int]) -> list[int]:
        raise ValueError("a failure")

    async def main() -> None:
        batches = Batcher(fail, thread_name="test", is_quick=True)
        with pytest.raises(ValueError, match="a failure"):
            await batches.run(1)

    asyncio.run(main())


def _fail(_value: object) -> None:
    raise ZeroDivisionError


@pytest.mark.parametrize("in_thread", [False, True])
def test_fault_of_one_request_leaves_the_others_their_values(in_thread: bool) -> None:  # noqa: FBT001  # a case
    async def main() -> list[int]:
        batches = Batcher[int, int](list, thread_name="test", is_quick=not in_thread)
        values: list[int] = []
        batches.submit(1, _fail)
        others = [batches.run(key) for key in (2, 3)]
        values += await asyncio.wait_for(asyncio.gather(*others), 20)
        values.append(await asyncio.wait_for(batches.run(4), 20))
        batches.close()
        return values

    assert asyncio.run(main()) == [2, 3, 4]
