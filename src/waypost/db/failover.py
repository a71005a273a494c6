"""Connection pools for PostgreSQL: usable when the primary is replaced, and never writing to a demoted one (ADR 10).

The server's own timeouts end statements that it knows of. This module handles the rest: it probes an idle connection
before its next use and cuts one that stays silent for too long while it is in use. `primary_selector.py` selects the
server. Only processes that use PostgreSQL import these modules: the driver takes 10 MB.
"""

import os
import select
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExecutionContext
from sqlalchemy.exc import InvalidatePoolError

from waypost.db import postgres
from waypost.db.event_loop_reader import EventLoopReader
from waypost.db.postgres import MAX_RESPONSE_SECONDS, AdaptiveTimeout, Checkout
from waypost.db.primary_selector import Mode, PrimarySelector, TimeoutConnection
from waypost.db.statements import DriverSelect, check_parameters, dump_json

_MODE = "waypost_mode"
_STATEMENT_SECONDS = 10
_LOCK_SECONDS = 8
_IDLE_IN_TRANSACTION_SECONDS = 6  # less than the lock timeout, so that a stalled node's locks end before others give up
_SILENCE_SECONDS = 12.0  # more than the server allows any statement
_FRESH_SECONDS = 1.0  # connections used within this time are not probed


class FailoverPools:
    """The connection pools of one process: full durability, relaxed durability, and a connection that listens."""

    def __init__(self, url: str, timeout: AdaptiveTimeout) -> None:
        self._primary = primary = PrimarySelector()
        self._timeout = timeout
        self.full = create_pool(url, primary, size=6, overflow=6)
        self.relaxed = create_pool(url, primary, size=2, overflow=2, relaxed=True)
        # A pool of its own, so that requests which wait for connections cannot exhaust it.
        self.listener = create_pool(url, primary, size=1, isolation_level="AUTOCOMMIT")
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


def create_pool(
    url: str, primary: PrimarySelector, *, size: int, overflow: int = 0, relaxed: bool = False, **options: Any
) -> Engine:
    """Create a connection pool with time limits. `relaxed`: a server crash can lose commits made there."""
    settings = {"lock_timeout": f"{_LOCK_SECONDS}s", "statement_timeout": f"{_STATEMENT_SECONDS}s", "timezone": "UTC"}
    settings["idle_in_transaction_session_timeout"] = f"{_IDLE_IN_TRANSACTION_SECONDS}s"
    # Citus refuses to change `accounts` after several nodes changed rows in parallel. Other servers ignore the setting.
    settings["citus.multi_shard_modify_mode"] = "sequential"
    if relaxed:
        settings["synchronous_commit"] = "off"
    # The kernel's default for unacknowledged data is 15 minutes.
    keepalive = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 5000}
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        json_serializer=dump_json,
        connect_args={"client_encoding": "utf8", **keepalive},
        pool_size=size,
        max_overflow=overflow,
        pool_timeout=5,
        pool_use_lifo=True,  # rarely used connections reach the idle timeout of the server or a proxy, not all of them
        **options,
    )
    check_parameters(engine)
    event.listen(engine, "before_cursor_execute", _set_format, named=True)
    event.listen(engine, "do_connect", lambda _dialect, _record, _args, kwargs: primary.connect(settings, kwargs))
    return engine


def _set_format(cursor: Any, context: ExecutionContext, **_others: Any) -> None:
    """Ask the server for bytes as they are, instead of hexadecimal text, if the statement has the option `binary`."""
    if context.execution_options.get("binary"):
        cursor.format = psycopg.pq.Format.BINARY


class PoolWatchdog:
    """The connections of one pool that are in use, and since when each has been silent."""

    def __init__(self, engine: Engine, primary: PrimarySelector, timeout: AdaptiveTimeout) -> None:
        self._primary = primary
        self._timeout = timeout
        self._in_use: dict[int, tuple[Any, Checkout]] = {}
        event.listen(engine, "connect", self._on_connect)
        event.listen(engine, "checkout", self._on_checkout)
        event.listen(engine, "checkin", self._on_checkin)
        event.listen(engine, "before_cursor_execute", self._on_execute)
        event.listen(engine, "commit", self._on_commit)

    def reap_stalled(self) -> None:
        """Cut connections that have been silent for too long or whose server was superseded. Never blocks.

        The thread that waits for the connection gets an error.
        """
        now = time.monotonic()
        for connection, checkout in tuple(self._in_use.values()):
            checkout.was_slow |= now - checkout.last_sent > MAX_RESPONSE_SECONDS
            if now - checkout.last_sent > _SILENCE_SECONDS or self._is_superseded(connection):
                with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
                    duplicate.shutdown(socket.SHUT_RDWR)

    def _is_superseded(self, connection: TimeoutConnection) -> bool:
        """Return whether another server was promoted since the connection was opened."""
        return connection.timeline is not None and connection.timeline != self._primary.timeline

    def _on_connect(self, _connection: Any, record: Any) -> None:
        record.info["returned_at"] = time.monotonic()

    def _on_checkout(self, connection: Any, record: Any, _proxy: Any) -> None:
        returned_at: float = record.info["returned_at"]
        # If another connection was lost since, this one may be as well, however recently it was used.
        needs_probe = time.monotonic() - returned_at > _FRESH_SECONDS or returned_at < self._timeout.lost_at
        if self._is_superseded(connection) or (needs_probe and not _is_alive(connection, self._timeout.limit)):
            self._primary.mark_in_doubt()
            raise InvalidatePoolError("the connection is lost")  # the pool replaces all its connections
        record.info["checkout"] = checkout = Checkout()
        self._in_use[id(record)] = (connection, checkout)

    def _on_checkin(self, connection: Any, record: Any) -> None:
        _, checkout = self._in_use.pop(id(record), (None, None))
        if connection is None:
            self._primary.mark_in_doubt()  # it was lost
        else:
            connection.response_timeout = None
            if checkout is not None and checkout.was_slow and self._primary.has_several_servers:
                self._primary.mark_in_doubt()
                record.invalidate(soft=True)  # the next checkout reconnects
        record.info["returned_at"] = time.monotonic()

    def _on_execute(self, tx: Connection, *_statement: Any) -> None:
        checkout: Checkout = tx.info["checkout"]
        checkout.last_sent = time.monotonic()
        checkout.statements += 1

    def _on_commit(self, tx: Connection) -> None:
        self._on_execute(tx)  # a COMMIT without a response may have been executed, like a statement


def _is_alive(connection: TimeoutConnection, seconds: float) -> bool:
    """Return whether the server responds to an empty query in time."""
    pgconn, deadline = connection.pgconn, time.monotonic() + seconds
    try:
        if pgconn.transaction_status != TransactionStatus.IDLE:
            return False
        pgconn.send_query(b"")
        while True:
            pgconn.flush()
            if not pgconn.is_busy():
                if pgconn.get_result() is None:
                    return True
                continue
            remaining = deadline - time.monotonic()
            poller = select.poll()
            poller.register(pgconn.socket, select.POLLIN)
            if remaining <= 0 or not poller.poll(remaining * 1000):
                return False
            pgconn.consume_input()
    except (psycopg.Error, OSError):
        return False
