"""Lingering close: respond before the request's body has arrived, and close the connection only after that.

Closing a connection on which data still arrives resets it, and the reset can destroy the response.
"""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

_DRAIN_SECONDS = 30
_STEP_SECONDS = 2
_STEP_BYTES = 8 * 1024  # a client that sends less in a step has paused


class BodyTracker:
    """A `receive` that records whether more of the body will arrive.

    A client that sent `Expect: 100-continue` sends no body before the application reads it.
    """

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        self.is_complete = request.headers.get("expect", "").lower() == "100-continue"

    async def __call__(self) -> Message:
        message = await self._receive()
        self.is_complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Discard the rest of the body until it ends or pauses, for 30 seconds at most.

        Some clients, such as browsers and Java programs, read the response only after they sent everything.
        """
        for _ in range(_DRAIN_SECONDS // _STEP_SECONDS):
            received = 0
            with suppress(TimeoutError):
                async with asyncio.timeout(_STEP_SECONDS):
                    while not self.is_complete:
                        received += len((await self()).get("body", b""))
            if self.is_complete or received < _STEP_BYTES:
                return


class LingeringResponse(Response):
    """Wraps a response: its end is sent after the request's body has arrived."""

    def __init__(self, response: Response, body: BodyTracker) -> None:
        super().__init__(response.body, response.status_code)
        self.raw_headers = response.raw_headers
        self._request_body = body
        if response.status_code >= 400:
            self.headers["Connection"] = "close"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # the tracker replaces `receive`
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        await self._request_body.drain()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
