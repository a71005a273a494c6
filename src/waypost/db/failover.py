"""Failover: stay usable when the PostgreSQL primary is replaced, and never write to a demoted one (ADR 10).

`primary.py` selects the server; `connection_pool.py` detects connections that stopped responding. Only processes that
use PostgreSQL import these modules: the driver takes 10 MB.
"""

import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, event

from waypost.db import connection_pool, postgres
from waypost.db.adaptive_timeout import MAX_RESPONSE_SECONDS, AdaptiveTimeout
from waypost.db.connection_pool import PoolWatchdog
from waypost.db.driver_statements import DriverSelect
from waypost.db.event_loop_reader import EventLoopReader
from waypost.db.primary_selector import Mode, PrimarySelector, TimeoutConnection

_MODE = "waypost_mode"


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
        for pool in (self.full, self.relaxed):
            event.listen(pool, "begin", _enter_mode)

    @staticmethod
    def with_mode(pool: Engine, mode: Mode) -> Engine:
        """Return an engine whose transactions are of this kind."""
        return pool.execution_options(**{_MODE: mode})

    @staticmethod
    def event_loop_reader(connect: Callable[[], Connection], select: DriverSelect) -> EventLoopReader:
        """Return a reader for the event loop of a worker."""
        return EventLoopReader(connect, select)

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


def _enter_mode(tx: Connection) -> None:
    """Not by SQLAlchemy's options, which set and reset a connection for each transaction: half the time of a read."""
    connection: Any = tx.connection.driver_connection
    connection.enter_mode(tx.get_execution_options().get(_MODE, "write"))
