"""The fast lane: a hot, plain redirect is answered here, inside the HTTP protocol, before any ASGI object exists.

Everything that is not a plain GET for a name in the hot table goes untouched to uvicorn's own path. The answer is byte
for byte the one that path would give, and its click is in the journal before it is written.
"""

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from waypost.clicks.journal import Journal, line
from waypost.net.proxies import client_address, trusts
from waypost.settings import Network
from waypost.visits.memory import Memory
from waypost.visits.outlet import Outlet

STATE = "waypost.lane"
"""Where the application's lifespan state holds the Traffic that the lane works with."""
_STATUS = b"HTTP/1.1 302 Found\r\n"
_HOST, _AGENT, _REFERRER, _LANGUAGE, _FORWARDED, _COUNTRY, _UNUSUAL = range(7)
# Headers that matter to a click. Any of the unusual ones, or one that is empty or stands twice, sends a request the
# full way.
_HEADERS = {
    b"host": _HOST,
    b"user-agent": _AGENT,
    b"referer": _REFERRER,
    b"accept-language": _LANGUAGE,
    b"x-forwarded-for": _FORWARDED,
    **dict.fromkeys((b"content-length", b"transfer-encoding", b"expect", b"upgrade"), _UNUSUAL),
    **dict.fromkeys((b"sec-purpose", b"purpose", b"x-purpose", b"x-moz"), _UNUSUAL),
}


class _Places(dict[bytes, int]):
    """Where a header's value goes, by its name as clients spell it; -1 for the many that do not matter."""

    _MOST = 1000
    _LONGEST = 64

    def __init__(self, known: Mapping[bytes, int]) -> None:
        super().__init__(known)
        self._known = known

    def __missing__(self, name: bytes) -> int:
        place = self._known.get(name.lower(), -1)
        if len(self) < self._MOST and len(name) <= self._LONGEST:
            self[name] = place
        return place


@dataclass
class Traffic:
    """What a worker's connections share: its memory, its journal, and how much went by the lane."""

    memory: Memory
    journal: Journal
    proxies: tuple[Network, ...]
    country_header: bytes = b""
    hits: int = 0
    senders: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, thread_name_prefix="send"))
    """Threads that hand files to the kernel (waypost.visits.outlet)."""
    waiting: list[tuple[asyncio.Transport, bytes, bytes]] = field(default_factory=list)
    """Hot requests of this turn of the event loop: where to answer, the journal's line, the answer."""
    _dated: tuple[object, bytes] = (None, b"")

    def __post_init__(self) -> None:
        self.headers = _Places({**_HEADERS, self.country_header: _COUNTRY} if self.country_header else _HEADERS)

    def flush(self) -> None:
        """Write down the clicks that this turn of the event loop brought, all at once, and then answer them."""
        waiting = [one for one in self.waiting if not one[0].is_closing()]
        self.waiting.clear()
        if not waiting:
            return
        self.journal.write(b"".join([entry for _, entry, _ in waiting]), clicks=len(waiting))
        for transport, _, answer in waiting:
            transport.write(answer)
        self.hits += len(waiting)

    def start_of_answer(self, default_headers: list[tuple[bytes, bytes]]) -> bytes:
        """The status line and uvicorn's own headers; it makes a new list of them every second."""
        if self._dated[0] is not default_headers:
            told = b"".join(b"%b: %b\r\n" % header for header in default_headers)
            self._dated = (default_headers, _STATUS + told)
        return self._dated[1]


class Lane(HttpToolsProtocol):
    """uvicorn's protocol with the fast lane in front."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._traffic: Traffic = app_state[STATE]
        self._raw: list[tuple[bytes, bytes]] = []
        self._answered = False
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

    def on_message_begin(self) -> None:
        self._heard = True
        self.url = b""
        self._raw = []
        self._answered = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._raw.append((name, value))

    def on_headers_complete(self) -> None:
        self._answered = self._answer()
        if self._answered:
            return
        url = self.url
        super().on_message_begin()
        self.url = url
        for name, value in self._raw:
            super().on_header(name, value)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._answered:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._answered:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        self._traffic.flush()  # what was asked before comes first
        super().send_400_response(msg)

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        outlet: Any = Outlet(app, cycle, self.transport, self._traffic.senders)
        super()._start_asgi_task(cycle, outlet)

    def shutdown(self) -> None:
        self._traffic.flush()
        super().shutdown()

    def _answer(self) -> bool:
        """Answer the request whose headers are complete, if the lane may; whether it did."""
        if self.cycle is not None and not self.cycle.response_complete:
            return False  # an earlier request of this connection is still being answered
        parser = self.parser
        if parser.get_method() != b"GET" or parser.get_http_version() != "1.1" or not parser.should_keep_alive():
            return False
        if self.pipeline or self.flow.write_paused or self.transport.is_closing():
            return False
        noted = self._noted()
        if noted is None:
            return False
        traffic = self._traffic
        host = traffic.memory.header_hosts.get(noted[_HOST])
        hot = None if host is None else traffic.memory.hot.get(host + self.url)
        now = time.time_ns() // 1_000_000
        if hot is None or hot.until_ms <= now:
            return False
        address = self._address
        if self._behind_proxy and noted[_FORWARDED]:
            address = client_address(address.decode(), (noted[_FORWARDED],), traffic.proxies).encode()
        country = noted[_COUNTRY][:2] if self._behind_proxy else b""
        words = (noted[_AGENT], noted[_REFERRER], noted[_LANGUAGE])
        entry = line(hot.target, now, b"", address, country, words)
        answer = traffic.start_of_answer(self.server_state.default_headers) + hot.headers
        if not traffic.waiting:
            self.loop.call_soon(traffic.flush)
        traffic.waiting.append((self.transport, entry, answer))
        self.server_state.total_requests += 1
        return True

    def _noted(self) -> list[bytes] | None:
        """The values of the headers that a click keeps; None when there is one that the lane leaves alone."""
        noted = [b""] * _UNUSUAL
        wanted = self._traffic.headers
        for name, value in self._raw:
            place = wanted[name]
            if place >= 0:
                if place == _UNUSUAL or noted[place] or not value:
                    return None
                noted[place] = value
        return noted

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
