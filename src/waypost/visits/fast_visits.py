"""Visits that the fast path answers from a record: redirects that take nothing from a limit, pages, unknown names."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost import clock
from waypost.clicks.journal import entry
from waypost.http.client_ip import is_private
from waypost.http.compression import content_coding
from waypost.http.framing import HOST_HEADER
from waypost.http.security_headers import HSTS
from waypost.observability.metrics import Meter
from waypost.settings import Settings
from waypost.uris import MAX_QUERY, encoded
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN
from waypost.urls.hostnames import host_of, is_https_only, is_own
from waypost.visits.cache import Cache, HotBody, HotResponse, RequestedHost, page_key
from waypost.visits.click_limits import LinkKey
from waypost.visits.domain_view import DomainView
from waypost.visits.fast_outcomes import FastPage, FastRedirect, FileDelivery, JournalFields, LimitedOutcome
from waypost.visits.fast_responses import (
    PageView,
    content_of,
    delivery_response,
    end_of_response,
    page_request,
    redirect_response,
)
from waypost.visits.request import VisitRequest
from waypost.visits.responses import PageRenderer
from waypost.visits.visit import MAX_HOST, VisitService

_log = structlog.get_logger("visits")
_QUERY = rb"(?:\?([!-\"$-~]*))?\Z"
_TARGET = re.compile(rb"/([A-Za-z0-9_-]{1,%d})" % alias_rules.MAX_OWN_LENGTH + _QUERY)
_ROTATOR_TARGET = re.compile(rb"/r/([A-Za-z0-9_-]{3,50})" + _QUERY)
_DOMAIN_TARGET = re.compile(rb"/([A-Za-z0-9_.~/-]{1,%d})" % alias_rules.MAX_LENGTH + _QUERY)
_MAX_NOT_FOUND = 200  # pages of hosts, languages and encodings
_HSTS_LINE = b"strict-transport-security: %b\r\n" % HSTS.encode()


class Target(NamedTuple):
    """Meaning of a path: an alias or the slug of a rotator, and the query as in VisitRequest."""

    alias: str
    query: str
    is_rotator: bool = False


FastRule = Callable[[VisitService, VisitRequest, Any], FastRedirect | FastPage | LimitedOutcome | None]
"""Returns the response of a visit to a record, or None if the visit needs the slow path."""


class LimitedResponse(NamedTuple):
    """A response that needs a limit in the database: something is taken from it, or it is read."""

    take: Callable[[Callable[[HotResponse | None], None]], None]
    """Calls its argument later with the response; with None if the visit needs the slow path."""


@dataclass(slots=True, kw_only=True)
class RotatedResponse(HotResponse):
    """A response that is logged for a link and for the campaign whose rotator chose the link. Never cached."""

    campaign: JournalFields


class RotatorLoader(Protocol):
    """Chooses the links of rotators (waypost.campaigns.fast_rotator)."""

    def accepts(self, visit: VisitRequest) -> bool: ...

    def load(self, visit: VisitRequest, done: Callable[[Any], None]) -> None:
        """Call `done` with a record for `FastVisits.respond`, or with an exception if the visit needs the slow path."""

    def close(self) -> None: ...


class FastVisits:
    """The visits of one worker that need no ASGI request. Not thread-safe: runs on the event loop."""

    def __init__(
        self,
        visits: VisitService,
        pages: PageRenderer,
        meter: Meter,
        rules: Mapping[type, FastRule],
        rotators: RotatorLoader,
    ) -> None:
        """`rules`: by the type of the record."""
        self.rotators = rotators
        self.loader = visits.loader
        self._visits = visits
        self._pages = pages
        self._meter = meter
        self._rules = rules
        self._not_found: dict[tuple[PageView, DomainView | None], bytes] = {}

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

    def respond(self, visit: VisitRequest, record: Any, *, version: int) -> HotResponse | LimitedResponse | None:
        """Return the response to a visit; None if it needs the slow path. `version`: the cache's before the read."""
        try:
            return self._respond(visit, record, version)
        except Exception:  # noqa: BLE001  # the slow path answers, and reports its own fault with a request id
            _log.exception("a visit needs the slow path")
            return None

    def _respond(self, visit: VisitRequest, record: Any, version: int) -> HotResponse | LimitedResponse | None:
        if record is None:
            may_be_path = "/" in visit.alias or visit.alias.lower() in alias_rules.RESERVED  # of a branded domain
            may_be_other = may_be_path or alias_rules.without_appended(visit.alias) != visit.alias
            return None if may_be_other else self._not_found_response(visit)
        rule = self._rules.get(type(record))
        outcome = rule(self._visits, visit, record) if rule else None
        if isinstance(outcome, FastRedirect):
            return self._redirect(visit, outcome, version)
        if isinstance(outcome, FastPage):
            return self._page(visit, outcome, version)
        return None if outcome is None else LimitedResponse(partial(self._take, visit, outcome, version))

    def _redirect(
        self, visit: VisitRequest, outcome: FastRedirect, version: int
    ) -> HotResponse | LimitedResponse | None:
        response = redirect_response(outcome)
        if outcome.limited_link is not None:
            return self._limited(response, outcome.limited_link)
        if outcome.also_logged is not None:
            return _rotated(response, outcome.also_logged)
        if outcome.is_constant:
            self._cache.put_hot((visit.host, visit.alias), response, version=version)
        return response

    def _limited(self, response: HotResponse, link: LinkKey) -> LimitedResponse | None:
        taker = self._visits.click_taker
        if taker.is_overloaded:
            return None

        def take(done: Callable[[HotResponse | None], None]) -> None:
            taker.submit(link, lambda is_taken: done(response if is_taken is True else None))

        return LimitedResponse(take)

    def _take(
        self, visit: VisitRequest, outcome: LimitedOutcome, version: int, done: Callable[[HotResponse | None], None]
    ) -> None:
        def finish(taken: FileDelivery | FastPage | None) -> None:
            if isinstance(taken, FastPage):
                done(self._page(visit, taken, version))
            else:
                done(None if taken is None else delivery_response(taken))

        outcome.take(finish)

    @property
    def _cache(self) -> Cache:
        return self._visits.cache

    def _not_found_response(self, visit: VisitRequest) -> HotResponse | None:
        """Log the visit for the domain, and redirect or show the error page (waypost.visits.alias)."""
        is_cached, domain = self._cache.get_domain(visit.host)
        if not is_cached:
            return None
        if domain is None and is_private(visit.client_ip):
            return None  # its page names the host name that is expected
        target = entry.item_fields(domain.account, "missing", domain.id) if domain else b""
        if domain and domain.redirect404:
            blocklist = self._cache.blocklist
            is_allowed = blocklist is not None and not blocklist.blocks(domain.redirect404)
            return redirect_response(FastRedirect(domain.redirect404, target)) if is_allowed else None
        view = self._page_view(visit)
        page = self._not_found.get((view, domain))
        if page is None:
            if len(self._not_found) >= _MAX_NOT_FOUND:
                self._not_found.clear()
            page = self._not_found[view, domain] = content_of(self._pages.refuse(page_request(view, domain), "missing"))
        else:
            self._meter.count("refusals", "missing")
        return HotResponse(page, target, 0, status_line=STATUS_LINE[404])

    def _page(self, visit: VisitRequest, page: FastPage, version: int) -> HotResponse | None:
        view = self._page_view(visit)
        if page.is_for_browsers and not visit.wants_page:
            return None
        name = (visit.host, visit.alias)
        key = page_key(name, *view)
        cached = self._cache.bodies.get(key)
        if cached is not None and cached.left == page.left and cached.until_ms > clock.now_ms():
            return cached
        is_host_cached, domain = self._cache.get_domain(visit.host)
        if not is_host_cached:
            return None
        response = page.render(page_request(view, domain), self._pages)
        body = HotBody(
            unique=content_of(response),
            journal_target=page.journal_target,
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


def _rotated(response: HotResponse, campaign: JournalFields) -> RotatedResponse:
    names = ("unique", "journal_target", "until_ms", "shared_headers", "flags")
    return RotatedResponse(**{name: getattr(response, name) for name in names}, campaign=campaign)
