"""Transactions. `read(work)` and `write(work)` open one, run `work(tx)` in it, and commit or roll back.

SQLite: WAL; reading connections cannot write; one writing connection a process, so writers of a process queue here
rather than at the file's lock. PostgreSQL: an ordinary pool. See docs/adr/0001-data-layer.md.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import StaticPool

from waypost.errors import Kind, Problem, unavailable

T = TypeVar("T")
_BUSY_SECONDS = 10
_TRIES = 4
_RETRYABLE = {"40001", "40P01"}  # PostgreSQL: serialization failure, deadlock


class Database:
    """One database, open. Close it when done."""

    def __init__(self, url: str) -> None:
        parsed = make_url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.path = Path(parsed.database) if self.is_sqlite and parsed.database else None
        self._writing = threading.Lock() if self.is_sqlite else contextlib.nullcontext()
        if self.is_sqlite:
            # Readers are many, and a database that grows fills each one's cache.
            self._reader = _sqlite_engine(url, begin="BEGIN", pragmas=("query_only = ON", "cache_size = -2000"))
            self._writer = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pragmas=("synchronous = FULL",), single=True)
            self._counter = _sqlite_engine(url, begin="BEGIN IMMEDIATE", pragmas=("synchronous = NORMAL",), single=True)
        else:
            self._writer = _postgres_engine(url)
            self._counter = self._writer
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot; it cannot write."""
        with _translated(), self._reader.begin() as tx:
            return work(tx)

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` and commit: when this returns, the change survives a power cut.

        `work` may run again after a deadlock, so it must have no effect outside `tx`.
        """
        return self._commit(self._writer, work)

    def count(self, work: Callable[[Connection], T]) -> T:
        """Like `write`, for counters of a minute: survives a crash of ours, a power cut may take the last ones."""

        def relaxed(tx: Connection) -> T:
            if not self.is_sqlite:
                tx.execute(text("SET LOCAL synchronous_commit = off"))
            return work(tx)

        return self._commit(self._counter, relaxed)

    def close(self) -> None:
        """Give every connection back; one that another thread still uses, when that thread is done."""
        for engine in {self._reader, self._writer, self._counter}:
            event.listen(engine, "checkin", lambda _connection, record: record.invalidate())
            engine.dispose()

    def _commit(self, engine: Engine, work: Callable[[Connection], T]) -> T:
        for last in (False,) * (_TRIES - 1) + (True,):
            try:
                with _translated(), self._writing, engine.begin() as tx:
                    return work(tx)
            except DBAPIError as error:
                if last or getattr(error.orig, "sqlstate", None) not in _RETRYABLE:
                    raise
        raise AssertionError("unreachable")


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


def _postgres_engine(url: str) -> Engine:
    limits = "-c lock_timeout=10000 -c statement_timeout=30000 -c timezone=UTC"
    connect = {"connect_timeout": 5, "options": limits}
    driver = make_url(url).set(drivername="postgresql+psycopg")
    return create_engine(
        driver, connect_args=connect, pool_size=8, max_overflow=16, pool_timeout=10, pool_pre_ping=True
    )


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """A database that is away, locked or full becomes a problem with a status; every other error stays what it is."""
    try:
        yield
    except PoolTimeout as error:
        raise unavailable() from error
    except (OperationalError, InterfaceError) as error:
        if getattr(error.orig, "sqlstate", None) in _RETRYABLE:
            raise
        if "disk is full" in str(error.orig) or getattr(error.orig, "sqlstate", None) == "53100":
            raise Problem(Kind.STORAGE_FULL, "The disk of this service is full. Nothing was saved.") from error
        raise unavailable() from error
