"""Server-sent events: a response that stays open and gets messages until the client leaves or the server stops.

The format is that of the HTML standard (https://html.spec.whatwg.org/multipage/server-sent-events.html). A browser
connects again by itself, and then sends the id of the last message that it got.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

DRAINING = "waypost.draining"
"""Key in the scope of a request that is set when its server stops: a response without an end must end."""
_LIFE_SECONDS = 300.0  # then the client connects again, and its session is checked again
_CHECK_SECONDS = 1.0
_SILENT_CHECKS = 15  # then a comment tells proxies that the connection is alive
_RETRY_MILLISECONDS = 1000
_HEADERS = {"X-Accel-Buffering": "no"}  # nginx must pass on each message at once
Subscription = Callable[[], AbstractAsyncContextManager[asyncio.Queue[str]]]


def message(event: str, data: str, *, id: int) -> str:
    """Return a message. `id` is where a client continues that connects again."""
    lines = "".join(f"data: {line}\n" for line in data.splitlines() or [""])
    return f"id: {id}\nevent: {event}\n{lines}\n"


class EventStream(Response):
    """Sends the messages of a queue, which `subscribe` fills while the response runs."""

    media_type = "text/event-stream"

    def __init__(self, subscribe: Subscription) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._subscribe = subscribe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._subscribe() as queue:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            await _send(send, f"retry: {_RETRY_MILLISECONDS}\n\n")
            left = asyncio.ensure_future(_disconnected(receive))
            try:
                await _send_messages(queue, send, lambda: left.done() or scope.get(DRAINING, False))
                if not left.done():
                    await send({"type": "http.response.body", "body": b""})
            finally:
                left.cancel()


async def _send_messages(queue: asyncio.Queue[str], send: Send, is_over: Callable[[], bool]) -> None:
    """Send messages, and a comment after a while without any, until the client left or the life of the stream ends."""
    loop = asyncio.get_running_loop()
    end, silent = loop.time() + _LIFE_SECONDS, 0
    while loop.time() < end and not is_over():
        text = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                text = await queue.get()
        silent = 0 if text else silent + 1
        if text or silent == _SILENT_CHECKS:
            await _send(send, text or ":\n\n")
            silent = 0


async def _send(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
