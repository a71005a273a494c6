"""The two writers of the outcomes of visits: bytes, which the HTTP protocol sends without an ASGI request, and ASGI.

The first one answers from a record: redirects, pages and unknown names, and clicks and downloads that are taken from a
limit. The responses of one turn of the event loop are a batch: their clicks are written together, then they are sent.
"""

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.clicks.journal import Journal
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.core.uris import MAX_QUERY, encoded, to_uri
from waypost.http.compression import ContentCoding, content_coding
from waypost.http.delivery import Delivery
from waypost.http.framing import HOST_HEADER
from waypost.http.middleware import HSTS, add_isolation
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import host_of, is_https_only, is_own
from waypost.visits.cache import MAX_AGE_SECONDS, Cache, HotBody, HotResponse, RequestedHost, page_key
from waypost.visits.decide import RefusalReason, public_code
from waypost.visits.host_routes import unknown_outcome
from waypost.visits.outcome import (
    Content,
    Deferred,
    JournalFields,
    Log,
    NeedsRequest,
    Outcome,
    Page,
    Redirection,
    Refused,
)
from waypost.visits.record_queries import DomainView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import BRAND_KEY, DOMAIN_KEY, redirect
from waypost.visits.visit import MAX_HOST
from waypost.visits.visitor_services import Services

_log = structlog.get_logger("visits")
_QUERY = rb"(?:\?([!-\"$-~]*))?\Z"
_TARGET = re.compile(rb"/([A-Za-z0-9_-]{1,%d})" % alias_rules.MAX_OWN_LENGTH + _QUERY)
_ROTATOR_TARGET = re.compile(rb"/r/([A-Za-z0-9_-]{3,50})" + _QUERY)
_DOMAIN_TARGET = re.compile(rb"/([A-Za-z0-9_.~/-]{1,%d})" % alias_rules.MAX_LENGTH + _QUERY)
_MAX_REFUSALS = 200  # pages of reasons, hosts, languages and encodings
_HSTS_LINE = b"strict-transport-security: %b\r\n" % HSTS.encode()


class PageView(NamedTuple):
    """The properties of a visitor that a page may depend on, next to the host."""

    language: str
    is_html: bool
    coding: ContentCoding


def page_request(view: PageView, domain: DomainView | None, brand: Brand = NO_BRAND) -> Request:
    """Return a request with only the headers that a page may depend on. `brand`: of the page of an unknown host."""
    headers = [
        (b"accept", b"text/html" if view.is_html else b"application/json"),
        (b"accept-encoding", view.coding.encode()),
        (b"accept-language", view.language.encode()),
    ]
    return Request({"type": "http", "method": "GET", "headers": headers, DOMAIN_KEY: domain, BRAND_KEY: brand})


def content_of(response: Response) -> bytes:
    """Return the headers and the body of a response."""
    add_isolation(MutableHeaders(raw=response.raw_headers))
    return _joined(response.raw_headers) + bytes(response.body)


def redirect_response(redirection: Redirection) -> HotResponse:
    """Return the response of a redirect, with the journal fields of one that is cached."""
    fields = redirection.log[0] if redirection.log else _NOT_LOGGED
    return HotResponse(
        unique=b"location: %b\r\n" % to_uri(redirection.url).encode(),
        journal_target=fields.target,
        until_ms=end_of_response(redirection.expiry),
        shared_headers=_REDIRECT_HEADERS,
        flags=fields.flags,
    )


@dataclass(slots=True, kw_only=True)
class DeliveredResponse(HotResponse):
    """A download. It must not be cached."""

    on_broken: Callable[[], object]

    def watch(self, loop: asyncio.AbstractEventLoop) -> Delivery:
        """Watch whether the client reads it."""
        delivery = Delivery(None, loop)
        delivery.watch(len(self.unique), self.on_broken)
        return delivery


def delivery_response(content: Content) -> HotResponse:
    """Return the response of a download."""
    unique, status = content_of(content.response), STATUS_LINE[content.response.status_code]
    return DeliveredResponse(unique, b"", 0, status_line=status, on_broken=content.on_broken)


