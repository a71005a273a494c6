"""Store redirects in the cache, so that the fast path answers the next requests."""

from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response

from waypost import clock
from waypost.visits.cache import MAX_AGE_SECONDS, HotResponse
from waypost.visits.request import VisitRequest
from waypost.visits.services import Services


def cache_redirect(
    request: Request,
    services: Services,
    visit: VisitRequest,
    response: Response,
    *,
    journal_target: bytes,
    expiry: int | None = None,
    flags: bytes = b"",
) -> None:
    """Let the fast path send this redirect, at most until the second `expiry`."""
    location, *shared_headers = response.raw_headers
    until_ms = _expires_ms(clock.now() // 60)
    if expiry is not None:
        until_ms = min(until_ms, (expiry + 1) * 1000)
    hot = HotResponse(
        unique=b"%b: %b\r\n" % location,
        journal_target=journal_target,
        until_ms=until_ms,
        shared_headers=_join_headers(tuple(shared_headers)),
        flags=flags,
    )
    header = request.headers.get("host", "").encode("latin-1")
    services.worker_state.cache.put_hot(header, (visit.host, visit.alias), hot, version=visit.cache_version)


@lru_cache(2)
def _expires_ms(minute: int) -> int:
    """Return when responses of this minute expire, in milliseconds. Cached: they all share one object."""
    return round(minute * 60 + MAX_AGE_SECONDS) * 1000


@lru_cache(16)
def _join_headers(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Return headers as bytes. Cached: all redirects share one object."""
    return b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n"
