"""Fast path: answer hot names and plain redirects inside the HTTP protocol, before any ASGI object exists.

A request is answered from the first of these that has the answer:

1. a complete response in the cache;
2. a record in the cache, if the response needs no more than that (waypost.visits.writers);
3. a record from the database. Names that miss the cache in one turn of the event loop are read by one statement.

All other requests are passed unchanged to uvicorn's own implementation. Responses are byte for byte the same as that
implementation's, and the click is in the journal before the response is written.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from uvicorn.protocols.utils import get_remote_addr

from waypost.clicks.journal import Journal, join_fields
from waypost.core.settings import Network
from waypost.http.client_ip import is_trusted, resolve_client_ip
from waypost.http.connection import LimitedProtocol, ResponseWriter
from waypost.http.delivery import Delivery
from waypost.http.sendfile import SendfileAdapter
from waypost.visits.cache import REDIRECT_LINE, Cache, RequestedHost
from waypost.visits.outcome import Log
from waypost.visits.request import VisitRequest
from waypost.visits.request_sniffer import (
    ACCEPT,
    AGENT,
    COOKIE,
    COUNTRY,
    ENCODING,
    FORWARDED,
    HOST,
    LANGUAGE,
    MODE,
    RANGE,
    REFERRER,
    URL,
    RequestFields,
    RequestSniffer,
)
from waypost.visits.writers import (
    DeliveredResponse,
    FastVisits,
    HeldVisit,
    LoggedResponse,
    ResponseBatch,
    Target,
    Turn,
)

STATE_KEY = "waypost.worker_state"
"""Key of the WorkerState in the application's lifespan state."""


@dataclass
class WorkerState:
    """State that the connections of a worker share: its cache, its journal and the fast path's counters."""

    cache: Cache
    journal: Journal
    visits: FastVisits
    proxies: tuple[Network, ...]
    country_header: bytes = b""
    hits: int = 0
    """Requests answered with a complete response from the cache."""
    record_redirects: int = 0
    """Redirects from a record, whether it was in the cache or read."""
    misses: int = 0
    """Requests whose record had to be read."""
    sendfile_threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(8, thread_name_prefix="send")
    )
    """Threads that call sendfile (waypost.http.sendfile)."""

    def __post_init__(self) -> None:
        self.sniffer = RequestSniffer(self.country_header)
        self.batch = ResponseBatch(self.journal)


class _Request(NamedTuple):
    """A request for an alias. `version` is that of the cache when it arrived.

    `has_known_host` is False if the domain was not cached, so that another host or alias can be meant.
    """

    data: bytes
    visit: VisitRequest
    fields: RequestFields
    hsts: bytes
    version: int
    has_known_host: bool = True


