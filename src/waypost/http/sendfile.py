"""Sending a file without reading it: the kernel copies it into the connection (ASGI's zero-copy-send extension).

uvicorn has no such thing, and uvloop no `sendfile`, so it is done beside them on a second descriptor of the socket.
That is safe because nobody else writes to a connection while its answer is under way, and what was written before is
gone before this begins.
"""

import asyncio
import os
import select
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ZERO_COPY = "http.response.zerocopysend"
ABORT = "waypost.response.break_off"
"""A message that ends a connection in the middle of an answer, so that nobody takes a part for the whole."""
STALL = "waypost.stall_seconds"
"""Where in a zero-copy message it says after how many seconds without progress the reader is given up."""
_SLICE_SECONDS = 0.05  # that a thread stays with one fast reader before the others get their turn
_POLL_MS = 5
_SLOW_SECONDS = 0.01
_LITTLE = 256 * 1024  # bytes that take no time worth mentioning
_AHEAD = 1 << 20  # bytes that the kernel is asked to have ready for a slow reader
_MOST = 1 << 30  # bytes: what every kernel takes at once


class SendfileAdapter:
    """Around one request: the application with a `send` that knows two more kinds of messages."""

    def __init__(self, app: ASGIApp, cycle: Any, transport: Any, threads: ThreadPoolExecutor) -> None:
        self._app = app
        self._cycle = cycle
        self._transport = transport
        self._threads = threads
        self._socket = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        plain = scope["scheme"] == "http" and self._transport.get_extra_info("socket") is not None
        scope["extensions"] = {ABORT: {}, **({ZERO_COPY: {}} if plain else {})}

        async def more(message: Message) -> None:
            if message["type"] == ZERO_COPY:
                await self._copy(message["file"], message["offset"], message["count"], message[STALL])
            elif message["type"] == ABORT:
                self._give_up()
            else:
                await send(message)

        try:
            await self._app(scope, receive, more)
        finally:
            if self._socket >= 0:
                os.close(self._socket)

    async def _copy(self, file: IO[bytes], offset: int, count: int, stall: float) -> None:
        """Send `count` bytes from `offset` on, or as many as the reader takes before it is gone."""
        if self._cycle.disconnected:
            return
        loop = asyncio.get_running_loop()
        try:
            if self._socket < 0:
                await self._drained(stall)
                self._socket = os.dup(self._transport.get_extra_info("socket").fileno())
            slow = False
            while count and not self._cycle.disconnected:
                order = (self._socket, file.fileno(), offset, count)
                # A slow reader takes little and often: that is not worth a thread, and what it takes is in memory.
                sent = _push_a_little(*order) if slow else await loop.run_in_executor(self._threads, _push, *order)
                offset, count = offset + sent, count - sent
                self._cycle.expected_content_length -= sent
                if count:
                    os.posix_fadvise(file.fileno(), offset, min(count, _AHEAD), os.POSIX_FADV_WILLNEED)
                    began = time.monotonic()
                    await self._writable(loop, stall)
                    slow = time.monotonic() - began > _SLOW_SECONDS
        except (OSError, EOFError):  # TimeoutError is one of the first
            self._give_up()

    async def _drained(self, stall: float) -> None:
        """Wait until what was written before, the headers at least, is with the kernel."""
        deadline = time.monotonic() + stall
        while self._transport.get_write_buffer_size():
            if time.monotonic() > deadline:
                raise TimeoutError
            await asyncio.sleep(0.001)

    async def _writable(self, loop: asyncio.AbstractEventLoop, stall: float) -> None:
        ready = asyncio.Event()
        loop.add_writer(self._socket, ready.set)
        try:
            async with asyncio.timeout(stall):
                await ready.wait()
        finally:
            loop.remove_writer(self._socket)

    def _give_up(self) -> None:
        self._cycle.disconnected = True
        self._transport.abort()


def _push(to: int, file: int, offset: int, count: int) -> int:
    """Hand bytes to the kernel for a moment, as long as the reader takes them; how many. Runs in a thread."""
    sent = 0
    until = time.monotonic() + _SLICE_SECONDS
    poll = select.poll()
    poll.register(to, select.POLLOUT)
    while sent < count and time.monotonic() < until:
        try:
            taken = os.sendfile(to, file, offset + sent, min(count - sent, _MOST))
        except BlockingIOError:
            if not poll.poll(_POLL_MS):
                break
            continue
        if not taken:
            raise EOFError  # the file is shorter than it was
        sent += taken
    return sent


def _push_a_little(to: int, file: int, offset: int, count: int) -> int:
    """Hand a few bytes to the kernel, which has read them already; how many it took."""
    try:
        taken = os.sendfile(to, file, offset, min(count, _LITTLE))
    except BlockingIOError:
        return 0
    if not taken:
        raise EOFError
    return taken
