"""Responses of the fast path in one turn of the event loop: their clicks are written together, then they are sent."""

import asyncio
import time
from typing import Any, NamedTuple

from waypost.clicks.journal.writer import Journal
from waypost.visits.cache import HotResponse


class Turn(NamedTuple):
    """When a turn of the event loop answered its first request, in milliseconds, and as digits.

    The requests of a turn have the same time: a link that expires in the middle of one still redirects.
    """

    now_ms: int
    digits: bytes


class ResponseBatch:
    """The responses of one turn of a worker's event loop. Empty between turns."""

    def __init__(self, journal: Journal) -> None:
        self.server_state: Any = None
        """uvicorn's, which all connections share."""
        self._journal = journal
        self._turn: Turn | None = None
        self._requests: list[tuple[asyncio.Transport, bytes, bytes, HotResponse]] = []
        self._taken: list[bytes] = []
        self._default_headers: tuple[object, bytes] = (None, b"")
        self.add = self._requests.append
        """Adds (transport, journal lines, HSTS header, response). The last line has no end.

        Call `turn` before: it makes the event loop send the batch.
        """

    def log(self, lines: bytes) -> None:
        """Add journal lines that are written even if the client leaves before its response. Call `turn` before."""
        if lines:
            self._taken.append(lines)

    def turn(self, loop: asyncio.AbstractEventLoop) -> Turn:
        """Return the time of this turn. The first call in a turn schedules `flush`."""
        return self._turn or self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> Turn:
        now_ms = time.time_ns() // 1_000_000
        self._turn = Turn(now_ms, b"%d" % now_ms)
        loop.call_soon(self.flush)
        return self._turn

    def flush(self) -> None:
        """Write the clicks in one call, then the responses."""
        self._turn = None
        requests = [request for request in self._requests if not request[0].is_closing()]
        self._requests.clear()
        lines = [entry for _, entry, _, _ in requests if entry]
        if self._taken:
            lines += self._taken
            self._taken.clear()
        if lines:
            lines.append(b"")
            self._journal.write(b"\n".join(lines))
        if not requests:
            return
        self.server_state.total_requests += len(requests)
        default_headers = self._headers_of_this_second()
        for transport, _, hsts, response in requests:
            parts = (response.status_line, default_headers, hsts, response.unique, response.shared_headers)
            transport.write(b"".join(parts))

    def _headers_of_this_second(self) -> bytes:
        """Return uvicorn's default headers as bytes. uvicorn creates a new list every second."""
        headers = self.server_state.default_headers
        if self._default_headers[0] is not headers:
            self._default_headers = (headers, b"".join(b"%b: %b\r\n" % header for header in headers))
        return self._default_headers[1]
