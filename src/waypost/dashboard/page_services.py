"""The services that all requests for pages share."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Connection
from starlette.responses import Response

from waypost.core.errors import Kind, Problem
from waypost.dashboard.live_visits import LiveVisits
from waypost.db.signing import Signer
from waypost.media.favicons import Favicons

T = TypeVar("T")
LIFE_SECONDS = 60
_MAX_ENTRIES = 512
_MAX_RUNNING = 2
_WAIT_SECONDS = 2.0


class ResultCache:
    """Results by key, for a minute. Thread-safe; one for each process.

    Few results are computed at the same time, so that visitors leave threads and connections to users.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._running = threading.BoundedSemaphore(_MAX_RUNNING)

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of a key; `compute` it if it is not known. Raises UNAVAILABLE if too many are computed."""
        if (entry := self._find(key)) is not None:
            return cast("T", entry[1])  # the key determines the type
        if not self._running.acquire(timeout=_WAIT_SECONDS):
            raise Problem(Kind.UNAVAILABLE, "This service is busy right now. Please try again.", retry_after=5)
        try:
            if (entry := self._find(key)) is not None:  # another thread has computed it
                return cast("T", entry[1])
            result = compute()
        finally:
            self._running.release()
        with self._lock:
            self._entries[key] = (time.monotonic() + LIFE_SECONDS, result)
            self._entries.move_to_end(key)
            if len(self._entries) > _MAX_ENTRIES:
                self._entries.popitem(last=False)
        return result

    def _find(self, key: Hashable) -> tuple[float, Any] | None:
        with self._lock:
            entry = self._entries.get(key)
        return entry if entry is not None and time.monotonic() < entry[0] else None


Preview = Callable[[str, Mapping[str, Any]], Response]
"""Renders a public page for a preview, from its kind and its fields."""


class DryRun(Protocol):
    """Evaluates a link without a visit (`interstitials/link_visits.py`): reason for no redirect, and destination."""

    def __call__(
        self, tx: Connection, account: int, link: int, *, country: str, os: str, device: str, language: str
    ) -> tuple[str, str]: ...


@dataclass(frozen=True)
class PageServices:
    """Services that all page requests of a process share. `preview` and `bio_page` render public pages."""

    signer: Signer
    render_template: Callable[..., str]
    preview: Preview
    dry_run: DryRun
    secure: bool
    bio_page: Callable[..., str]
    favicons: Favicons
    live_visits: LiveVisits
    results: ResultCache = field(default_factory=ResultCache)

    @property
    def cookie(self) -> str:
        """The name of the session cookie. On HTTPS it has the `__Host-` prefix, so that no other host can set it."""
        return "__Host-waypost" if self.secure else "waypost"
