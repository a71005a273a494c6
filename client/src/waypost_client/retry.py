"""Retries: which failures are repeated, and after which time."""

from __future__ import annotations

import random
from dataclasses import dataclass

from waypost_client.errors import ApiError, ConnectionLostError, RequestRunningError, WaypostError

_STATUSES = frozenset({429, 502, 503, 504})
_FIRST_WAIT = 0.5
_LONGEST_BACK_OFF = 30.0


@dataclass(frozen=True)
class Retry:
    """Repeat a request after a lost connection, and after 429, 502, 503 and 504; `retries` times at most.

    Writes carry an Idempotency-Key, so that the server executes them once. A `Retry-After` of more than
    `longest_wait` seconds is not waited for.
    """

    retries: int = 5
    longest_wait: float = 120.0

    def delay(self, attempt: int, error: WaypostError) -> float | None:
        """Return the seconds to wait after a failed attempt (0 is the first one); None if it is the last one."""
        if attempt >= self.retries or not _is_temporary(error):
            return None
        if isinstance(error, ApiError) and error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_wait else None
        back_off = min(_LONGEST_BACK_OFF, _FIRST_WAIT * 2.0**attempt)
        return back_off * random.uniform(0.5, 1.0)  # noqa: S311  # spreads the requests of clients


NO_RETRIES = Retry(retries=0)


def _is_temporary(error: WaypostError) -> bool:
    if isinstance(error, ApiError):
        return error.status in _STATUSES or isinstance(error, RequestRunningError)
    return isinstance(error, ConnectionLostError)