class FastPathProtocol(LimitedProtocol):
    """uvicorn's protocol with limits, and the fast path in front."""

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._worker_state: WorkerState = app_state[STATE_KEY]
        self._batch = self._worker_state.batch
        self._batch.server_state = server_state
        self._address = b""
        self._is_proxied = False
        self._held: _Request | None = None  # waits for its record
        self._early_data = b""  # received after the held request
        self._delivery: Delivery | None = None  # of the last response, if it is a download

    def is_from_proxy(self) -> bool:
        return self._is_proxied

    def is_busy(self) -> bool:
        return self._held is not None or super().is_busy()

    def connection_made(self, transport: Any) -> None:
        peer = get_remote_addr(transport)
        self._address = resolve_client_ip(peer[0] if peer else "", (), ()).encode()
        self._is_proxied = peer is not None and is_trusted(peer[0], self._worker_state.proxies)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._delivery is not None:
            self._delivery.end(exc)

    def data_received(self, data: bytes) -> None:
        if self._delivery is not None and not self.is_busy():
            self._delivery.close()
            self._delivery = None
        if self._held is not None:
            self._early_data += data
            self.flow.pause_reading()  # not earlier: it takes two system calls
            return
        cycle = self.cycle  # the last request of the slow path
        is_slow = self.is_in_message or self.is_draining or self.flow.write_paused
        if not is_slow and (cycle is None or cycle.response_complete) and self._respond(data):
            self.is_new, self.was_used = False, True
            if self.timeout_keep_alive_task is not None:
                self._unset_keepalive_if_required()
            return
        self._batch.flush()  # keep the order of pipelined responses
        super().data_received(data)

    def eof_received(self) -> bool | None:  # type: ignore[override]  # asyncio takes a bool
        """Answer the held request of a client that sends no more, then close the connection."""
        if self._held is None:
            return super().eof_received()
        self.is_draining = True
        return True

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        cycle.transport = ResponseWriter(self.transport, self.loop)
        threads, begin = self._worker_state.sendfile_threads, self._begin_delivery
        adapter: Any = SendfileAdapter(app, cycle, self.transport, threads, begin)
        super()._start_asgi_task(cycle, adapter)

    def on_response_complete(self) -> None:
        self._running.transport.flush()  # headers without a body, before anything that follows
        super().on_response_complete()

    def _begin_delivery(self) -> Delivery | None:
        """Watch whether the client takes the response that begins; None if it has left."""
        connection = self.transport.get_extra_info("socket")
        if connection is None or self.transport.is_closing():
            return None
        if self._delivery is not None:  # of a request before this one in the pipeline
            self._delivery.close()
        self._delivery = Delivery(connection, self.loop)
        return self._delivery

    def shutdown(self) -> None:
        self._batch.flush()
        if self._held is None:
            super().shutdown()
        else:
            self.is_draining = True  # the connection is closed after the response to the held request

    def _respond(self, data: bytes) -> bool:
        """Answer or hold a request and return True; return False for those of the slow path."""
        worker_state = self._worker_state
        fields = worker_state.sniffer.read(data)
        if fields is None:
            return False
        host = worker_state.cache.hosts.get(fields[HOST]) or worker_state.visits.learn_host(fields[HOST])
        if host is None:
            return False
        key = host.key + fields[URL]
        hot = worker_state.cache.hot.get(key) or worker_state.cache.bodies.get(key)
        if hot is not None and hot.until_ms > (turn := self._batch.turn(self.loop)).now_ms:
            hot.is_used = True
            line = b""
            if hot.journal_target:
                worker_state.hits += 1
                line = self._journal_line(hot.journal_target, hot.flags, fields, turn)
            self._batch.add((self.transport, line, host.hsts, hot))
            return True
        return self._respond_from_record(data, fields, host)

    def _respond_from_record(self, data: bytes, fields: RequestFields, host: RequestedHost) -> bool:
        visits = self._worker_state.visits
        target = visits.target(host.name, fields[URL])
        if target is None:
            return False
        fields = self._worker_state.sniffer.all_fields(data, fields)
        visit = self._visit(fields, host.name, target)
        version = self._worker_state.cache.version
        request = _Request(data, visit, fields, host.hsts, version)
        if target.is_rotator:
            return self._hold_for_rotator(request)
        is_cached, record = self._worker_state.cache.get_resolved((host.name, target.alias))
        if is_cached:
            return self._respond_with(record, request)
        if visits.loader.is_overloaded:
            return False  # the slow path sheds load
        self._worker_state.misses += 1
        self._held = request._replace(has_known_host=visits.knows(host.name))
        visits.loader.load((host.name, target.alias), self._resume)
        return True

    def _visit(self, fields: RequestFields, host: str, target: Target) -> VisitRequest:
        address, country = self._client(fields)
        return VisitRequest(
            *(host, target.alias, address.decode(), country, fields[AGENT], fields[REFERRER], fields[LANGUAGE]),
            target.query,
            accept=fields[ACCEPT],
            accept_encoding=fields[ENCODING],
            byte_range=fields[RANGE],
            cookie=fields[COOKIE],
            fetch_mode=fields[MODE],
        )

    def _hold_for_rotator(self, request: _Request) -> bool:
        rotators = self._worker_state.visits.rotators
        if not rotators.accepts(request.visit):
            return False
        self._held = request
        rotators.load(request.visit, self._resume)
        return True

    def _resume(self, record: Any) -> None:
        """Answer the held request with the record that was read; after an exception, the slow path does."""
        held, self._held = self._held, None
        if held is None or self.transport.is_closing():
            return
        if isinstance(record, BaseException) or self.is_draining or not self._respond_after_read(record, held):
            super().data_received(held.data)
        self._read_early_data()

    def _respond_after_read(self, record: Any, request: _Request) -> bool:
        """Respond with the record that was read; begin again if its domain was read with it."""
        if request.has_known_host:
            return self._respond_with(record, request)
        return self._worker_state.visits.knows(request.visit.host) and self._respond(request.data)

    def _read_early_data(self) -> None:
        if self._early_data and self._held is None:
            data, self._early_data = self._early_data, b""
            self.flow.resume_reading()
            self.data_received(data)

    def _respond_with(self, record: Any, request: _Request) -> bool:
        response = self._worker_state.visits.respond(request.visit, record, version=request.version)
        if isinstance(response, HeldVisit):
            self._held = request
            response.begin(self._resume_after_limit)
        elif response is not None:
            self._send(response, request)
        return response is not None

    def _send(self, logged: LoggedResponse, request: _Request) -> None:
        """Send a response, and log its visit, at the end of this turn of the event loop."""
        response, log = logged
        self._worker_state.record_redirects += response.status_line is REDIRECT_LINE
        self._batch.add((self.transport, self._journal_lines(log, request.fields), request.hsts, response))

    def _resume_after_limit(self, logged: LoggedResponse | None) -> None:
        """Send the response, or let the slow path do it. A click that was taken is logged if the client leaves, too."""
        held, self._held = self._held, None
        assert held is not None
        if logged is not None:
            self._batch.log(self._journal_lines(logged.log, held.fields))
        if logged is not None and isinstance(logged.response, DeliveredResponse):
            self._delivery = logged.response.watch(self.loop)
            if self.transport.is_closing():
                self._delivery.end(ConnectionResetError())
        if self.transport.is_closing():
            return
        if logged is None:
            super().data_received(held.data)
        else:
            self._send(LoggedResponse(logged.response, ()), held)
            if self.is_draining:
                self._batch.flush()
                self.transport.close()
        self._read_early_data()

    def _client(self, fields: RequestFields) -> tuple[bytes, bytes]:
        """Return the client's address and country code. Those of a proxy's headers only if it is trusted."""
        if not self._is_proxied:
            return self._address, b""
        proxies = self._worker_state.proxies
        address = resolve_client_ip(self._address.decode(), (fields[FORWARDED],), proxies)
        return address.encode(), fields[COUNTRY][:2]

    def _journal_lines(self, log: Log, fields: RequestFields) -> bytes:
        """Return the lines for a visit. The last one has no end."""
        turn = self._batch.turn(self.loop)
        return b"\n".join([self._journal_line(target, flags, fields, turn) for target, flags in log])

    def _journal_line(self, target: bytes, flags: bytes, fields: RequestFields, turn: Turn) -> bytes:
        client = self._client(fields) if self._is_proxied else (self._address, b"")
        headers = fields[AGENT], fields[REFERRER], fields[LANGUAGE]
        return join_fields(turn.digits, target, flags, client, headers)
