"""Visits that the fast path answers from a record: redirects that take nothing from a limit, pages, unknown names."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.core import clock
from waypost.core.settings import Settings
from waypost.core.uris import MAX_QUERY, encoded
from waypost.http.compression import content_coding
from waypost.http.framing import HOST_HEADER
from waypost.http.middleware import HSTS
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import host_of, is_https_only, is_own
from waypost.visits.alias import unknown_outcome
from waypost.visits.cache import Cache, HotBody, HotResponse, RequestedHost, page_key
from waypost.visits.decide import RefusalReason, public_code
from waypost.visits.outcome import Content, Deferred, Log, NeedsRequest, Outcome, Page, Redirection, Refused
from waypost.visits.record_queries import DomainView
from waypost.visits.request import VisitRequest
from waypost.visits.visit import MAX_HOST
from waypost.visits.visitor_services import Services
from waypost.visits.writers import (
    PageView,
    content_of,
    delivery_response,
    end_of_response,
    page_request,
    redirect_response,
)

_log = structlog.get_logger("visits")
_QUERY = rb"(?:\?([!-\"$-~]*))?\Z"
_TARGET = re.compile(rb"/([A-Za-z0-9_-]{1,%d})" % alias_rules.MAX_OWN_LENGTH + _QUERY)
_ROTATOR_TARGET = re.compile(rb"/r/([A-Za-z0-9_-]{3,50})" + _QUERY)
_DOMAIN_TARGET = re.compile(rb"/([A-Za-z0-9_.~/-]{1,%d})" % alias_rules.MAX_LENGTH + _QUERY)
_MAX_REFUSALS = 200  # pages of reasons, hosts, languages and encodings
_HSTS_LINE = b"strict-transport-security: %b\r\n" % HSTS.encode()


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
