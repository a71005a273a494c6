"""Responses of PostgreSQL: time limits, retries, and the use of a connection.

This module does not need the driver, which installations with SQLite do not load.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.db import postgres

MAX_RESPONSE_SECONDS = 2.0
"""The longest time to wait for a response that costs the server no work."""
_MIN_RESPONSE_SECONDS = 0.25
_LATENCY_FACTOR = 4.0


class AdaptiveTimeout:
    """Seconds to wait for a response (`limit`): four times the recent latency, between 0.25 and 2 s.

    `lost_at` is the monotonic time when a connection was last found to be lost. Without measurements the limit is 2 s.
    """

    def __init__(self) -> None:
        self.limit = MAX_RESPONSE_SECONDS
        self.lost_at = 0.0

    def record(self, seconds: float) -> None:
        """Adapt to the latency of a response. The limit grows at once and shrinks slowly."""
        latency_limit = max(_MIN_RESPONSE_SECONDS, _LATENCY_FACTOR * seconds, 0.9 * self.limit)
        self.limit = min(MAX_RESPONSE_SECONDS, latency_limit)


@dataclass
class Checkout:
    """The use of a connection from when the pool lends it until it is returned. Times are monotonic."""

    last_sent: float = field(default_factory=time.monotonic)
    statements: int = 0
    was_slow: bool = False  # a response took longer than MAX_RESPONSE_SECONDS


def set_response_timeout(tx: Connection, seconds: float) -> None:
    """Wait only so long for each response in this transaction."""
    connection: Any = tx.connection.driver_connection
    connection.response_timeout = seconds


def is_safe_to_retry(checkout: Checkout | None, error: BaseException | None) -> bool:
    """Return whether nothing of a failed transaction can have been committed.

    True if it got no connection, lost it with its first statement, or was ended by the server's idle timeout.
    """
    if not isinstance(error, DBAPIError):
        return False
    lost_at_once = error.connection_invalidated and checkout is not None and checkout.statements <= 1
    is_idle_timeout = getattr(error.orig, "sqlstate", None) == postgres.IDLE_IN_TRANSACTION
    return checkout is None or lost_at_once or is_idle_timeout
