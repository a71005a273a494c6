"""Limits how many images are drawn at the same time, with a fair share for every network."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from waypost.core.errors import Kind, Problem

_SLOTS = 2
_MAX_WAITING = 20  # drawings of one network
_RETRY_SECONDS = 2


class ImageQueue:
    """A queue per network; the networks take turns, so that one network's requests do not delay those of another."""

    def __init__(self, slots: int = _SLOTS) -> None:
        self._free = slots
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def slot(self, network: str) -> AsyncIterator[None]:
        """Wait until a drawing of this network may start. Raises UNAVAILABLE if too many of its drawings wait."""
        if self._free and not self._queues:
            self._free -= 1
        else:
            await self._wait(network)
        try:
            yield
        finally:
            self._release()

    async def _wait(self, network: str) -> None:
        queue = self._queues.setdefault(network, deque())
        if len(queue) >= _MAX_WAITING:
            message = "Too many images are requested from your network. Please try again in a moment."
            raise Problem(Kind.UNAVAILABLE, message, retry_after=_RETRY_SECONDS)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the slot was already given to this request
            raise

    def _release(self) -> None:
        """Give the slot to the network whose turn it is, or keep it free."""
        while self._queues:
            network, queue = next(iter(self._queues.items()))
            del self._queues[network]
            turn = queue.popleft()
            if queue:
                self._queues[network] = queue  # moves it to the end: the other networks come first
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
