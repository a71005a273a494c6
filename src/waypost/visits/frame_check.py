"""Check whether a destination allows being framed, by its response headers. Results are cached per process."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import structlog

from waypost.http import safe_client
from waypost.urls.url_parts import origin_of

_log = structlog.get_logger("frame check")
VISITOR_WAIT_SECONDS = 1.5
"""How long a visitor waits for the check of a destination. The check itself continues in the background."""
_FETCH_SECONDS = 5.0
_RESULT_SECONDS = 3600.0
_ERROR_SECONDS = 60.0
_MAX_CACHED = 5000
_MAX_CONCURRENT = 16
_RELEVANT_HEADERS = frozenset({"content-type", "content-security-policy", "x-frame-options"})
_PAGE_TYPES = ("text/html", "application/xhtml+xml")
Origins = tuple[str, ...]
"""The origins that a frame loads, redirects included; empty if the destination cannot be framed."""


class FrameChecker:
    """This process's cached results."""

    def __init__(self) -> None:
        self._results: OrderedDict[str, tuple[float, safe_client.RedirectChain | None]] = OrderedDict()
        self._in_progress: dict[str, Future[safe_client.RedirectChain | None]] = {}
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="frame")
        self._lock = threading.Lock()

    async def framing_origins(self, url: str, framed_by: str) -> Origins:
        """Return the origins to allow when a page of the origin `framed_by` frames `url`.

        Empty if the destination forbids framing, or if that is unknown. The URL is checked without its query, so
        that visitors cannot cause a request each.
        """
        if origin_of(url) in ("", framed_by):
            return ()
        response = self._check(url.partition("#")[0].partition("?")[0])
        if isinstance(response, Future):
            try:
                response = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(response)), VISITOR_WAIT_SECONDS)
            except TimeoutError:
                return ()
        return framing_origins(response, framed_by) if response else ()

    def _check(self, url: str) -> safe_client.RedirectChain | Future[safe_client.RedirectChain | None] | None:
        with self._lock:
            until, response = self._results.get(url, (0.0, None))
            if until > time.monotonic():
                return response
            if url not in self._in_progress:
                if len(self._in_progress) >= _MAX_CONCURRENT:
                    return None
                self._in_progress[url] = self._threads.submit(self._fetch, url)
            return self._in_progress[url]

    def _fetch(self, url: str) -> safe_client.RedirectChain | None:
        """Request the destination and cache its relevant headers. Runs in a thread."""
        response = None
        try:
            response = safe_client.probe(url, seconds=_FETCH_SECONDS)
            headers = tuple(header for header in response.headers if header[0] in _RELEVANT_HEADERS)
            response = replace(response, headers=headers)
        except safe_client.Refused:
            pass  # unknown: visitors are redirected, and the next check is in a minute
        except Exception:  # noqa: BLE001  # the edge of the thread: errors caused by a foreign server must stay in it
            _log.exception("frame check failed", url=url)
        with self._lock:
            self._results[url] = (time.monotonic() + (_RESULT_SECONDS if response else _ERROR_SECONDS), response)
            self._results.move_to_end(url)
            while len(self._results) > _MAX_CACHED:
                self._results.popitem(last=False)
            self._in_progress.pop(url, None)
        return response


def framing_origins(response: safe_client.RedirectChain, framed_by: str) -> Origins:
    """Return the origins to allow when a page of the origin `framed_by` frames a response; empty if it may not."""
    types = [value.partition(";")[0].strip().lower() for name, value in response.headers if name == "content-type"]
    policies = (value for name, value in response.headers if name == "content-security-policy")
    ancestors = list(_frame_ancestors(policies))
    is_denied = any(name == "x-frame-options" for name, _ in response.headers) and not ancestors
    is_allowed = all(_matches(framed_by, sources) for sources in ancestors)
    if not 200 <= response.status < 300 or not types or types[-1] not in _PAGE_TYPES or is_denied or not is_allowed:
        return ()
    origins = tuple(dict.fromkeys(origin_of(url) for url in response.urls))
    is_mixed = framed_by.startswith("https:") and not all(origin.startswith("https:") for origin in origins)
    return () if "" in origins or framed_by in origins or is_mixed else origins


def _frame_ancestors(policies: Iterable[str]) -> Iterable[list[str]]:
    """Yield the sources of every `frame-ancestors` directive. All policies apply, so each must allow the page."""
    for policy in (policy for value in policies for policy in value.split(",")):
        for directive in policy.split(";"):
            name, *sources = directive.split()[:1000] or [""]
            if name.lower() == "frame-ancestors":
                yield [source.lower() for source in sources]
                break


def _matches(origin: str, sources: Iterable[str]) -> bool:
    """Return whether an origin is among the sources. A source that is hard to compare does not match."""
    parts = urlsplit(origin)
    host = parts.netloc
    for source in sources:
        if source in ("*", f"{parts.scheme}:", origin, host):
            return True
        scheme, _, name = source.rpartition("://")
        if scheme in ("", parts.scheme) and name.startswith("*.") and host.endswith(name[1:]):
            return True
    return False
