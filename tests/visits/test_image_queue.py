"""The queue of images: a bounded number is drawn at the same time, and networks take turns."""

import asyncio

import pytest

from waypost.core.errors import Kind, Problem
from waypost.visits.visitor_services import ImageQueue


async def _draw(queue: ImageQueue, network: str, log: list[str], release: asyncio.Event) -> None:
    async with queue.slot(network):
        log.append(network)
        await release.wait()


def test_networks_take_turns_and_share_is_bounded() -> None:
    async def run() -> None:
        queue, log, release = ImageQueue(slots=2), list[str](), asyncio.Event()
        tasks = [asyncio.create_task(_draw(queue, "hostile", log, release)) for _ in range(22)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(_draw(queue, "visitor", log, release)) for _ in range(2)]
        await asyncio.sleep(0)
        assert log == ["hostile", "hostile"]
        with pytest.raises(Problem) as refused:
            await _draw(queue, "hostile", log, release)
        assert (refused.value.kind, refused.value.retry_after) == (Kind.UNAVAILABLE, 2)
        release.set()
        await asyncio.gather(*tasks)
        assert log[:6] == ["hostile", "hostile", "hostile", "visitor", "hostile", "visitor"]
        async with queue.slot("visitor"), queue.slot("visitor"):
            log.append("free")

    asyncio.run(asyncio.wait_for(run(), 10))


def test_canceled_requests_return_their_slots() -> None:
    async def run() -> None:
        queue, log, release = ImageQueue(slots=1), list[str](), asyncio.Event()
        tasks = [asyncio.create_task(_draw(queue, name, log, release)) for name in "abcd"]
        await asyncio.sleep(0)
        for task in tasks[:3]:
            task.cancel()
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert log == ["a", "d"]
        async with queue.slot("e"):
            log.append("e")

    asyncio.run(asyncio.wait_for(run(), 10))
