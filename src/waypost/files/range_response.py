"""The bytes of a file on their way: whole, in part or in several parts, with what was not sent given back."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.errors import Problem
from waypost.files.ranges import Part
from waypost.http.sendfile import ABORT, STALL, ZERO_COPY
from waypost.storage.store import Blob, Missing

_log = structlog.get_logger("download")
_LEAST_STEP = 16 * 1024 * 1024


def step_of(size: int) -> int:
    """How many bytes of a file are taken from a claim at once: so few steps that they cost nothing."""
    return max(_LEAST_STEP, size // 16)


@dataclass(frozen=True)
class ByteBudget:
    """What may be sent: `granted` bytes already; `more` asks for that many others, `unsent` gives some back."""

    granted: int
    more: Callable[[int], Awaitable[bool]]
    unsent: Callable[[int], Awaitable[None]]


class RangeResponse(Response):
    """Parts of an open object. Closes it."""

    def __init__(
        self,
        blob: Blob,
        size: int,
        parts: Sequence[Part],
        *,
        allowance: ByteBudget,
        headers: dict[str, str],
        stall: int,
    ) -> None:
        whole = len(parts) == 1 and parts[0] == Part(0, size)
        super().__init__(status_code=200 if whole else 206, headers=headers)
        self._blob = blob
        self._parts = parts
        self._step = step_of(size)
        self._allowance = allowance
        self._left = allowance.granted
        self._stall = stall
        self._heads = [b""] * len(parts)
        self._tail = b""
        if len(parts) > 1:
            self._divide(size, headers["Content-Type"])
        elif not whole:
            self.headers["Content-Range"] = f"bytes {parts[0].start}-{parts[0].end - 1}/{size}"
        length = sum(part.size for part in parts) + sum(map(len, self._heads)) + len(self._tail)
        self.headers["Content-Length"] = str(length)

    def _divide(self, size: int, kind: str) -> None:
        """Several parts are a document of several parts (RFC 9110, section 14.6)."""
        boundary = secrets.token_hex(16)
        self.headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
        self._heads = [
            f"\r\n--{boundary}\r\nContent-Type: {kind}\r\n"
            f"Content-Range: bytes {part.start}-{part.end - 1}/{size}\r\n\r\n".encode()
            for part in self._parts
        ]
        self._tail = f"\r\n--{boundary}--\r\n".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for head, part in zip(self._heads, self._parts, strict=True):
                if head:
                    await send({"type": "http.response.body", "body": head, "more_body": True})
                if not await self._send_part(part, scope, send, gone):
                    await _break_off(scope, send, gone)
                    return
            await send({"type": "http.response.body", "body": self._tail, "more_body": False})
        finally:
            gone.cancel()
            self._blob.close()
            if self._left:
                await asyncio.shield(asyncio.ensure_future(self._allowance.unsent(self._left)))

    async def _send_part(self, part: Part, scope: Scope, send: Send, gone: asyncio.Task[None]) -> bool:
        """Whether all of it went out."""
        place = part.start
        copies = self._blob.file is not None and ZERO_COPY in scope.get("extensions", {})
        while place < part.end and not gone.done():
            if not self._left:
                wanted = min(self._step, part.end - place)
                if not await self._allowance.more(wanted):
                    return False
                self._left = wanted
            end = min(part.end, place + self._left)
            if copies:
                order = {"type": ZERO_COPY, "file": self._blob.file, "offset": place, "count": end - place}
                await send({**order, STALL: self._stall, "more_body": True})
                self._left -= end - place
                place = end
            else:
                sent = await self._send_read(place, end, send, gone)
                if not sent:
                    return False
                place += sent
        return place == part.end

    async def _send_read(self, start: int, end: int, send: Send, gone: asyncio.Task[None]) -> int:
        """Send by reading; how many bytes went out."""
        sent = 0
        try:
            async for chunk in self._blob.read(start, end):
                async with asyncio.timeout(self._stall):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                sent += len(chunk)
                self._left -= len(chunk)
                if gone.done():
                    break
        except (Missing, Problem, TimeoutError) as error:
            _log.warning("a download ends early", reason=repr(error))
            return 0
        return sent


async def _break_off(scope: Scope, send: Send, gone: asyncio.Task[None]) -> None:
    if not gone.done() and ABORT in scope.get("extensions", {}):
        await send({"type": ABORT})


async def _gone(receive: Receive) -> None:
    """Return when the visitor is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
