"""Failover: stay usable when the PostgreSQL primary is replaced, and never write to a demoted one (ADR 10).

`Database` uses only the names of this module. `primary.py` selects the server; `connection_pool.py` detects connections
that stopped responding.
"""

import time
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError

from waypost.db import connection_pool, postgres
from waypost.db.connection_pool import MAX_RESPONSE_SECONDS, AdaptiveTimeout, Checkout, PoolWatchdog
from waypost.db.primary import PrimarySelector, TimeoutConnection

_OPEN_SECONDS = 1.0


class FailoverPools:
    """The connection pools of one process: full durability, relaxed durability, and a connection that listens."""

    def __init__(self, url: str, timeout: AdaptiveTimeout) -> None:
        self._primary = primary = PrimarySelector()
        self._timeout = timeout
        self.full = connection_pool.create(url, primary, size=6, overflow=6)
        self.relaxed = connection_pool.create(url, primary, size=2, overflow=2, relaxed=True)
        # A pool of its own, so that requests which wait for connections cannot exhaust it.
        self.listener = connection_pool.create(url, primary, size=1, isolation_level="AUTOCOMMIT")
        pools = (self.full, self.relaxed, self.listener)
        self._watchdogs = tuple(PoolWatchdog(pool, primary, timeout) for pool in pools)
        event.listen(self.listener, "connect", self._listen)

    def reap_stalled(self) -> None:
        """Cut connections that stopped responding or belong to a demoted primary. Never blocks."""
        for watchdog in self._watchdogs:
            watchdog.reap_stalled()

    def leave_server(self) -> None:
        """Drop the connections to a server that became read-only; new ones look for the primary."""
        self._primary.mark_in_doubt()
        for pool in (self.full, self.relaxed):
            pool.dispose()

    def _listen(self, connection: TimeoutConnection, _record: Any) -> None:
        """Subscribe a new connection to notifications. If there was one before, it was lost."""
        connection.autocommit = True
        connection.response_timeout = MAX_RESPONSE_SECONDS
        started = time.monotonic()
        connection.execute(f"LISTEN {postgres.CHANNEL}")
        self._timeout.lost_at = time.monotonic()
        self._timeout.record(self._timeout.lost_at - started)


class CircuitBreaker:
    """Circuit breaker: after two failed connects in a row, fail fast for one second, so that threads do not pile up."""

    def __init__(self) -> None:
        self._failures = 0
        self._open_until = 0.0

    @property
    def is_open(self) -> bool:
        """True while requests must fail without a connection attempt."""
        return time.monotonic() < self._open_until

    @property
    def has_failures(self) -> bool:
        """True if the last connection attempt failed."""
        return self._failures > 0

    def record_success(self) -> None:
        """Note that a connection was available."""
        self._failures = 0

    def record_failure(self) -> None:
        """Note a failed connection attempt; the second in a row opens the breaker."""
        self._failures += 1
        if self._failures > 1:
            self._open_until = time.monotonic() + _OPEN_SECONDS


def is_safe_to_retry(checkout: Checkout | None, error: BaseException | None) -> bool:
    """Return whether nothing of a failed transaction can have been committed.

    True if it got no connection, lost it with its first statement, or was ended by the server's idle timeout.
    """
    if not isinstance(error, DBAPIError):
        return False
    lost_at_once = error.connection_invalidated and checkout is not None and checkout.statements <= 1
    is_idle_timeout = getattr(error.orig, "sqlstate", None) == postgres.IDLE_IN_TRANSACTION
    return checkout is None or lost_at_once or is_idle_timeout


def set_response_timeout(tx: Connection, seconds: float) -> None:
    """Wait only so long for each response in this transaction. Does nothing on SQLite."""
    if tx.dialect.name == "postgresql":
        connection: Any = tx.connection.driver_connection
        connection.response_timeout = seconds
