"""Send files with sendfile(2): the kernel copies them to the socket (ASGI's zero-copy-send extension).

uvicorn does not implement the extension, and uvloop has no `sendfile`, so this module writes to a duplicate of the
socket. That is safe: nothing else writes to a connection during its response, and the write buffer is empty before.
"""

import asyncio
import os
import select
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from waypost.http.delivery import BEGIN_DELIVERY, Delivery

ZERO_COPY = "http.response.zerocopysend"
ABORT = "waypost.response.abort"
"""A message that closes a connection in the middle of a response, so that clients notice the missing part."""
IDLE_TIMEOUT = "waypost.idle_timeout"
"""Key of a zero-copy message: seconds without progress after which the connection is closed."""
_SLICE_SECONDS = 0.05  # seconds that a thread serves one fast client before the next
_POLL_MS = 5
_SLOW_SECONDS = 0.01
_SMALL_BYTES = 256 * 1024  # sent on the event loop, because it takes almost no time
_READAHEAD_BYTES = 1 << 20  # bytes that the kernel reads in advance for a slow client
_MAX_SENDFILE_BYTES = 1 << 30  # the most that every kernel accepts in one call


class SendfileAdapter:
    """Wraps the application for one request: its `send` accepts ZERO_COPY and ABORT messages.

    `begin_delivery` starts to watch whether the client takes the response.
    """

    def __init__(
        self,
        app: ASGIApp,
        cycle: Any,
        transport: Any,
        threads: ThreadPoolExecutor,
        begin_delivery: Callable[[], Delivery | None],
    ) -> None:
        self._app = app
        self._cycle = cycle
        self._transport = transport
        self._threads = threads
        self._begin_delivery = begin_delivery
        self._socket = -1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_plain = scope["scheme"] == "http" and self._transport.get_extra_info("socket") is not None
        zero_copy: dict[str, Any] = {ZERO_COPY: {}} if is_plain else {}
        scope["extensions"] = {ABORT: {}, BEGIN_DELIVERY: self._begin_delivery, **zero_copy}

        async def extended_send(message: Message) -> None:
            if message["type"] == ZERO_COPY:
                await self._copy(message["file"], message["offset"], message["count"], message[IDLE_TIMEOUT])
            elif message["type"] == ABORT:
                self._abort()
            else:
                await send(message)
                if message["type"] == "http.response.body":
                    self._cycle.transport.flush()  # headers without a body

        try:
            await self._app(scope, receive, extended_send)
        finally:
            if self._socket >= 0:
                os.close(self._socket)

    async def _copy(self, file: IO[bytes], offset: int, count: int, idle_timeout: float) -> None:
        """Send `count` bytes from `offset`, or fewer if the client disconnects or stops reading."""
        if self._cycle.disconnected:
            return
        loop = asyncio.get_running_loop()
        try:
            if self._socket < 0:
                self._cycle.transport.flush()
                await self._drain_buffer(idle_timeout)
                self._socket = os.dup(self._transport.get_extra_info("socket").fileno())
            is_slow = False
            while count and not self._cycle.disconnected:
                args = (self._socket, file.fileno(), offset, count)
                # A slow client takes small parts: they need no thread, because the kernel has read them in advance.
                sent = _send_small(*args) if is_slow else await loop.run_in_executor(self._threads, _send_slice, *args)
                offset, count = offset + sent, count - sent
                self._cycle.expected_content_length -= sent
                if count:
                    _read_ahead(file.fileno(), offset, count)
                    started = time.monotonic()
                    await self._wait_writable(loop, idle_timeout)
                    is_slow = time.monotonic() - started > _SLOW_SECONDS
        except (OSError, EOFError):  # includes TimeoutError
            self._abort()

    async def _drain_buffer(self, idle_timeout: float) -> None:
        """Wait until the kernel has everything that was written before, such as the headers."""
        deadline = time.monotonic() + idle_timeout
        while self._transport.get_write_buffer_size():
            if time.monotonic() > deadline:
                raise TimeoutError
            await asyncio.sleep(0.001)

    async def _wait_writable(self, loop: asyncio.AbstractEventLoop, idle_timeout: float) -> None:
        ready = asyncio.Event()
        loop.add_writer(self._socket, ready.set)
        try:
            async with asyncio.timeout(idle_timeout):
                await ready.wait()
        finally:
            loop.remove_writer(self._socket)

    def _abort(self) -> None:
        self._cycle.disconnected = True
        self._transport.abort()


def _read_ahead(file: int, offset: int, count: int) -> None:
    """Let the kernel read the next part in advance. Only Linux can."""
    if sys.platform == "linux":
        os.posix_fadvise(file, offset, min(count, _READAHEAD_BYTES), os.POSIX_FADV_WILLNEED)


def _send_slice(socket: int, file: int, offset: int, count: int) -> int:
    """Send for a short time, as long as the client reads; return the number of bytes. Runs in a thread."""
    sent = 0
    deadline = time.monotonic() + _SLICE_SECONDS
    poll = select.poll()
    poll.register(socket, select.POLLOUT)
    while sent < count and time.monotonic() < deadline:
        try:
            written = os.sendfile(socket, file, offset + sent, min(count - sent, _MAX_SENDFILE_BYTES))
        except BlockingIOError:
            if not poll.poll(_POLL_MS):
                break
            continue
        if not written:
            raise EOFError  # the file has been truncated
        sent += written
    return sent


def _send_small(socket: int, file: int, offset: int, count: int) -> int:
    """Send a few bytes that the kernel has read in advance; return their number."""
    try:
        written = os.sendfile(socket, file, offset, min(count, _SMALL_BYTES))
    except BlockingIOError:
        return 0
    if not written:
        raise EOFError
    return written