def end_of_response(expiry: int | None) -> int:
    """Return when a response expires, in milliseconds: after an hour, or after the second `expiry`."""
    end = _end_of_age(clock.now() // 60)
    return end if expiry is None else min(end, (expiry + 1) * 1000)


@lru_cache(2)
def _end_of_age(minute: int) -> int:
    """Return when responses of this minute expire, in milliseconds. Cached: they all share one object."""
    return round(minute * 60 + MAX_AGE_SECONDS) * 1000


def _joined(headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n"


_NOT_LOGGED = JournalFields(b"")
_REDIRECT_HEADERS = _joined(redirect("https://example.com").raw_headers[1:])
"""The headers of every redirect after `Location`."""


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


class Target(NamedTuple):
    """Meaning of a path: an alias or the slug of a rotator, and the query as in VisitRequest."""

    alias: str
    query: str
    is_rotator: bool = False


class LoggedResponse(NamedTuple):
    """A response, and the journal fields of its visit."""

    response: HotResponse
    log: Log


class HeldVisit(NamedTuple):
    """A visit that waits for the database."""

    begin: Callable[[Callable[[LoggedResponse | None], None]], None]
    """Calls its argument later, with the response, or with None if the visit needs the slow path."""


class RotatorLoader(Protocol):
    """Chooses the links of rotators (waypost.items.campaigns.fast_rotator)."""

    def accepts(self, visit: VisitRequest) -> bool: ...

    def load(self, visit: VisitRequest, done: Callable[[Any], None]) -> None:
        """Call `done` with a record for `FastVisits.respond`; with an exception if there is none."""

    def close(self) -> None: ...


class FastVisits:
    """The visits of one worker that need no ASGI request. Not thread-safe: runs on the event loop."""

    def __init__(self, services: Services, rotators: RotatorLoader) -> None:
        self.rotators = rotators
        self.loader = services.visits.loader
        self._visits = services.visits
        self._pages = services.pages
        self._meter = services.meter
        self._rules = services.rules
        self._refusals: dict[tuple[RefusalReason, PageView, Brand, DomainView | None], HotResponse] = {}

    def close(self) -> None:
        """Stop the threads."""
        self._visits.close()
        self.rotators.close()

    def learn_host(self, header: bytes) -> RequestedHost | None:
        """Return what a `Host` header means; None if the request is invalid, or if no domain has such a name.

        If its domain is not cached, the host is the requested one, although it can be that of the domain with `www.`.
        """
        text = header.decode("latin-1")
        settings: Settings = self._visits.settings
        name = OWN if is_own(text, settings) else host_of(text)
        if not HOST_HEADER.match(header) or len(name) > MAX_HOST:
            return None
        version, domain = self._cache.version, self._cache.get_domain(name)[1] if name else None
        name = domain.host if domain else name
        host = RequestedHost(name, name.encode(), _HSTS_LINE if is_https_only(text, settings) else b"")
        if domain or not name:
            self._cache.put_host(header, host, version=version)
        return host

    def knows(self, host: str) -> bool:
        """Return whether a request has the alias of the host: its domain is cached, or it is the service's own host."""
        return not host or self._cache.get_domain(host)[0]

    def target(self, host: str, url: bytes) -> Target | None:
        """Return what the path and query of a request mean; None if they need the slow path."""
        domain = self._cache.get_domain(host)[1] if host else None
        match = _DOMAIN_TARGET.match(url) if domain else _TARGET.match(url)
        is_rotator = match is None and host == OWN
        match = _ROTATOR_TARGET.match(url) if is_rotator else match
        if match is None:
            return None
        alias, query = match[1].decode(), encoded(match[2]) if match[2] else ""
        if len(query) > MAX_QUERY:
            return None
        if not is_rotator and alias_rules.is_reserved(alias, host=host if domain else OWN):
            return None
        if domain and domain.ignorecase:
            alias = alias.lower()
        return Target(alias, query, is_rotator)

    def respond(self, visit: VisitRequest, record: Any, *, version: int) -> LoggedResponse | HeldVisit | None:
        """Return the response to a visit; None if it needs the slow path. `version`: the cache's before the read."""
        try:
            outcome = self._outcome(visit, record)
            if isinstance(outcome, Deferred):
                return None if outcome.is_overloaded else self._held(visit, outcome, version)
            return None if outcome is None else self._response(visit, outcome, version)
        except Exception:  # noqa: BLE001  # the slow path answers, and reports its own fault with a request id
            _log.exception("a visit needs the slow path")
            return None

    def _held(self, visit: VisitRequest, deferred: Deferred, version: int) -> HeldVisit | None:
        """Return the visit until the database responds; None if it needs the slow path.

        The response to a click exists before the click is taken, because the slow path would take a second one.
        """
        expected = deferred.granted
        granted = None if expected is None else self._response(visit, expected, version)
        if expected is not None and granted is None:
            return None

        def begin(done: Callable[[LoggedResponse | None], None]) -> None:
            def finish(outcome: Outcome | BaseException) -> None:
                is_granted = granted is not None and outcome is expected
                done(granted if is_granted else self._after_limit(visit, outcome, version))

            deferred.begin(finish)

        return HeldVisit(begin)

    def _after_limit(
        self, visit: VisitRequest, outcome: Outcome | BaseException, version: int
    ) -> LoggedResponse | None:
        try:
            return None if isinstance(outcome, BaseException) else self._response(visit, outcome, version)
        except Exception:  # noqa: BLE001  # as in `respond`
            _log.exception("a visit needs the slow path")
            return None

    def _outcome(self, visit: VisitRequest, record: Any) -> Outcome | None:
        blocked = self._cache.blocklist
        if blocked is None:
            return None
        if record is not None:
            outcome = self._rules[type(record)](self._visits, visit, record, blocked)
            if isinstance(outcome, NeedsRequest) and outcome.content is not None:
                return outcome.content()
            return outcome
        may_be_path = "/" in visit.alias or visit.alias.lower() in alias_rules.RESERVED  # of a branded domain
        is_cached, domain = self._cache.get_domain(visit.host)
        if may_be_path or not is_cached or alias_rules.without_appended(visit.alias) != visit.alias:
            return None
        return unknown_outcome(visit, domain, blocked)

    def _response(self, visit: VisitRequest, outcome: Outcome, version: int) -> LoggedResponse | None:
        if isinstance(outcome, Redirection):
            response = redirect_response(outcome)
            if outcome.is_constant:
                self._cache.put_hot((visit.host, visit.alias), response, version=version)
            return LoggedResponse(response, outcome.log)
        if isinstance(outcome, NeedsRequest | Deferred):
            return None
        if isinstance(outcome, Content):
            return LoggedResponse(delivery_response(outcome), outcome.log)
        page = self._page(visit, outcome, version) if isinstance(outcome, Page) else self._refusal(visit, outcome)
        return None if page is None else LoggedResponse(page, outcome.log)

    @property
    def _cache(self) -> Cache:
        return self._visits.cache

    def _refusal(self, visit: VisitRequest, refused: Refused) -> HotResponse | None:
        """Return the error page."""
        view, (is_cached, domain) = self._page_view(visit), self._cache.get_domain(visit.host)
        is_own_cached, own_host = self._cache.get_domain(OWN)
        if not (is_cached and (domain or is_own_cached)):
            return None
        brand = own_host.brand if own_host and not domain else NO_BRAND  # that of the pages of unknown hosts
        page = self._refusals.get((refused.reason, view, brand, domain))
        if page is not None:
            self._meter.count("refusals", public_code(refused.reason))
            return page
        if len(self._refusals) >= _MAX_REFUSALS:
            self._refusals.clear()
        response = self._pages.refuse(page_request(view, domain, brand), refused.reason)
        page = HotResponse(content_of(response), b"", 0, status_line=STATUS_LINE[response.status_code])
        self._refusals[refused.reason, view, brand, domain] = page
        return page

    def _page(self, visit: VisitRequest, page: Page, version: int) -> HotResponse | None:
        view = self._page_view(visit)
        name = (visit.host, visit.alias)
        key = page_key(name, view)
        cached = self._cache.bodies.get(key)
        if cached is not None and cached.left == page.left and cached.until_ms > clock.now_ms():
            return cached
        is_host_cached, domain = self._cache.get_domain(visit.host)
        if not is_host_cached:
            return None
        response = page.render(page_request(view, domain), self._pages)
        body = HotBody(
            unique=content_of(response),
            journal_target=b"",
            until_ms=end_of_response(page.expiry),
            status_line=STATUS_LINE[response.status_code],
            name=name,
            left=page.left,
        )
        self._cache.put_body(key, body, version=version)
        return body

    def _page_view(self, visit: VisitRequest) -> PageView:
        language = self._pages.language(visit.accept_language.decode("latin-1"))
        return PageView(language, not visit.wants_json, content_coding(visit.accept_encoding.decode("latin-1")))


async def respond(request: Request, services: Services, visit: VisitRequest, outcome: Outcome) -> Response:
    """Log a visit, and return the response to it."""
    if isinstance(outcome, Deferred):
        outcome = await _result(outcome)
    assert not isinstance(outcome, Content | Deferred), "a download needs a request here"
    for fields in outcome.log:
        services.visits.log_visit(fields.target, visit, fields.flags)
    if isinstance(outcome, NeedsRequest):
        return await outcome.handle(request, services, visit)
    if isinstance(outcome, Page):
        return outcome.render(request, services.pages)
    if isinstance(outcome, Redirection):
        services.meter.count("redirects", "full")
        return redirect(outcome.url, status=303 if request.method == "POST" else 302)
    return services.pages.refuse(request, outcome.reason)


async def _result(deferred: Deferred) -> Outcome:
    """Return the outcome, once the database has responded."""
    future: asyncio.Future[Outcome | BaseException] = asyncio.get_running_loop().create_future()
    deferred.begin(lambda result: None if future.done() else future.set_result(result))
    outcome = await future
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
