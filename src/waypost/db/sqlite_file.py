"""A SQLite file in WAL mode: its connection pools, and the queue of its writers in all threads and processes.

SQLite has no queue: a writer that finds the file locked sleeps for up to 100 ms, while others begin. Here, the
writer that takes the head of the queue is the next one, so that a writer that has just finished cannot begin again
before it. SQLite's own lock decides in any case: where these locks do not work, only the order is lost.
"""

import fcntl
import mmap
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from waypost.core.data_files import inherit_owner
from waypost.core.text_folding import folded
from waypost.db.statements import check_parameters, dump_json

T = TypeVar("T")
MAX_SECONDS = 2.0
"""A writer waits so long for other processes; one of them may be suspended. Then it waits for SQLite's lock."""
_RETRY_SECONDS = 0.0005  # locks of files have no time limit, so a writer tries again
_FILE_NAME_ENDS = ("-queue", "-turn")
_BUSY_SECONDS = 10
_WRITER_SECONDS = _BUSY_SECONDS - MAX_SECONDS  # writers have waited before
_MAX_IDLE = 8  # each connection has a cache
_WAL_ATTEMPTS = 100
_WAL_RETRY_SECONDS = 0.05


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


def create_files(database: Path) -> None:
    """Create the lock files of a database, as the start of the service does. Without them, processes do not queue."""
    with suppress(OSError):  # of a folder that cannot be written, for example
        for path in _paths(database):
            if not path.exists():
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
                inherit_owner(path)


def _paths(database: Path) -> list[Path]:
    return [database.with_name(database.name + end) for end in _FILE_NAME_ENDS]


class NoTurn(Exception):
    """Raised when a writer with a limit of time got no turn in it."""


class _ProcessTurns:
    """The turns of processes. One that finds the turn taken waits at the head, and its mark holds back all others.

    Without a mark, a turn costs one system call to take and one to give back.
    """

    def __init__(self, database: Path) -> None:
        """Raises OSError without lock files."""
        with ExitStack() as files:
            head, turn = (files.enter_context(path.open("r+b", buffering=0)) for path in _paths(database))
            head.truncate(1)
            self._mark = files.enter_context(mmap.mmap(head.fileno(), 1))
            self._head, self._turn = head.fileno(), turn.fileno()
            self._files = files.pop_all()
        self._is_stuck = False

    def take(self, until: float | None) -> None:
        """Wait for the turn; not after a wait without success. Without it, the writer waits for SQLite's lock."""
        try:
            if self._mark[0] or not _lock(self._turn):
                self._wait(until)
            else:
                self._is_stuck = False
        except OSError:  # of a file system without locks
            self._is_stuck = True

    def _wait(self, until: float | None) -> None:
        deadline = time.monotonic() + (0 if self._is_stuck else MAX_SECONDS)
        deadline = deadline if until is None else min(deadline, until)
        self._is_stuck = True
        if _lock(self._head, deadline):
            self._mark[0] = 1
            self._is_stuck = not _lock(self._turn, deadline)
            self._mark[0] = 0
            _unlock(self._head)

    def give_back(self) -> None:
        """End the turn."""
        _unlock(self._turn)

    def close(self) -> None:
        """Close the files."""
        self._files.close()


class WriteQueue:
    """Context manager of one write: waits for the turn of this thread, then for that of this process.

    The kernel releases the locks of a process that ends. A suspended one delays a single write of each other process.
    """

    def __init__(self, database: Path | None) -> None:
        """`database` is the file of the database; None for one in memory, which has no other processes."""
        self._database = database
        self._head = threading.Lock()
        self.thread_turn = threading.Lock()
        """Held by the thread of this process that writes or waits for other processes."""
        self._processes: _ProcessTurns | None = None

    def __enter__(self) -> None:
        self.enter()

    def enter(self, until: float | None = None) -> None:
        """Wait for the turn, up to a time of the monotonic clock. Raises NoTurn."""
        if not self._head.acquire(timeout=_left(until)):
            raise NoTurn
        try:
            if not self.thread_turn.acquire(timeout=_left(until)):
                raise NoTurn
        finally:
            self._head.release()
        try:
            if self._processes is None:
                self._processes = self._open()
            if self._processes is not None:
                self._processes.take(until)
        except BaseException:
            self.__exit__()
            raise

    @contextmanager
    def within(self, until: float) -> Iterator[None]:
        """Have the turn in a block; wait for it up to a time of the monotonic clock. Raises NoTurn."""
        self.enter(until)
        try:
            yield
        finally:
            self.__exit__()

    def __exit__(self, *_: object) -> None:
        if self._processes is not None:
            self._processes.give_back()
        self.thread_turn.release()

    def close(self) -> None:
        """Close the files. Call it with `thread_turn`, after the last write."""
        if self._processes is not None:
            self._processes.close()
        self._processes = None

    def _open(self) -> _ProcessTurns | None:
        """Open the lock files. Return None if there are none; the next write tries again."""
        try:
            return _ProcessTurns(self._database) if self._database else None
        except (OSError, ValueError):  # of `mmap`, where a file system has none
            return None


def _left(until: float | None) -> float:
    """Return the seconds until a time, as a limit of a lock: -1 for none."""
    return -1 if until is None else max(0.0, until - time.monotonic())


def _lock(file: int, deadline: float = 0) -> bool:
    """Lock a file; wait for it until the deadline. Return whether it is locked. Raises OSError without locks."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        else:
            return True


def _unlock(file: int) -> None:
    try:  # not `suppress`, which takes longer
        fcntl.flock(file, fcntl.LOCK_UN)
    except OSError:
        return
