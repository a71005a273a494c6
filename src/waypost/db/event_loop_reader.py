"""Read from PostgreSQL on the event loop: one SELECT at a time, without a thread, which takes three times as long."""

import asyncio
import time
import zlib
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn
from sqlalchemy import Connection

from waypost.core.errors import Problem
from waypost.db.postgres import MAX_RESPONSE_SECONDS, Checkout
from waypost.db.statements import DriverSelect, check_values

Rows = list[tuple[Any, ...]]
_CHECK_SECONDS = 0.5
_IDLE_SECONDS = 1.0
_PAUSE_SECONDS = 1.0  # after an error, until the next connection
_PREPARED = "waypost_prepared"
_NOT_SUPPORTED = b"0A000"


class EventLoopReader:
    """Executes a SELECT for the event loop of one worker.

    It keeps a connection of the pool while it is used, and returns it after an idle second, so that the pool checks it.
    It repeats nothing and reports no error: after a failure the caller reads in a thread, which does both.
    """

    def __init__(self, connect: Callable[[], Connection], select: DriverSelect) -> None:
        """`connect` opens a connection in autocommit mode, and may block or raise."""
        self._connect = connect
        self._select = select
        self._borrowed: _PreparedSelect | None = None
        self._done: Callable[[Rows | None], None] | None = None
        self._sent_at = 0.0
        self._connects_from = 0.0
        self._is_connecting = False

    def fetch_all(self, done: Callable[[Rows | None], None], **parameters: Any) -> bool:
        """Send the query and return True, or return False if there is no connection that is free.

        Calls `done` in a later turn of the event loop with all rows, or with None after a failure.
        """
        borrowed, now = self._borrowed, time.monotonic()
        if borrowed is None:
            if now > self._connects_from and not self._is_connecting:
                self._borrow(now)
            return False
        if self._done is not None:
            return False
        try:
            borrowed.send(parameters)
        except psycopg.Error:
            self._give_up()
            return False
        self._done, self._sent_at = done, now
        self._flush()
        return True

    def close(self) -> None:
        """Return the connection to the pool."""
        self._connects_from = float("inf")
        if self._borrowed is not None:
            self._return(is_usable=self._done is None)

    def _borrow(self, now: float) -> None:
        self._connects_from, self._is_connecting = now + _PAUSE_SECONDS, True
        asyncio.get_running_loop().run_in_executor(None, self._open).add_done_callback(self._opened)

    def _open(self) -> "_PreparedSelect | None":
        try:
            connection = self._connect()
        except Problem:
            return None  # the next read in a thread reports it
        try:
            return _PreparedSelect(connection, self._select)
        except psycopg.Error:
            connection.invalidate()
            connection.close()
            return None

    def _opened(self, future: "asyncio.Future[_PreparedSelect | None]") -> None:
        self._is_connecting = False
        borrowed = future.result()
        if borrowed is None:
            return
        self._borrowed, self._sent_at = borrowed, time.monotonic()
        if self._connects_from == float("inf"):
            self._return(is_usable=True)
            return
        loop = asyncio.get_running_loop()
        loop.add_reader(borrowed.socket, self._read)
        loop.call_later(_CHECK_SECONDS, self._check, borrowed)

    def _read(self) -> None:
        assert self._borrowed is not None
        try:
            is_complete = self._borrowed.receive()
        except psycopg.Error:
            self._give_up()
            return
        if is_complete and self._done is not None:
            done, self._done = self._done, None
            done(self._borrowed.rows)
            if not self._borrowed.is_supported:
                self.close()

    def _flush(self) -> None:
        """Send the remainder of a large query when the socket can take it."""
        if self._borrowed is None:
            return
        loop = asyncio.get_running_loop()
        try:
            if self._borrowed.flush():
                loop.remove_writer(self._borrowed.socket)
            else:
                loop.add_writer(self._borrowed.socket, self._flush)
        except psycopg.Error:
            loop.call_soon(self._give_up)

    def _check(self, borrowed: "_PreparedSelect") -> None:
        if self._borrowed is not borrowed:
            return
        silence = time.monotonic() - self._sent_at
        if self._done is not None and silence > MAX_RESPONSE_SECONDS:
            self._give_up()
        elif self._done is None and silence > _IDLE_SECONDS:
            self._return(is_usable=True)
        else:
            asyncio.get_running_loop().call_later(_CHECK_SECONDS, self._check, borrowed)

    def _give_up(self) -> None:
        """Close the connection, and let the caller read in a thread."""
        self._connects_from = time.monotonic() + _PAUSE_SECONDS
        self._return(is_usable=False)
        done, self._done = self._done, None
        if done is not None:
            done(None)

    def _return(self, *, is_usable: bool) -> None:
        borrowed, self._borrowed = self._borrowed, None
        if borrowed is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(borrowed.socket)
        loop.remove_writer(borrowed.socket)
        if not is_usable:
            borrowed.connection.invalidate()
        borrowed.connection.close()


class _PreparedSelect:
    """A SELECT that is prepared on a connection. Methods raise the errors of psycopg."""

    def __init__(self, connection: Connection, select: DriverSelect) -> None:
        self.connection = connection
        driver: Any = connection.connection.driver_connection
        self._pgconn: PGconn = driver.pgconn
        self._checkout: Checkout = connection.info["checkout"]
        self._transformer = Transformer.from_context(driver)
        self.rows: Rows | None = None
        """Of the last query; None if it failed."""
        self.is_supported = True
        """False after the database refused the query, as a Citus cluster may (waypost.db.distribution)."""
        sql, self._names, self._constants = select.numbered(connection.dialect)
        self._name = f"waypost_{zlib.crc32(sql.encode())}".encode()
        prepared: set[bytes] = connection.info.setdefault(_PREPARED, set())
        if self._name not in prepared:
            result = self._pgconn.prepare(self._name, sql.encode())
            if result.status != ExecStatus.COMMAND_OK:
                raise psycopg.OperationalError(result.get_error_message())
            prepared.add(self._name)
        self.socket = self._pgconn.socket  # only now: a lost connection has closed its own

    def send(self, parameters: dict[str, Any]) -> None:
        """Send the query. `flush` must follow."""
        check_values(parameters.values())
        self._checkout.last_sent = time.monotonic()
        self.rows = None
        values = self._constants | parameters
        self._pgconn.send_query_prepared(self._name, [str(values[name]).encode() for name in self._names])

    def flush(self) -> bool:
        """Return whether everything is sent."""
        return self._pgconn.flush() == 0

    def receive(self) -> bool:
        """Return whether the response to a query is complete."""
        pgconn = self._pgconn
        pgconn.consume_input()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                return True
            if result.status == ExecStatus.TUPLES_OK:
                self._transformer.set_pgresult(result)
                self.rows = self._transformer.load_rows(0, result.ntuples, tuple)
            elif result.error_field(DiagnosticField.SQLSTATE) == _NOT_SUPPORTED:
                self.is_supported = False
        return False
