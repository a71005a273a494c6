"""Fast path: answer hot, plain redirects inside the HTTP protocol, before any ASGI object exists.

All other requests are passed unchanged to uvicorn's own implementation. Responses are byte for byte the same as that
implementation's, and the click is in the journal before the response is written.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.utils import get_remote_addr

from waypost.clicks.journal.entry import format_line
from waypost.clicks.journal.writer import Journal
from waypost.http.client_ip import is_trusted, resolve_client_ip
from waypost.http.connection import LimitedProtocol
from waypost.http.sendfile import SendfileAdapter
from waypost.settings import Network
from waypost.visits.cache import Cache

STATE_KEY = "waypost.worker_state"
"""Key of the WorkerState in the application's lifespan state."""
_HOST, _AGENT, _REFERRER, _LANGUAGE, _FORWARDED, _COUNTRY, _CONNECTION, _UNSUPPORTED = range(8)
# Headers that matter to a click or to the response. A request with an unsupported one takes the slow path.
_HEADERS = {
    b"host": _HOST,
    b"user-agent": _AGENT,
    b"referer": _REFERRER,
    b"accept-language": _LANGUAGE,
    b"x-forwarded-for": _FORWARDED,
    b"connection": _CONNECTION,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"if-none-match"), _UNSUPPORTED),
    **dict.fromkeys((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"), _UNSUPPORTED),
}
_MAX_CACHED_NAMES = 1000
_MAX_NAME_BYTES = 64


class RequestSniffer:
    """Parses a whole request at once, with callbacks into C only: the same strict parser at a fraction of the cost."""

    def __init__(self, country_header: bytes = b"") -> None:
        self._names = {**_HEADERS, country_header: _COUNTRY} if country_header else _HEADERS
        self._indexes: dict[bytes, int] = {}  # by header name as clients spell it
        self._ignored_headers: set[bytes] = set()  # names as clients spell them
        self._urls: list[bytes] = []
        self._values: dict[bytes, bytes] = {}
        self.on_url = self._urls.append
        self.on_header = self._values.setdefault  # the first header of a name counts
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes) -> tuple[bytes, list[bytes]] | None:
        """Return (path and query, header values) if the data is exactly one plain GET request, else None."""
        try:
            self._parser.feed_data(data)
            result = self._parse(data)
        except (HttpParserError, HttpParserUpgrade):
            result = None
        if result is None:
            self._parser = HttpRequestParser(self)  # the old parser may be in the middle of a request
        self._urls.clear()
        self._values.clear()
        return result

    def _parse(self, data: bytes) -> tuple[bytes, list[bytes]] | None:
        if len(self._urls) != 1 or not data.startswith(b" HTTP/1.1\r\n", len(b"GET ") + len(self._urls[0])):
            return None
        if data.count(b"\n") != len(self._values) + 2:  # a header was sent twice
            lower = data.lower()
            if lower.count(b"\nhost:") > 1 or lower.count(b"\nx-forwarded-for:") > 1:
                return None
        values = [b""] * _UNSUPPORTED
        for name in self._values.keys() - self._ignored_headers:
            index = self._indexes.get(name)
            if index is None and (index := self._learn(name)) is None:
                continue
            if index == _UNSUPPORTED or values[index]:
                return None
            values[index] = self._values[name]
        if values[_CONNECTION] and values[_CONNECTION].lower() != b"keep-alive":
            return None
        return self._urls[0], values

    def _learn(self, name: bytes) -> int | None:
        """Return the index of a header's value, None for a header that does not matter. Caches the result."""
        index = self._names.get(name.lower())
        if len(name) <= _MAX_NAME_BYTES and len(self._ignored_headers) + len(self._indexes) < _MAX_CACHED_NAMES:
            if index is None:
                self._ignored_headers.add(name)
            else:
                self._indexes[name] = index
        return index


