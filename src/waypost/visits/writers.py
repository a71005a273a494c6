"""The two writers of the outcomes of visits: bytes, which the HTTP protocol sends without an ASGI request, and ASGI.

The responses of one turn of the event loop are a batch: their clicks are written together, then they are sent.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.clicks.journal import Journal
from waypost.core import clock
from waypost.core.uris import to_uri
from waypost.http.compression import ContentCoding
from waypost.http.delivery import Delivery
from waypost.http.middleware import add_isolation
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.visits.cache import MAX_AGE_SECONDS, HotResponse
from waypost.visits.outcome import Content, Deferred, JournalFields, NeedsRequest, Outcome, Page, Redirection
from waypost.visits.record_queries import DomainView
from waypost.visits.request import VisitRequest
from waypost.visits.responses import BRAND_KEY, DOMAIN_KEY, redirect
from waypost.visits.visitor_services import Services


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
