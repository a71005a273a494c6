"""Connection pools of a SQLite file in WAL mode."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from waypost.core.text_folding import folded
from waypost.db.statement_parameters import check_parameters, dump_json
from waypost.db.write_queue import MAX_SECONDS


class SqliteFile:
    """Notices that the file at a path is no longer the one that was opened."""

    def __init__(self, path: Path) -> None:
        self.fault = ""
        """The result of the last check: "missing", "replaced", or "" for the opened file."""
        self._path = path
        self._opened = _identity(path)

    def check(self) -> str:
        """Return the fault of the file, and remember it."""
        with suppress(PermissionError):  # the database reports it
            present = _identity(self._path)
            self._opened = self._opened or present
            self.fault = "missing" if present is None else "" if present == self._opened else "replaced"
        return self.fault


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and the number of a file; None if it does not exist, or its disk is away."""
    try:
        status = path.stat()
    except PermissionError:
        raise
    except OSError:
        return None
    return status.st_dev, status.st_ino


T = TypeVar("T")
_BUSY_SECONDS = 10
_WRITER_SECONDS = _BUSY_SECONDS - MAX_SECONDS  # writers have waited before
_MAX_IDLE = 8  # each connection has a cache
_WAL_ATTEMPTS = 100
_WAL_RETRY_SECONDS = 0.05


def create(
    url: str, *, begin: str | None, pragmas: tuple[str, ...], single: bool = False, creates: bool = True
) -> Engine:
    """Connections that open transactions with `begin`, or open none; `single`: one connection for all threads.

    Without `creates`, the file must exist.
    """
    options: dict[str, Any] = {"poolclass": StaticPool} if single else {"pool_size": 8, "max_overflow": 40}
    # isolation_level None: the sqlite3 module does not begin transactions by itself.
    busy_seconds = _WRITER_SECONDS if begin else _BUSY_SECONDS
    connect = {"timeout": busy_seconds, "check_same_thread": False, "isolation_level": None}
    path = make_url(url).database
    if path and (not creates or Path(path).exists()):
        # A file that is removed while the service runs must not be created again, empty.
        options["creator"] = partial(sqlite3.connect, f"{Path(path).absolute().as_uri()}?mode=rw", uri=True, **connect)
    engine = create_engine(url, connect_args=connect, json_serializer=dump_json, **options)
    check_parameters(engine)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        _use_wal(connection)
        for pragma in ("foreign_keys = ON", "cache_size = -8000", "mmap_size = 0", *pragmas):
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function("folded", 1, _folded, deterministic=True)

    if begin:
        event.listen(engine, "begin", partial(_begin, begin))
    return engine


class IdleConnections:
    """Connections between two transactions, because the pool and transactions of SQLAlchemy take as long as a query."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: list[Connection] = []
        self._max_idle = _MAX_IDLE

    def run(self, work: Callable[[Connection], T], begin: str = "", *, until: float | None = None) -> T:
        """Run `work` in a transaction opened with `begin`; without it, in none. Raises the errors of SQLAlchemy.

        `until`: wait for the lock of the file up to this time of the monotonic clock.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
        try:
            if begin and until is not None:
                _begin_until(until, begin, connection)
            elif begin:
                _execute(begin, connection)
            result = work(connection)
            if connection.in_transaction():  # of SQLAlchemy
                connection.commit()
            elif begin:
                _execute("COMMIT", connection)
        except BaseException:
            _roll_back(connection)
            connection.close()
            raise
        if len(self._idle) < self._max_idle:
            self._idle.append(connection)
        else:
            connection.close()
        return result

    def close(self) -> None:
        """Close the idle connections, and others when they become idle."""
        self._max_idle = 0
        while self._idle:
            self._idle.pop().close()


def _folded(content: str | None) -> str | None:
    """Fold a text; SQLite's `lower` folds the case of ASCII only."""
    return content if content is None else folded(content)


def _begin(statement: str, connection: Connection) -> None:
    """Open a transaction, unless one is open. Not by SQLAlchemy's own way, which takes as long as a small query."""
    driver: Any = connection.connection.driver_connection
    if not driver.in_transaction:
        _execute(statement, connection)


def _begin_until(until: float, statement: str, connection: Connection) -> None:
    """Open a transaction of a writer, which waits for the lock of the file up to a time of the monotonic clock."""
    _wait_for_lock(max(0.0, until - time.monotonic()), connection)
    try:
        _execute(statement, connection)
    finally:
        _wait_for_lock(_WRITER_SECONDS, connection)


def _wait_for_lock(seconds: float, connection: Connection) -> None:
    _execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}", connection)


def _execute(statement: str, connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    try:
        driver.execute(statement)
    except sqlite3.Error as error:
        raise DBAPIError.instance(statement, None, error, sqlite3.Error, dialect=connection.dialect) from error


def _roll_back(connection: Connection) -> None:
    """Roll back, which SQLAlchemy does not do after a failed COMMIT."""
    with suppress(sqlite3.Error, SQLAlchemyError):  # the file was closed
        connection.connection.rollback()


def _use_wal(connection: Any) -> None:
    """Switch to WAL. On a new file two connections can conflict, and SQLite's busy timeout does not cover that."""
    for is_last in (*([False] * _WAL_ATTEMPTS), True):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if is_last or "locked" not in str(error):
                raise
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            return
