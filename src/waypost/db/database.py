"""Transactions. `read(work)` and `write(work)` open one, run `work(tx)` in it, and commit or roll back.

SQLite: WAL; reading connections cannot write; one writing connection a process, so writers of a process queue here
rather than at the file's lock. PostgreSQL: a pool, a small one for what may be lost with the server, and a connection
that listens. See docs/adr/0001-data-layer.md.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import structlog
from sqlalchemy import Connection, Engine, Table, create_engine, event, func, make_url, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, NotSupportedError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import StaticPool

from waypost.db import postgres
from waypost.db.failover import HostList
from waypost.db.postgres import MOST_PATIENCE, AdaptiveTimeout, PoolWatchdog, Wakeup, is_undone
from waypost.errors import Kind, Problem, unavailable

T = TypeVar("T")
_log = structlog.get_logger("database")
_BUSY_SECONDS = 10
_TRIES = 4
# PostgreSQL: serialization failure, deadlock, and a reference to what somebody deletes at this moment: the next try
# finds it gone.
_RETRYABLE = {"40001", "40P01", "23503"}
# PostgreSQL: this server is a standby, since another one has become the first. It says so to a statement, or to BEGIN.
_READ_ONLY = {"25006", "0A000"}
_SOON_SECONDS = 1.0  # less would take many busy connections for lost, and a request can wait so long
_LOGGED_SECONDS = 10.0  # between two times that the same trouble is logged
_AWAY_SECONDS = 1.0  # for how long nobody tries to connect after that failed twice


class Database:
    """One database, open. Close it when done."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.path = Path(parsed.database) if self.is_sqlite and parsed.database else None
        self._writing = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        self._watched: tuple[PoolWatchdog, ...] = ()
        self._pace = pace = AdaptiveTimeout()
        self._failures = 0  # to connect, one after the other
        self._away_until = 0.0
        self._trouble = self._logged = ""
        self._logged_until = 0.0
        if self.is_sqlite:
            # Readers are many, and a database that grows fills each one's cache.
            self._reader = _sqlite_engine(url, begin="BEGIN", pragmas=("query_only = ON", "cache_size = -2000"))
            self._writer = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pragmas=("synchronous = FULL",), single=True)
            self._counter = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pragmas=("synchronous = NORMAL",), single=True)
            self._taker = self._ticker = self._counter
            self._listener = self._reader
        else:
            self._servers = servers = HostList()
            self._writer = self._taker = postgres.engine(url, servers, connections=6, more=6)
            self._counter = postgres.engine(url, servers, connections=2, more=2, relaxed=True)
            self._ticker = self._counter.execution_options(isolation_level="AUTOCOMMIT")
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            # One connection apart, which those who wait for the others cannot use up.
            self._listener = postgres.engine(url, servers, connections=1, isolation_level="AUTOCOMMIT")
            pools = (self._writer, self._counter, self._listener)
            self._watched = tuple(PoolWatchdog(pool, servers, pace) for pool in pools)
            event.listen(self._listener, "connect", lambda line, _record: postgres.listen(line, pace))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot; it cannot write.

        When nothing can have come of it, since the connection was lost with the first words, it begins again.
        """
        return self._run(self._reader, work)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` and commit: when this returns, the change survives a power cut.

        `work` may run again after a deadlock and the like, so it must have no effect outside `tx`.
        """
        return self._commit(self._writer, work)

    def take(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for what is taken from a limit: survives a crash of ours and of the database's server.

        With SQLite a power cut may take the last ones.
        """
        return self._commit(self._taker, work)

    def count(self, work: Callable[[Connection], T]) -> T:
        """Like `take`, for what matters for minutes: a crash of the database's server may take the last of it too."""
        return self._commit(self._counter, work)

    def tick(self, work: Callable[[Connection], T]) -> T:
        """Like `count`, for a single statement, which PostgreSQL need be asked nothing else for.

        If the connection is lost with it, it is sent again, and may so be done twice.
        """
        return self._commit(self._ticker, work)

    def read_soon(self, work: Callable[[Connection], T]) -> T:
        """Like `read`, for what the database has at hand: a connection that does not say it soon is lost."""
        return self._run(self._reader, work, patience=max(_SOON_SECONDS, self._pace.limit))

    def glance(self, work: Callable[[Connection], T]) -> T:
        """Like `read_soon`, but each statement for itself, and sooner. For one thread of a process, which asks all the
        time."""

        def timed(tx: Connection) -> T:
            began = time.monotonic()
            result = work(tx)
            self._pace.heard(time.monotonic() - began)
            return result

        return self._run(self._listener, timed, patience=self._pace.limit)

    def wait_for_news(self, seconds: float, bell: Wakeup) -> None:
        """Return when somebody may have noted a change, when the bell rings, or after so many seconds.

        For the thread that glances.
        """
        began = time.monotonic()
        try:
            if not self.is_sqlite:
                with self._translated(), self._listener.connect() as connection:
                    postgres.wait_for_news(connection, seconds, bell)
                return
        except (Problem, DBAPIError, psycopg.Error):
            pass  # who reads next finds out what became of the connection
        bell.rung.wait(max(0.0, began + seconds - time.monotonic()))

    def tell_news(self) -> None:
        """Wake everybody who waits for news. Not in the transaction that makes them: it would hold up all others."""
        if not self.is_sqlite:
            with contextlib.suppress(Problem, DBAPIError):  # they look by themselves soon
                self._run(self._ticker, _tell, patience=max(_SOON_SECONDS, self._pace.limit))

    def is_heard(self) -> bool:
        """Whether one connection hears what is told on another one: not when something in between lends one connection
        to many, from transaction to transaction. Raises UNAVAILABLE, also when the server takes no changes."""
        if self.is_sqlite:
            return True
        with self._translated(), self._listener.connect() as connection:
            self._run(self._ticker, _tell)
            return postgres.hears(connection)

    def look_after(self) -> None:
        """End connections whose other side says nothing any more, and log what was wrong with others. To be called
        every second by who serves others."""
        for watched in self._watched:
            watched.cut_hanging()
        told, self._trouble = self._trouble, ""
        if told and (told != self._logged or time.monotonic() > self._logged_until):
            self._logged, self._logged_until = told, time.monotonic() + _LOGGED_SECONDS
            _log.warning("the database is not available", reason=told)

    def close(self) -> None:
        """Give every connection back; one that another thread still uses, when that thread is done."""
        for engine in {self._reader, self._writer, self._counter, self._ticker, self._listener}:
            event.listen(engine, "checkin", lambda _connection, record: record.invalidate())
            engine.dispose()

    def _commit(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        for last in (False,) * (_TRIES - 1) + (True,):
            try:
                with self._writing:
                    return self._run(engine, work)
            except DBAPIError as error:
                if last or getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
        raise AssertionError("unreachable")

    def _run(self, engine: Engine, work: Callable[[Connection], T], *, patience: float | None = None) -> T:
        """`patience`: seconds for each answer, but on a second try the most there is."""
        for last in (False, True):
            spell = None
            try:
                with self._translated(), engine.begin() as tx:
                    spell = tx.info.get("spell")
                    self._failures = 0
                    if patience is not None:
                        postgres.hurry(tx, MOST_PATIENCE if last else patience)
                    return work(tx)
            except Problem as problem:
                if last or self.is_sqlite or not is_undone(spell, problem.__cause__):
                    raise
        raise AssertionError("unreachable")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """A database that is away, locked or full becomes a problem with a status; every other error stays what it is.

        Where nobody could connect a moment ago, nobody waits for it now: else all threads would.
        """
        if time.monotonic() < self._away_until:
            raise unavailable()
        try:
            yield
        except PoolTimeout as error:
            self._trouble = "no connection became free"
            raise unavailable() from error
        except (InternalError, NotSupportedError) as error:
            if getattr(error.orig, "sqlstate", None) not in {*_READ_ONLY, postgres.STOOD_STILL}:
                raise
            self._trouble = reason(error)
            self._leave()
            raise unavailable() from error
        except (OperationalError, InterfaceError) as error:
            state = getattr(error.orig, "sqlstate", None)
            if state in _RETRYABLE:
                raise
            self._trouble = reason(error)
            if "disk is full" in str(error.orig) or state == "53100":
                raise Problem(Kind.STORAGE_FULL, "The disk of this service is full. Nothing was saved.") from error
            if not self.is_sqlite and state is None and error.statement is None and not error.connection_invalidated:
                self._failures += 1
                if self._failures > 1:
                    self._away_until = time.monotonic() + _AWAY_SECONDS
            raise unavailable() from error

    def _leave(self) -> None:
        """Give up the connections: the next ones may find the server that can be written to."""
        self._servers.doubt()
        for pool in (self._writer, self._counter):
            pool.dispose()


def reason(error: BaseException) -> str:
    """Why the database did not answer, in its own words, on one line; "" when it was not the database."""
    cause = error if isinstance(error, DBAPIError) else error.__cause__
    return " ".join(str(cause.orig).split()).rstrip(".") if isinstance(cause, DBAPIError) else ""


def upsert(tx: Connection, table: Table) -> Any:
    """An INSERT that knows ON CONFLICT, in the words of the database behind `tx`.

    Typed loosely because the two dialects share their methods but no type.
    """
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)


def _sqlite_engine(url: str, *, begin: str, pragmas: tuple[str, ...], single: bool = False) -> Engine:
    options: dict[str, Any] = {"poolclass": StaticPool} if single else {"pool_size": 8, "max_overflow": 40}
    # isolation_level None: sqlite3 keeps its hands off, and BEGIN is exactly the one stated here.
    connect = {"timeout": _BUSY_SECONDS, "check_same_thread": False, "isolation_level": None}
    engine = create_engine(url, connect_args=connect, **options)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        _use_wal(connection)
        for pragma in ("foreign_keys = ON", "cache_size = -8000", "mmap_size = 0"):
            connection.execute(f"PRAGMA {pragma}")
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def open_transaction(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _use_wal(connection: Any) -> None:
    """Switch to WAL. On a new file two connections can be in each other's way, and SQLite does not wait for this."""
    for patience in (*([0.05] * 100), None):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if patience is None or "locked" not in str(error):
                raise
            time.sleep(patience)
        else:
            return


def _tell(tx: Connection) -> None:
    tx.execute(select(func.pg_notify(postgres.CHANGES, "")))
