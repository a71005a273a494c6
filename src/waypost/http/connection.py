"""HTTP/1.1 connections with limits: size and time of headers, connections per client, and a graceful shutdown.

With API workers, a connection whose first request is for one of them is handed over to it (ADR 15).

uvicorn has no such limits. A reverse proxy has them, but the service can also run without a proxy.
"""

import asyncio
import heapq
import re
import resource
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from waypost.http import connection_handoff, framing
from waypost.http.client_ip import network_of
from waypost.http.connection_handoff import HandoffChannel
from waypost.http.framing import Refused
from waypost.http.middleware import ISOLATION
from waypost.http.server_sent_events import DRAINING

MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 200
HEADER_SECONDS = 10
"""Seconds from the first byte of a request to the end of its headers, rounded up to the keep-alive timeout."""
_MAX_PIPELINED = 100  # requests behind one that is being answered
_PROXY_KEEP_ALIVE_SECONDS = 75  # longer than common proxies, which answer 502 if an idle connection ends as they use it
_FIRST_REQUEST_SECONDS = 5  # during which a stopping worker waits for the first request of a connection
_GRACE_SECONDS = 0.1  # during which requests are still read on idle connections, before they are closed
_FOR_API_WORKERS = re.compile(rb"[A-Z]{3,7} /(api|dashboard|mcp|stats)[/? ]")
T = TypeVar("T")
_MIN_OF_NETWORK = 64
_CLOSED_TOGETHER = 64  # connections, because finding those that have waited longest reads all
_open: Counter[str] = Counter()  # connections of this process, by network


def _too_large() -> Refused:
    return Refused(431, "The headers are too large.")


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.is_in_message = False
        self.is_draining = False
        self.is_new = True
        """No request was received yet."""
        self.was_used = False
        """A request was received since the idle timer started."""
        self._is_in_headers = False
        self._headers_started = 0.0
        self._unparsed_bytes = 0
        self._header_bytes = 0
        self._head_without_upgrade = b""
        """The head of a request that offers another protocol, between its headers and its second parsing."""
        self._running: Any = None
        """The cycle of request and response that runs. `cycle` is the newest, which may wait for it in the pipeline."""
        self._refusal: Refused | None = None
        """Ends the connection after the responses to the requests before it. No more data is read."""
        self._idle_timer: asyncio.TimerHandle | None = None
        self._network = ""
        self._api_channel: HandoffChannel | None = getattr(config, "api_channel", None)
        self.first_data = b""
        """The data that another process read from the connection before it handed it over."""

    def is_from_proxy(self) -> bool:
        """Return whether the peer is a trusted proxy, which may open any number of connections."""
        return False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._headers_started = self.loop.time()
        self._network = network_of(self.client[0]) if self.client else ""
        is_allowed = open_connection(self._network) or self.is_from_proxy()
        if self.is_from_proxy():
            self.timeout_keep_alive = _PROXY_KEEP_ALIVE_SECONDS
        self._restart_idle_timer()
        if not is_allowed or not self._has_descriptor():
            transport.abort()
        elif self.first_data:
            self._api_channel = None
            self.data_received(self.first_data)

    def _has_descriptor(self) -> bool:
        """Close the connections that have waited longest for a request if file descriptors are scarce.

        Return False if all others are in use.
        """
        if len(self.connections) <= max_of_process():
            return True
        waiting = [other for other in self.connections if isinstance(other, LimitedProtocol) and other is not self]
        longest = longest_waiting((other.waiting_since(), other) for other in waiting)
        for other in longest:
            other.transport.abort()
        return bool(longest)

    def waiting_since(self) -> tuple[bool, float] | None:
        """Return the order in which connections are closed when descriptors are scarce; None while one is in use.

        Those that wait for the end of their headers come before those that had a request.
        """
        if self.is_busy() or self.transport.is_closing() or (self.is_in_message and not self._is_in_headers):
            return None
        return not (self.is_new or self._is_in_headers), self._headers_started

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        close_connection(self._network)
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None or (self._api_channel is not None and self._hand_over(self._api_channel, data)):
            return
        was_in_headers = self._is_in_headers
        self._unset_keepalive_if_required()
        self._parse(data if self.is_in_message else framing.with_encoded_target(data))
        if was_in_headers and self._is_in_headers and not self.transport.is_closing():
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > MAX_HEADER_BYTES:
                self.refuse(_too_large())

    def _parse(self, data: bytes) -> None:
        """Parse data. A request that offers another protocol is parsed again, as HTTP/1.1 (decision 77)."""
        try:
            while data:
                data = self._parse_until_upgrade(data)
        except HttpParserError as error:
            refused = error.__context__
            self.refuse(refused if isinstance(refused, Refused) else Refused(400, "Invalid HTTP request received."))

    def _parse_until_upgrade(self, data: bytes) -> bytes:
        """Parse data up to the body of a request that offers another protocol; return what must be parsed again."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as pause:
            rest = self._head_without_upgrade + data[pause.args[0] :]
            self._head_without_upgrade = b""
            self.parser = framing.new_parser(self)
            return rest
        return b""

    def _hand_over(self, channel: HandoffChannel, data: bytes) -> bool:
        """Hand the connection over to an API worker if its first request is for one. Return whether it has left."""
        if not self.is_new or self.is_in_message or self.is_draining or not _FOR_API_WORKERS.match(data):
            return False
        if not connection_handoff.send(channel, self.transport.get_extra_info("socket").fileno(), data):
            return False
        self.transport.abort()  # closes the connection in this process only
        return True

    def on_message_begin(self) -> None:
        self.is_in_message = self._is_in_headers = True
        self._headers_started = self.loop.time()
        self._unparsed_bytes = self._header_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._add_header_bytes(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._add_header_bytes(len(name) + len(value))
        super().on_header(name, value)

    def _add_header_bytes(self, count: int) -> None:
        self._header_bytes += count
        if self._header_bytes > MAX_HEADER_BYTES or len(self.headers) >= MAX_HEADERS:
            raise _too_large()

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise Refused(400, f"More than {_MAX_PIPELINED} requests wait for a response.")
        framing.require_understood(self.parser.get_http_version(), self.headers)
        if self.parser.should_upgrade():
            self._head_without_upgrade = framing.without_upgrade(self.parser, self.url, self.headers)
            return
        self.url = framing.origin_form(self.url, self.headers)
        self._is_in_headers = False
        self.is_new = False
        self.was_used = True
        super().on_headers_complete()
        if self.is_draining:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        if not self._head_without_upgrade:
            self.is_in_message = False
            super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        is_waited_for = cycle.waiting_for_100_continue
        super()._start_asgi_task(cycle, framing.close_unless_continued(cycle, app) if is_waited_for else app)

    def on_response_complete(self) -> None:
        """Begin with the next pipelined request. Read no more while others wait behind it, which uvicorn would."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        elif self._refusal is not None and not self.is_busy() and not self.transport.is_closing():
            self._send_refusal(self._refusal)

    def refuse(self, refusal: Refused) -> None:
        """Refuse the request that is received: send an error after the responses before it, and close the connection.

        The connection is aborted if its response has begun.
        """
        self._refusal = refusal
        if self.is_in_message and not self._is_in_headers:  # the body of a request is invalid
            if self.pipeline:
                self.pipeline.popleft()
                self.cycle = self.pipeline[0][0] if self.pipeline else self._running
            elif self.cycle.response_started:
                self.transport.abort()
                return
            else:
                self._send_refusal(refusal)
                return
        if not self.is_busy():
            self._send_refusal(refusal)

    def _send_refusal(self, refusal: Refused) -> None:
        lines = [STATUS_LINE[refusal.status]]
        lines += [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        lines += [b"%b: %b\r\n" % (name.lower().encode(), value.encode()) for name, value in ISOLATION.items()]
        lines.append(b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(refusal.message))
        lines.append(b"connection: close\r\n\r\n" + refusal.message.encode())
        self.transport.write(b"".join(lines))
        self.transport.close()

    def is_busy(self) -> bool:
        """Return whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def shutdown(self) -> None:
        """Stop after the response in progress. A request that is in transit is answered.

        A connection without any request yet stays open for some seconds.
        """
        self.is_draining = True
        if self.is_busy():
            self._running.scope[DRAINING] = True
            super().shutdown()
        else:
            seconds = _FIRST_REQUEST_SECONDS if self.is_new else _GRACE_SECONDS
            self.loop.call_later(seconds, self._close_unless_busy)

    def _close_unless_busy(self) -> None:
        if not self.is_busy() and not self._is_in_headers:
            self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        """Do nothing at uvicorn's timeout of one request: the idle timer ends the connection."""

    def _close_when_idle(self) -> None:
        """Keep-alive and header timeout: one timer for many requests."""
        if self._has_timed_out():
            # After a suspension, timers run before the data that has arrived in the pause is read.
            self._idle_timer = self.loop.call_later(_GRACE_SECONDS, self._close_if_still_idle)
        else:
            self._restart_idle_timer()

    def _close_if_still_idle(self) -> None:
        if not self._has_timed_out():
            self._restart_idle_timer()
        elif self._is_in_headers:
            self.refuse(Refused(408, "The headers did not arrive in time."))
        else:
            self.transport.close()

    def _has_timed_out(self) -> bool:
        if self.is_busy() or self.transport.is_closing():
            return False
        if self._is_in_headers:
            return self.loop.time() - self._headers_started >= HEADER_SECONDS
        return not self.was_used

    def _restart_idle_timer(self) -> None:
        self.was_used = False
        self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_when_idle)


