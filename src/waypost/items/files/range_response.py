"""Response with a stored object: whole, one range or several (RFC 9110, section 14).

Bytes that were not sent are given back.
"""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from waypost.core.errors import Problem
from waypost.http.delivery import BEGIN_DELIVERY, Delivery
from waypost.http.sendfile import ABORT, IDLE_TIMEOUT, ZERO_COPY
from waypost.items.files.download_grants import DownloadEnd
from waypost.storage.store import Blob, ObjectNotFound

_MAX_RANGES = 16
_MAX_DIGITS = 18
_RANGE = re.compile(r"(\d*)-(\d*)\Z", re.ASCII)
_log = structlog.get_logger("download")
_MIN_STEP = 16 * 1024 * 1024
_finishing: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class ByteRange:
    """The bytes from `start` up to, but not including, `end`."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


class Unsatisfiable(Exception):
    """All ranges are beyond the end of the file: status 416."""


def parse_range(header: str, size: int) -> Sequence[ByteRange] | None:
    """Return the ranges of a Range header in its order; None for the whole file, also if the header is invalid.

    Overlapping ranges are merged. More than 16 count as invalid: they can be used for attacks. Raises Unsatisfiable.
    """
    unit, _, value = header.partition("=")
    if unit.strip().lower() != "bytes":
        return None
    parsed = []
    specs = [spec.strip() for spec in value.split(",")]
    for spec in filter(None, specs):
        match = _RANGE.match(spec)
        if match is None or spec == "-":
            return None
        first, last = _number(match[1]), _number(match[2])
        if first is None:
            start, end = max(0, size - (last or 0)), size
        elif last is not None and last < first:
            return None
        else:
            start, end = first, size if last is None else min(size, last + 1)
        if start < end:
            parsed.append(ByteRange(start, end))
    if not parsed:
        if any(specs):
            raise Unsatisfiable
        return None
    return _merged(parsed) if len(parsed) <= _MAX_RANGES else None


def _number(digits: str) -> int | None:
    """Return the number, or one that is larger than every file for very many digits; None for no digits."""
    significant = digits.lstrip("0")
    return (int(significant or "0") if len(significant) <= _MAX_DIGITS else 10**_MAX_DIGITS) if digits else None


def _merged(ranges: Sequence[ByteRange]) -> Sequence[ByteRange]:
    """Return the ranges in their order. If some overlap, return them merged and sorted (RFC 9110, section 15.3.7.2)."""
    in_order = sorted(ranges, key=lambda byte_range: byte_range.start)
    merged = in_order[:1]
    for following in in_order[1:]:
        last = merged[-1]
        if following.start < last.end:
            merged[-1] = ByteRange(last.start, max(last.end, following.end))
        else:
            merged.append(following)
    return ranges if len(merged) == len(ranges) else merged


def budget_step(size: int) -> int:
    """Return how many bytes of a file are taken from a grant at a time: few steps, so that they cost little."""
    return max(_MIN_STEP, size // 16)


@dataclass(frozen=True)
class ByteBudget:
    """Bytes that may be sent: `granted` at once, more if `more(count)` allows it. `finish` gives the rest back."""

    granted: int
    more: Callable[[int], Awaitable[bool]]
    finish: Callable[[DownloadEnd], Coroutine[Any, Any, None]]


class RangeResponse(Response):
    """Ranges of an open object, or None for all of it; it is closed at the end.

    `idle_timeout`: seconds without progress.
    """

    def __init__(
        self,
        blob: Blob,
        size: int,
        ranges: Sequence[ByteRange] | None,
        *,
        budget: ByteBudget,
        headers: dict[str, str],
        idle_timeout: int,
    ) -> None:
        super().__init__(status_code=200 if ranges is None else 206, headers=headers)
        parts = [ByteRange(0, size)] if ranges is None else ranges
        self._blob = blob
        self._ranges = parts
        self._step = budget_step(size)
        self._budget = budget
        self._granted = self._left = budget.granted
        self._idle_timeout = idle_timeout
        self._part_headers = [b""] * len(parts)
        self._trailer = b""
        if len(parts) > 1:
            self._set_multipart(size, headers["Content-Type"])
        elif ranges is not None:
            self.headers["Content-Range"] = f"bytes {parts[0].start}-{parts[0].end - 1}/{size}"
        overhead = sum(map(len, self._part_headers)) + len(self._trailer)
        self.headers["Content-Length"] = str(sum(part.size for part in parts) + overhead)

    def _set_multipart(self, size: int, content_type: str) -> None:
        """Several ranges are sent as a multipart document (RFC 9110, section 14.6)."""
        boundary = secrets.token_hex(16)
        self.headers["Content-Type"] = f"multipart/byteranges; boundary={boundary}"
        self._part_headers = [
            f"\r\n--{boundary}\r\nContent-Type: {content_type}\r\n"
            f"Content-Range: bytes {part.start}-{part.end - 1}/{size}\r\n\r\n".encode()
            for part in self._ranges
        ]
        self._trailer = f"\r\n--{boundary}--\r\n".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        disconnected = asyncio.create_task(_wait_for_disconnect(receive))
        begin = scope.get("extensions", {}).get(BEGIN_DELIVERY)
        delivery: Delivery | None = begin() if begin else None
        is_written = False
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for header, part in zip(self._part_headers, self._ranges, strict=True):
                if header:
                    await send({"type": "http.response.body", "body": header, "more_body": True})
                if not await self._send_range(part, scope, send, disconnected):
                    await _abort(scope, send, disconnected)
                    return
            await send({"type": "http.response.body", "body": self._trailer, "more_body": False})
            is_written = True
        finally:
            disconnected.cancel()
            self._blob.close()
            if is_written and delivery is not None:
                self._watch(delivery)
            await asyncio.shield(self._finish(delivery, is_broken=not is_written))
            if not is_written and delivery is not None:
                delivery.close()

    def _watch(self, delivery: Delivery) -> None:
        """Finish again if the client does not take the whole response."""
        size = self._granted - self._left
        delivery.watch(size, lambda: self._finish(delivery, is_broken=True))

    def _finish(self, delivery: Delivery | None, *, is_broken: bool) -> asyncio.Task[None]:
        """Give the bytes back that did not leave this machine. Those that left it count, even if they were not read."""
        measured = delivery.measure() if delivery is not None and is_broken else None
        sent = self._granted - self._left
        unsent, unread = self._left, 0
        if measured is not None:
            unsent += max(0, sent - measured.sent)
            unread = min(sent, measured.window)
        self._granted, self._left = self._granted - unsent, 0
        task = asyncio.ensure_future(
            self._budget.finish(DownloadEnd(unsent, unread, self._granted - unread, is_broken))
        )
        _finishing.add(task)
        task.add_done_callback(_finishing.discard)
        return task

    async def _send_range(self, part: ByteRange, scope: Scope, send: Send, disconnected: asyncio.Task[None]) -> bool:
        """Return whether the whole range was sent."""
        position = part.start
        is_zero_copy = self._blob.file is not None and ZERO_COPY in scope.get("extensions", {})
        while position < part.end and not disconnected.done():
            if not self._left:
                step = min(self._step, part.end - position)
                if not await self._budget.more(step):
                    return False
                self._left = step
                self._granted += step
            end = min(part.end, position + self._left)
            if is_zero_copy:
                message = {"type": ZERO_COPY, "file": self._blob.file, "offset": position, "count": end - position}
                await send({**message, IDLE_TIMEOUT: self._idle_timeout, "more_body": True})
                self._left -= end - position
                position = end
            else:
                sent = await self._send_chunks(position, end, send, disconnected)
                if not sent:
                    return False
                position += sent
        return position == part.end

    async def _send_chunks(self, start: int, end: int, send: Send, disconnected: asyncio.Task[None]) -> int:
        """Read and send bytes; return how many were sent."""
        sent = 0
        try:
            async for chunk in self._blob.read(start, end):
                async with asyncio.timeout(self._idle_timeout):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                sent += len(chunk)
                self._left -= len(chunk)
                if disconnected.done():
                    break
        except (ObjectNotFound, Problem, TimeoutError) as error:
            _log.warning("download interrupted", reason=repr(error))
            return 0
        return sent


async def _abort(scope: Scope, send: Send, disconnected: asyncio.Task[None]) -> None:
    if not disconnected.done() and ABORT in scope.get("extensions", {}):
        await send({"type": ABORT})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
