"""Connections to a PostgreSQL on the other side of a network: none is waited for without end (ADR 10).

The server's own limits end what it knows of. What it does not know of is ended here: a connection that is asked
whether it lives before it is used again, and one that says nothing for too long while it is in use.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, InvalidatePoolError

from waypost.db.failover import HostList, TimeoutConnection

CHANGES = "waypost_changes"
"""The channel on which a transaction tells that it has noted a change."""
STOOD_STILL = "25P03"
"""SQLSTATE of a transaction that the server gave up because we asked for nothing more in it."""
_STATEMENT_SECONDS = 10
_LOCK_SECONDS = 8
_STILL_SECONDS = 6  # less than a lock is waited for: a node that stands still in the midst of work is not waited for
_SILENCE_SECONDS = 12.0  # more than the server gives any statement
_FRESH_SECONDS = 1.0  # a connection that was used so lately is not asked
MOST_PATIENCE = 2.0
"""Seconds that a database may take for an answer for which it need do nothing."""
_LEAST_PATIENCE = 0.25
_HEARD_SECONDS = 5.0  # it takes a thousandth of that
_MARGIN = 4.0  # times what an answer took lately


class AdaptiveTimeout:
    """How many seconds an answer may take (`limit`) before its connection is taken for dead; when one was (`lost`).

    Who asks all the time knows how quick the database is, and so how soon silence means something. A database that is
    slow is given the time that it takes; one that nobody has timed is given the most.
    """

    def __init__(self) -> None:
        self.limit = MOST_PATIENCE
        self.lost = 0.0

    def heard(self, seconds: float) -> None:
        """An answer took so long. Patience comes at once and goes slowly."""
        self.limit = min(MOST_PATIENCE, max(_LEAST_PATIENCE, _MARGIN * seconds, 0.9 * self.limit))


@dataclass
class Checkout:
    """The use of a connection from when it is taken out of the pool until it is given back. Times are monotonic."""

    heard: float = field(default_factory=time.monotonic)
    statements: int = 0
    is_doubted: bool = False  # somebody waited long for an answer


def engine(
    url: str, servers: HostList, *, connections: int, more: int = 0, relaxed: bool = False, **options: Any
) -> Engine:
    """A pool of connections with limits of time, `more` of them when many are needed at once.

    `relaxed`: what is committed there may be lost with the server.
    """
    limits = {"lock_timeout": f"{_LOCK_SECONDS}s", "statement_timeout": f"{_STATEMENT_SECONDS}s", "timezone": "UTC"}
    limits["idle_in_transaction_session_timeout"] = f"{_STILL_SECONDS}s"
    if relaxed:
        limits["synchronous_commit"] = "off"
    # What is on its way to a machine that is gone: the kernel's own patience is a quarter of an hour.
    wire = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 5000}
    made = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        connect_args=wire,
        pool_size=connections,
        max_overflow=more,
        pool_timeout=5,
        pool_use_lifo=True,  # those that are rarely needed are given up by the server or a proxy, not all of them
        **options,
    )
    event.listen(made, "do_connect", lambda _dialect, _record, _given, named: servers.connect(limits, named))
    return made


class PoolWatchdog:
    """The connections of one pool that are in use, and since when each has said nothing."""

    def __init__(self, pool: Engine, servers: HostList, pace: AdaptiveTimeout) -> None:
        self._servers = servers
        self._pace = pace
        self._used: dict[int, tuple[Any, Checkout]] = {}
        event.listen(pool, "connect", self._connected)
        event.listen(pool, "checkout", self._taken)
        event.listen(pool, "checkin", self._given_back)
        event.listen(pool, "before_cursor_execute", self._asked)
        event.listen(pool, "commit", self._committing)

    def cut_hanging(self) -> None:
        """End those that have been silent for too long, or whose server another one has followed: whoever waits for
        one finds it lost. Never blocks."""
        now = time.monotonic()
        for connection, spell in tuple(self._used.values()):
            spell.is_doubted |= now - spell.heard > MOST_PATIENCE
            if now - spell.heard > _SILENCE_SECONDS or self._servers.is_past(connection):
                with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
                    line.shutdown(socket.SHUT_RDWR)

    def _connected(self, _connection: Any, record: Any) -> None:
        record.info["left"] = time.monotonic()

    def _taken(self, connection: Any, record: Any, _proxy: Any) -> None:
        left: float = record.info["left"]
        # When another connection was lost since, so is this one perhaps, however lately it was used.
        is_asked = time.monotonic() - left > _FRESH_SECONDS or left < self._pace.lost
        if self._servers.is_past(connection) or (is_asked and not _answers(connection, self._pace.limit)):
            self._servers.doubt()
            raise InvalidatePoolError("the connection is lost")  # and so are those beside it: the pool asks anew
        record.info["spell"] = spell = Checkout()
        self._used[id(record)] = (connection, spell)

    def _given_back(self, connection: Any, record: Any) -> None:
        _, spell = self._used.pop(id(record), (None, None))
        if connection is None:
            self._servers.doubt()  # it was lost
        else:
            connection.patience = None
            if spell is not None and spell.is_doubted and self._servers.are_many:
                self._servers.doubt()
                record.invalidate(soft=True)  # whoever comes next makes a new one
        record.info["left"] = time.monotonic()

    def _asked(self, tx: Connection, *_what: Any) -> None:
        spell: Checkout = tx.info["spell"]
        spell.heard = time.monotonic()
        spell.statements += 1

    def _committing(self, tx: Connection) -> None:
        self._asked(tx)  # once this is said, nobody knows whether it was done


def is_undone(spell: Checkout | None, error: BaseException | None) -> bool:
    """Whether nothing of a transaction can have been committed, so that it can begin again.

    It got no connection, found it gone with its first words, or stood still for so long that the server gave it up.
    """
    if not isinstance(error, DBAPIError):
        return False
    lost_at_once = error.connection_invalidated and spell is not None and spell.statements <= 1
    return spell is None or lost_at_once or getattr(error.orig, "sqlstate", None) == STOOD_STILL


def listen(connection: TimeoutConnection, pace: AdaptiveTimeout) -> None:
    """Make a new connection one that hears of changes. If there was one before it, that one was lost."""
    connection.autocommit = True
    connection.patience = MOST_PATIENCE
    began = time.monotonic()
    connection.execute(f"LISTEN {CHANGES}")
    pace.lost = time.monotonic()
    pace.heard(pace.lost - began)


def hurry(tx: Connection, seconds: float) -> None:
    """Wait only so long for each answer in this transaction. Nothing with SQLite."""
    if tx.dialect.name == "postgresql":
        line: Any = tx.connection.driver_connection
        line.patience = seconds


class Wakeup:
    """Wakes the one thread that waits for something and for it; rung once, it stays rung."""

    def __init__(self) -> None:
        self.rung = threading.Event()
        self._line: socket.socket | None = None

    @contextmanager
    def heard(self) -> Iterator[socket.socket]:
        """A socket that can be read once the bell rings."""
        self._line, heard = socket.socketpair()
        with self._line, heard:
            if self.rung.is_set():
                self.ring()
            yield heard

    def ring(self) -> None:
        """Wake who waits, and whoever would wait from now on."""
        self.rung.set()
        line = self._line
        if line is not None:
            with suppress(OSError):  # nobody hears it any more
                line.send(b"!")


def wait_for_news(connection: Connection, seconds: float, bell: Wakeup) -> None:
    """Return when somebody has noted a change, when the bell rings, or after so many seconds."""
    line: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
    try:
        if list(line.notifies(timeout=0)):
            return
        with bell.heard() as heard:
            poll = select.poll()
            poll.register(line.fileno(), select.POLLIN)
            poll.register(heard, select.POLLIN)
            poll.poll(seconds * 1000)
        list(line.notifies(timeout=0))
    except psycopg.Error:
        connection.invalidate()
        raise


def hears(connection: Connection) -> bool:
    """Whether news comes within seconds on a connection that listens."""
    line: Any = connection.connection.driver_connection
    return any(True for _ in line.notifies(timeout=_HEARD_SECONDS, stop_after=1))


def be_patient(tx: Connection) -> None:
    """The limits of time for requests do not hold for this transaction. Nothing with SQLite."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("SET LOCAL lock_timeout = 0"))
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def give_time(tx: Connection, seconds: int) -> None:
    """Let this transaction be without a question for so long. Nothing with SQLite."""
    if tx.dialect.name == "postgresql":
        tx.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{seconds:d}s'"))


def pieces(tx: Connection) -> list[str]:
    """The names of all tables that are a piece of another one; none with SQLite."""
    if tx.dialect.name != "postgresql":
        return []
    mine = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND pg_table_is_visible(oid)"
    return list(tx.execute(text(f"{mine} ORDER BY relname")).scalars())


def _answers(connection: TimeoutConnection, seconds: float) -> bool:
    """Whether the server answers in time on a connection that nobody uses: an empty query."""
    line, until = connection.pgconn, time.monotonic() + seconds
    try:
        if line.transaction_status != TransactionStatus.IDLE:
            return False
        line.send_query(b"")
        while True:
            line.flush()
            if not line.is_busy():
                if line.get_result() is None:
                    return True
                continue
            left = until - time.monotonic()
            poll = select.poll()
            poll.register(line.socket, select.POLLIN)
            if left <= 0 or not poll.poll(left * 1000):
                return False
            line.consume_input()
    except (psycopg.Error, OSError):
        return False