@dataclass
class WorkerState:
    """State that the connections of a worker share: its cache, its journal and the fast path's counters."""

    cache: Cache
    journal: Journal
    proxies: tuple[Network, ...]
    country_header: bytes = b""
    hits: int = 0
    sendfile_threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(8, thread_name_prefix="send")
    )
    """Threads that call sendfile (waypost.http.sendfile)."""
    pending: list[tuple[asyncio.Transport, bytes, bytes]] = field(default_factory=list)
    """Hot requests of this turn of the event loop: (transport, journal line, response)."""
    _default_headers: tuple[object, bytes] = (None, b"")

    def __post_init__(self) -> None:
        self.sniffer = RequestSniffer(self.country_header)

    def flush(self) -> None:
        """Write the clicks of this turn of the event loop in one call, then the responses."""
        pending = [request for request in self.pending if not request[0].is_closing()]
        self.pending.clear()
        if not pending:
            return
        lines = [entry for _, entry, _ in pending if entry]
        if lines:
            self.journal.write(b"".join(lines), clicks=len(lines))
        for transport, _, response in pending:
            transport.write(response)
        self.hits += len(lines)

    def default_headers(self, headers: list[tuple[bytes, bytes]]) -> bytes:
        """Return uvicorn's default headers as bytes. uvicorn creates a new list every second."""
        if self._default_headers[0] is not headers:
            self._default_headers = (headers, b"".join(b"%b: %b\r\n" % header for header in headers))
        return self._default_headers[1]


class FastPathProtocol(LimitedProtocol):
    """uvicorn's protocol with limits, and the fast path in front."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._worker_state: WorkerState = app_state[STATE_KEY]
        self._address = b""
        self._is_proxied = False

    def is_from_proxy(self) -> bool:
        return self._is_proxied

    def connection_made(self, transport: Any) -> None:
        peer = get_remote_addr(transport)
        self._address = resolve_client_ip(peer[0] if peer else "", (), ()).encode()
        self._is_proxied = peer is not None and is_trusted(peer[0], self._worker_state.proxies)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET /") and data.endswith(b"\r\n\r\n") and self._is_free() and self._respond(data):
            self.is_new, self.was_used = False, True
            self._unset_keepalive_if_required()
            return
        if self._worker_state.pending:
            self._worker_state.flush()  # keep the order of pipelined responses
        super().data_received(data)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        adapter: Any = SendfileAdapter(app, cycle, self.transport, self._worker_state.sendfile_threads)
        super()._start_asgi_task(cycle, adapter)

    def shutdown(self) -> None:
        self._worker_state.flush()
        super().shutdown()

    def _is_free(self) -> bool:
        """Return whether the connection has no unfinished request or response."""
        if self.is_in_message or self.pipeline or self.flow.write_paused or self.transport.is_closing():
            return False
        return not self.is_busy() and not self.is_draining

    def _respond(self, data: bytes) -> bool:
        """Answer a hot request and return True; return False for all others."""
        worker_state = self._worker_state
        request = worker_state.sniffer.read(data)
        if request is None:
            return False
        url, headers = request
        cache = worker_state.cache
        host = cache.header_hosts.get(headers[_HOST])
        hot = None if host is None else cache.hot.get(host + url) or cache.images.get(host + url)
        now = time.time_ns() // 1_000_000
        if hot is None or hot.until_ms <= now:
            return False
        address, country = self._address, b""
        if self._is_proxied:
            country = headers[_COUNTRY][:2]
            if headers[_FORWARDED]:
                forwarded = (headers[_FORWARDED],)
                address = resolve_client_ip(address.decode(), forwarded, worker_state.proxies).encode()
        words = (headers[_AGENT], headers[_REFERRER], headers[_LANGUAGE])
        entry = format_line(hot.journal_target, now, hot.flags, address, country, words) if hot.journal_target else b""
        default_headers = worker_state.default_headers(self.server_state.default_headers)
        response = hot.status_line + default_headers + hot.unique + hot.shared_headers
        if not worker_state.pending:
            self.loop.call_soon(worker_state.flush)
        worker_state.pending.append((self.transport, entry, response))
        self.server_state.total_requests += 1
        return True
