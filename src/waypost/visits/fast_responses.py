"""Responses of the fast path as bytes, built without the visitor's request: pages, downloads and redirects."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from waypost.core import clock
from waypost.core.uris import to_uri
from waypost.http.compression import ContentCoding
from waypost.http.delivery import Delivery
from waypost.http.security_headers import add_isolation
from waypost.media.branding.brand import NO_BRAND, Brand
from waypost.visits.cache import MAX_AGE_SECONDS, HotResponse
from waypost.visits.domain_record import DomainView
from waypost.visits.outcome import Content, JournalFields, Redirection
from waypost.visits.responses import BRAND_KEY, DOMAIN_KEY, redirect


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

    def watch(self, loop: AbstractEventLoop) -> Delivery:
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
