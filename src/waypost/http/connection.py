"""HTTP/1.1 connections with limits: size and time of headers, connections per client, and a graceful shutdown.

With API workers, a connection whose first request is for one of them is handed over to it (ADR 15).

uvicorn has no such limits. A reverse proxy has them, but the service can also run without a proxy.
"""

import asyncio
import re
import resource
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from waypost.http import connection_handoff
from waypost.http.client_ip import network_of
from waypost.http.connection_handoff import HandoffChannel
from waypost.http.security_headers import ISOLATION

MAX_HEADER_BYTES = 64 * 1024
MAX_HEADERS = 200
HEADER_SECONDS = 10
"""Seconds from the first byte of a request to the end of its headers, rounded up to the keep-alive timeout."""
_MAX_PIPELINED = 100  # requests behind one that is being answered
_MIN_CONNECTIONS = 64
_PROXY_KEEP_ALIVE_SECONDS = 75  # longer than common proxies, which answer 502 if an idle connection ends as they use it
_FIRST_REQUEST_SECONDS = 5  # during which a stopping worker waits for the first request of a connection
_GRACE_SECONDS = 0.1  # during which requests are still read on idle connections, before they are closed
_FOR_API_WORKERS = re.compile(rb"[A-Z]{3,7} /(api|dashboard|mcp|stats)[/? ]")
HOST_HEADER = re.compile(rb"\A([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._~-]+)?\])(:[0-9]{0,5})?\Z")
_connections: Counter[str] = Counter()  # open connections of this process, by network


def max_connections() -> int:
    """Return how many connections one network may have to a process: a quarter of its file descriptors."""
    return max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4, _MIN_CONNECTIONS)


class _Refused(Exception):
    """Ends the parsing of a request."""


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
        self._is_too_large = False
        self._is_host_invalid = False
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
        self._network = network_of(self.client[0]) if self.client else ""
        _connections[self._network] += 1
        if self.is_from_proxy():
            self.timeout_keep_alive = _PROXY_KEEP_ALIVE_SECONDS
        self._restart_idle_timer()
        if _connections[self._network] > max_connections() and not self.is_from_proxy():
            transport.abort()
        elif self.first_data:
            self._api_channel = None
            self.data_received(self.first_data)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _connections[self._network] -= 1
        if not _connections[self._network]:
            del _connections[self._network]
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self._api_channel is not None and self._hand_over(self._api_channel, data):
            return
        was_in_headers = self._is_in_headers
        super().data_received(data)
        if was_in_headers and self._is_in_headers and not self.transport.is_closing():
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > MAX_HEADER_BYTES:
                self.refuse(431, "The headers are too large.")

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
            self._is_too_large = True
            raise _Refused

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _Refused
        hosts = [value for name, value in self.headers if name == b"host"]
        is_optional = self.parser.get_http_version() == "1.0"
        if len(hosts) > 1 or not (hosts or is_optional) or not all(map(HOST_HEADER.match, hosts)):
            self._is_host_invalid = True
            raise _Refused
        self._is_in_headers = False
        self.is_new = False
        self.was_used = True
        super().on_headers_complete()
        if self.is_draining:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        self.is_in_message = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin with the next pipelined request. Read no more while others wait behind it, which uvicorn would."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that the parser rejected."""
        if self._is_too_large:
            self.refuse(431, "The headers are too large.")
        elif self._is_host_invalid:
            self.refuse(400, "The request needs exactly one Host header, with a host name and perhaps a port.")
        else:
            self.refuse(400, msg)

    def refuse(self, status: int, message: str) -> None:
        """Send an error and close the connection. Abort it in the middle of a response."""
        if self.is_busy() and self.cycle.response_started:
            self.transport.abort()
            return
        lines = [STATUS_LINE[status]]
        lines += [b"%b: %b\r\n" % header for header in self.server_state.default_headers]
        lines += [b"%b: %b\r\n" % (name.lower().encode(), value.encode()) for name, value in ISOLATION.items()]
        lines.append(b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n" % len(message))
        lines.append(b"connection: close\r\n\r\n" + message.encode())
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
            self.refuse(408, "The headers did not arrive in time.")
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
