"""PostgreSQL only: names, session settings, and time limits of responses. Functions do nothing on SQLite.

This module does not need the driver, which installations with SQLite do not load.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

CHANNEL = "waypost_changes"
"""The NOTIFY channel for entries of the change log."""
IDLE_IN_TRANSACTION = "25P03"
"""SQLSTATE of a transaction that the server ended because the client sent nothing for too long."""
MAX_RESPONSE_SECONDS = 2.0
"""The longest time to wait for a response that costs the server no work."""
_MIN_RESPONSE_SECONDS = 0.25
_LATENCY_FACTOR = 4.0


def disable_timeouts(tx: Connection) -> None:
    """Lift the statement, lock and idle timeouts for this transaction."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("SET LOCAL lock_timeout = 0"))
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def set_idle_timeout(tx: Connection, seconds: int) -> None:
    """Allow this transaction to be idle for that many seconds."""
    if tx.dialect.name == "postgresql":
        tx.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{seconds:d}s'"))


def partition_names(tx: Connection) -> list[str]:
    """The names of all partitions, sorted; empty on SQLite."""
    if tx.dialect.name != "postgresql":
        return []
    query = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND pg_table_is_visible(oid)"
    return list(tx.execute(text(f"{query} ORDER BY relname")).scalars())


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
    is_idle_timeout = getattr(error.orig, "sqlstate", None) == IDLE_IN_TRANSACTION
    return checkout is None or lost_at_once or is_idle_timeout