def open_connection(network: str) -> bool:
    """Count a connection. Return False if its network has more than it may: a quarter of the file descriptors."""
    _open[network] += 1
    return _open[network] <= max(_descriptors() // 4, _MIN_OF_NETWORK)


def close_connection(network: str) -> None:
    """Count a connection no more."""
    _open[network] -= 1
    if not _open[network]:
        del _open[network]


def max_of_process() -> int:
    """Return how many connections a process may have: the other file descriptors are for files and the database."""
    return _descriptors() * 3 // 4


def longest_waiting(connections: Iterable[tuple[tuple[bool, float] | None, T]]) -> list[T]:
    """Return the connections to close, from pairs of the order and the connection; without an order, one is in use."""
    waiting = [(order, connection) for order, connection in connections if order is not None]
    return [connection for _, connection in heapq.nsmallest(_CLOSED_TOGETHER, waiting, key=lambda pair: pair[0])]


def _descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


class ResponseWriter:
    """The transport of one response, for uvicorn's cycle of request and response."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._headers = b""
        self._is_started = False

    def write(self, data: bytes) -> None:
        """Write data. The first data waits for more until the next turn of the event loop."""
        if not self._is_started:
            self._is_started = True
            self._headers = data
            self._loop.call_soon(self.flush)
        elif self._headers:
            headers, self._headers = self._headers, b""
            self._transport.writelines((headers, data))
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Write the data that waits, unless the client has left."""
        headers, self._headers = self._headers, b""
        if headers and not self._transport.is_closing():
            self._transport.write(headers)

    def is_closing(self) -> bool:
        """Return whether the connection is being closed."""
        return bool(self._transport.is_closing())

    def close(self) -> None:
        """Close the connection once everything was written."""
        self.flush()
        self._transport.close()
