"""The budget of one request for slow work, which all its items share (decision 79)."""

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from waypost.core.errors import Kind, Problem, invalid

T = TypeVar("T")
MAX_FETCHES = 20
MAX_FETCH_SECONDS = 30.0
_MAX_CODES = 500
_MAX_COPIED_BYTES = 16 * 1024 * 1024
_MAX_ITEM_SECONDS = 120  # less than the claim of an idempotency key lasts


class RequestBudget:
    """Counters of the slow work of one request, for any number of items.

    They are of requests to other servers and the time spent waiting for them, QR codes that are drawn, and copies of
    pictures. A request whose client has disconnected does nothing more.
    """

    def __init__(self, *, max_fetches: int = MAX_FETCHES, max_fetch_seconds: float = MAX_FETCH_SECONDS) -> None:
        self.fetches = 0
        self.is_abandoned = False
        """True after the client has disconnected; the event loop sets it."""
        self._began = time.monotonic()
        self._max_fetches = max_fetches
        self._max_fetch_seconds = max_fetch_seconds
        self._waited = 0.0
        self._codes = 0
        self._copied_bytes = 0
        self._loaded: dict[str, dict[Hashable, Any]] = {}

    @contextmanager
    def fetch(self, field: str, seconds: float) -> Iterator[float]:
        """Count a request to another server, and the time that the block takes.

        The value is the time that the request can take, at most `seconds`. Raises INVALID on the field when no request
        or no time is left.
        """
        self.require_client()
        left = self._max_fetch_seconds - self._waited
        if self.fetches >= self._max_fetches:
            most = f"at most {self._max_fetches} requests to other servers"
            raise invalid(field, f"{field}: one request or import can make {most}. Send the rest separately.")
        if left <= 0:
            most = f"at most {self._max_fetch_seconds:.0f} seconds for other servers"
            raise invalid(field, f"{field}: one request or import can wait {most}. Send the rest separately.")
        self.fetches += 1
        began = time.monotonic()
        try:
            yield min(seconds, left)
        finally:
            self._waited += time.monotonic() - began

    def load_once(self, kind: str, source: Hashable, load: Callable[[], T], *, most: int, refusal: Problem) -> T:
        """Return what `load` returns for a source. It is called once: its problem is raised again.

        Raises `refusal` for more than `most` sources of a kind.
        """
        known = self._loaded.setdefault(kind, {})
        if source not in known:
            if len(known) >= most:
                raise refusal
            try:
                known[source] = load()
            except Problem as problem:
                known[source] = problem
        result: T | Problem = known[source]  # `load` of the same kind returned it
        if isinstance(result, Problem):
            raise result
        return result

    def draw_code(self) -> None:
        """Count a QR code that is drawn and decoded. Raises INVALID on `data`."""
        self.require_client()
        if self._codes >= _MAX_CODES:
            raise invalid(
                "data", f"data: one request can draw at most {_MAX_CODES} QR codes. Send the rest in another."
            )
        self._codes += 1

    def keep_copy(self, field: str, size: int) -> None:
        """Count the bytes of a copy of a picture, which are kept until the end. Raises INVALID on the field."""
        self.require_client()
        if self._copied_bytes + size > _MAX_COPIED_BYTES:
            most = f"at most {_MAX_COPIED_BYTES} bytes of copies of pictures"
            raise invalid(field, f"{field}: one request can make {most}. Send fewer or smaller pictures.")
        self._copied_bytes += size

    def begin_item(self) -> None:
        """Raise UNAVAILABLE if the items of the request have taken too long to begin another one."""
        self.require_client()
        if time.monotonic() - self._began > _MAX_ITEM_SECONDS:
            message = (
                f"This request has taken {_MAX_ITEM_SECONDS} seconds, the most. Send this item in another request."
            )
            raise Problem(Kind.UNAVAILABLE, message)

    def require_client(self) -> None:
        """Raise Abandoned if the client has disconnected."""
        if self.is_abandoned:
            raise Abandoned


class Abandoned(Exception):
    """The client has disconnected, so the request ends without a change. No problem of an item."""
