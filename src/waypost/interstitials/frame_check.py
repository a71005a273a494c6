"""Whether a destination lets itself be shown in a frame: its headers, looked up once and remembered for a while."""

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
from waypost.interstitials.csp import origin

_log = structlog.get_logger("framing")
PATIENCE = 1.5
"""Seconds that a visitor waits for a destination that nobody has looked at; the look itself goes on a little longer."""
_LOOK_SECONDS = 5.0
_KNOWN_SECONDS = 3600.0
_UNKNOWN_SECONDS = 60.0
_MOST_KNOWN = 5000
_MOST_AT_ONCE = 16
_MATTERS = frozenset({"content-type", "content-security-policy", "x-frame-options"})
_PAGES = ("text/html", "application/xhtml+xml")
Origins = tuple[str, ...]
"""The origins that a frame passes through on its way to a destination; none when it cannot be framed."""


class Framing:
    """What this process knows of destinations."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, safe_client.Seen | None]] = OrderedDict()
        self._under_way: dict[str, Future[safe_client.Seen | None]] = {}
        self._lookers = ThreadPoolExecutor(4, thread_name_prefix="frame")
        self._lock = threading.Lock()

    async def allows(self, url: str, by: str) -> Origins:
        """The origins for the policy of a page at the origin `by` that frames `url`; none when it may not, or nobody
        knows.

        What is looked at is the URL without its query, so that no visitor can make us ask again and again.
        """
        if origin(url) in ("", by):
            return ()
        seen = self._look(url.partition("#")[0].partition("?")[0])
        if isinstance(seen, Future):
            try:
                seen = await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(seen)), PATIENCE)
            except TimeoutError:
                return ()
        return origins_of(seen, by) if seen else ()

    def _look(self, url: str) -> safe_client.Seen | Future[safe_client.Seen | None] | None:
        with self._lock:
            until, known = self._known.get(url, (0.0, None))
            if until > time.monotonic():
                return known
            if url not in self._under_way:
                if len(self._under_way) >= _MOST_AT_ONCE:
                    return None
                self._under_way[url] = self._lookers.submit(self._see, url)
            return self._under_way[url]

    def _see(self, url: str) -> safe_client.Seen | None:
        """Look, and remember what matters. The whole work of a thread."""
        seen = None
        try:
            seen = safe_client.look(url, seconds=_LOOK_SECONDS)
            seen = replace(seen, headers=tuple(pair for pair in seen.headers if pair[0] in _MATTERS))
        except safe_client.Refused:
            pass  # nobody knows: the visitor gets the redirect, and in a minute we look again
        except Exception:  # noqa: BLE001  # the edge of the thread: what a stranger's server does must stay in it
            _log.exception("a destination could not be looked at", url=url)
        with self._lock:
            self._known[url] = (time.monotonic() + (_KNOWN_SECONDS if seen else _UNKNOWN_SECONDS), seen)
            self._known.move_to_end(url)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            self._under_way.pop(url, None)
        return seen


def origins_of(seen: safe_client.Seen, by: str) -> Origins:
    """The origins on the way when a page at `by` may frame what was seen."""
    kinds = [value.partition(";")[0].strip().lower() for name, value in seen.headers if name == "content-type"]
    ancestors = list(_ancestors(value for name, value in seen.headers if name == "content-security-policy"))
    forbids = any(name == "x-frame-options" for name, _ in seen.headers) and not ancestors
    allowed = all(_is_named(by, sources) for sources in ancestors)
    if not 200 <= seen.status < 300 or not kinds or kinds[-1] not in _PAGES or forbids or not allowed:
        return ()
    origins = tuple(dict.fromkeys(origin(url) for url in seen.urls))
    is_mixed = by.startswith("https:") and not all(one.startswith("https:") for one in origins)
    return () if "" in origins or by in origins or is_mixed else origins


def _ancestors(policies: Iterable[str]) -> Iterable[list[str]]:
    """The sources of every `frame-ancestors` there is. All policies hold, so all of them must let us."""
    for policy in (one for value in policies for one in value.split(",")):
        for directive in policy.split(";"):
            name, *sources = directive.split()[:1000] or [""]
            if name.lower() == "frame-ancestors":
                yield [source.lower() for source in sources]
                break


def _is_named(by: str, sources: Iterable[str]) -> bool:
    """Whether the page at origin `by` is among the sources. What is hard to compare counts as a no."""
    parts = urlsplit(by)
    host = parts.netloc
    for source in sources:
        if source in ("*", f"{parts.scheme}:", by, host):
            return True
        scheme, _, name = source.rpartition("://")
        if scheme in ("", parts.scheme) and name.startswith("*.") and host.endswith(name[1:]):
            return True
    return False
