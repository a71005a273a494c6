"""An answer that comes before the request's body has: said at once, and the connection closed only when it was heard.

Whoever closes a connection on which bytes still arrive resets it, and the reset overtakes the answer.
"""

import asyncio
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

_SECONDS = 2.0


class BodyTracker:
    """A `receive` that remembers whether anything more of the body will come.

    Who waits to be told to go on (`Expect: 100-continue`) sends nothing before somebody asks for it.
    """

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        self.is_whole = request.headers.get("expect", "").lower() == "100-continue"

    async def __call__(self) -> Message:
        message = await self._receive()
        self.is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def let_go_by(self) -> None:
        """Throw away what still comes, for a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS):
                while not self.is_whole:
                    await self()


class LingeringResponse(Response):
    """Another response, with patience for what is still being sent."""

    def __init__(self, response: Response, heard: BodyTracker) -> None:
        super().__init__(response.body, response.status_code)
        self.raw_headers = response.raw_headers
        self._heard = heard
        if response.status_code >= 400:
            self.headers["Connection"] = "close"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # `heard` is it
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        await self._heard.let_go_by()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
