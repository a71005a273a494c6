"""The fast lane: a hot, plain redirect is answered here, inside the HTTP protocol, before any ASGI object exists.

Everything that is not a plain GET for a name in the hot table goes untouched to uvicorn's own path. The answer is byte
for byte the one that path would give, and its click is in the journal before it is written.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.clicks.journal.writer import Journal, line
from waypost.http.client_ip import client_address, trusts
from waypost.http.sendfile import SendfileAdapter
from waypost.settings import Network
from waypost.visits.cache import Cache

STATE = "waypost.lane"
"""Where the application's lifespan state holds the Traffic that the lane works with."""
_HOST, _AGENT, _REFERRER, _LANGUAGE, _FORWARDED, _COUNTRY, _CONNECTION, _UNUSUAL = range(8)
# Headers that matter to a click or to the answer. Any of the unusual ones sends a request the full way.
_HEADERS = {
    b"host": _HOST,
    b"user-agent": _AGENT,
    b"referer": _REFERRER,
    b"accept-language": _LANGUAGE,
    b"x-forwarded-for": _FORWARDED,
    b"connection": _CONNECTION,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"if-none-match"), _UNUSUAL),
    **dict.fromkeys((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"), _UNUSUAL),
}
_MOST_NAMES = 1000
_LONGEST_NAME = 64


class RequestSniffer:
    """Reads a whole request at once: the same strict parser, calling into C alone, so at a fraction of the cost."""

    def __init__(self, country_header: bytes = b"") -> None:
        self._names = {**_HEADERS, country_header: _COUNTRY} if country_header else _HEADERS
        self._places: dict[bytes, int] = {}  # of names as clients spell them
        self._harmless: set[bytes] = set()  # names that do not matter, as clients spell them
        self._urls: list[bytes] = []
        self._values: dict[bytes, bytes] = {}
        self.on_url = self._urls.append
        self.on_header = self._values.setdefault  # the first of a name counts
        self._parser = HttpRequestParser(self)

    def read(self, data: bytes) -> tuple[bytes, list[bytes]] | None:
        """(path and query, the values of the headers that matter) of data that is one plain GET and nothing else."""
        try:
            self._parser.feed_data(data)
            read = self._plain(data)
        except (HttpParserError, HttpParserUpgrade):
            read = None
        if read is None:
            self._parser = HttpRequestParser(self)  # this one may be in the midst of something
        self._urls.clear()
        self._values.clear()
        return read

    def _plain(self, data: bytes) -> tuple[bytes, list[bytes]] | None:
        if len(self._urls) != 1 or not data.startswith(b" HTTP/1.1\r\n", len(b"GET ") + len(self._urls[0])):
            return None
        noted = [b""] * _UNUSUAL
        for name in self._values.keys() - self._harmless:
            place = self._places.get(name)
            if place is None and (place := self._learn(name)) is None:
                continue
            if place == _UNUSUAL or noted[place]:
                return None
            noted[place] = self._values[name]
        if noted[_CONNECTION] and noted[_CONNECTION].lower() != b"keep-alive":
            return None
        return self._urls[0], noted

    def _learn(self, name: bytes) -> int | None:
        """The place of a header's value; None for one that does not matter."""
        place = self._names.get(name.lower())
        if len(name) <= _LONGEST_NAME and len(self._harmless) + len(self._places) < _MOST_NAMES:
            if place is None:
                self._harmless.add(name)
            else:
                self._places[name] = place
        return place


@dataclass
class WorkerState:
    """What a worker's connections share: its memory, its journal, and how much went by the lane."""

    cache: Cache
    journal: Journal
    proxies: tuple[Network, ...]
    country_header: bytes = b""
    hits: int = 0
    senders: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, thread_name_prefix="send"))
    """Threads that hand files to the kernel (waypost.http.sendfile)."""
    waiting: list[tuple[asyncio.Transport, bytes, bytes]] = field(default_factory=list)
    """Hot requests of this turn of the event loop: where to answer, the journal's line, the answer."""
    _dated: tuple[object, bytes] = (None, b"")

    def __post_init__(self) -> None:
        self.sniffer = RequestSniffer(self.country_header)

    def flush(self) -> None:
        """Write down the clicks that this turn of the event loop brought, all at once, and then answer them."""
        waiting = [one for one in self.waiting if not one[0].is_closing()]
        self.waiting.clear()
        if not waiting:
            return
        entries = [entry for _, entry, _ in waiting if entry]
        if entries:
            self.journal.write(b"".join(entries), clicks=len(entries))
        for transport, _, answer in waiting:
            transport.write(answer)
        self.hits += len(entries)

    def own_headers(self, default_headers: list[tuple[bytes, bytes]]) -> bytes:
        """Uvicorn's own headers; it makes a new list of them every second."""
        if self._dated[0] is not default_headers:
            told = b"".join(b"%b: %b\r\n" % header for header in default_headers)
            self._dated = (default_headers, told)
        return self._dated[1]


class FastPathProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the fast lane in front."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._traffic: WorkerState = app_state[STATE]
        self._is_within = False
        self._heard = False
        self._idle: asyncio.TimerHandle | None = None
        self._address = b""
        self._behind_proxy = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = self.client[0] if self.client else ""
        self._address = client_address(peer, (), ()).encode()
        self._behind_proxy = trusts(peer, self._traffic.proxies)
        self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_when_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._idle is not None:
            self._idle.cancel()

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if data.startswith(b"GET /") and data.endswith(b"\r\n\r\n") and self._is_free() and self._answer(data):
            self._unset_keepalive_if_required()
            return
        if self._traffic.waiting:
            self._traffic.flush()  # what was asked before comes first
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._is_within = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._is_within = False
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        outlet: Any = SendfileAdapter(app, cycle, self.transport, self._traffic.senders)
        super()._start_asgi_task(cycle, outlet)

    def shutdown(self) -> None:
        self._traffic.flush()
        super().shutdown()

    def _is_free(self) -> bool:
        """Whether nothing else goes on in this connection: no request half read, none half answered."""
        if self._is_within or self.pipeline or self.flow.write_paused or self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete

    def _answer(self, data: bytes) -> bool:
        """Answer a request, if the lane may; whether it did."""
        traffic = self._traffic
        read = traffic.sniffer.read(data)
        if read is None:
            return False
        url, noted = read
        host = traffic.cache.header_hosts.get(noted[_HOST])
        memory = traffic.cache
        hot = None if host is None else memory.hot.get(host + url) or memory.images.get(host + url)
        now = time.time_ns() // 1_000_000
        if hot is None or hot.until_ms <= now:
            return False
        address, country = self._address, b""
        if self._behind_proxy:
            country = noted[_COUNTRY][:2]
            if noted[_FORWARDED]:
                if data.lower().count(b"x-forwarded-for:") > 1:
                    return False
                address = client_address(address.decode(), (noted[_FORWARDED],), traffic.proxies).encode()
        words = (noted[_AGENT], noted[_REFERRER], noted[_LANGUAGE])
        entry = line(hot.target, now, hot.flags, address, country, words) if hot.target else b""
        answer = hot.start + traffic.own_headers(self.server_state.default_headers) + hot.own + hot.end
        if not traffic.waiting:
            self.loop.call_soon(traffic.flush)
        traffic.waiting.append((self.transport, entry, answer))
        self.server_state.total_requests += 1
        return True

    def _close_when_idle(self) -> None:
        """Keep-alive for connections that only ever use the lane: one timer for many requests."""
        self._idle = None
        if self.transport.is_closing():
            return
        busy = self.cycle is not None and not self.cycle.response_complete
        if self._heard or busy:
            self._heard = False
            self._idle = self.loop.call_later(self.timeout_keep_alive, self._close_when_idle)
        else:
            self.transport.close()
