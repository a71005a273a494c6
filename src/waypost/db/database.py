"""Transactions: `read(work)` and `write(work)` open one, run `work(tx)` in it, and commit or roll back.

SQLite: WAL mode; connections that read cannot write; each process has one connection per durability that writes, and
writers of all processes queue on locks of ours instead of the file's (`sqlite_file.py`). PostgreSQL: one connection
pool for full durability, a small one for writes that may be lost with the server, and a connection that listens for
notifications; their behavior in a failover is in `failover.py`. See docs/adr/0001-data-layer.md.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import structlog
from sqlalchemy import Connection, Engine, Table, event, make_url
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, InvalidRequestError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from waypost.core.errors import Kind, Problem, unavailable
from waypost.core.reasons import RepeatedReason
from waypost.db import audit_log, faults, sqlite_file
from waypost.db.faults import Fault, error_reason
from waypost.db.postgres import MAX_RESPONSE_SECONDS, AdaptiveTimeout, is_safe_to_retry, set_response_timeout
from waypost.db.sqlite_file import IdleConnections, NoTurn, SqliteFile, WriteQueue

if TYPE_CHECKING:
    from waypost.db.event_loop_reader import EventLoopReader
    from waypost.db.failover import FailoverPools
    from waypost.db.statements import DriverSelect

T = TypeVar("T")
Durability = Literal["full", "process", "relaxed"]
"""Events that a committed write survives.

- full: a power cut.
- process: a crash of waypost or of the database server. On SQLite, a power cut can lose the last writes.
- relaxed: a crash of waypost. A crash of the database server can lose the last writes.
"""
_log = structlog.get_logger("database")
_ATTEMPTS = 4
# PostgreSQL: serialization failure, deadlock, and a reference to a row that is being deleted: the next attempt finds
# that it is gone.
_FOREIGN_KEY = "23503"
_RETRYABLE = {"40001", "40P01", _FOREIGN_KEY}
_BREAKER_SECONDS = 1.0
_NO_QUEUE = contextlib.nullcontext()  # PostgreSQL has its own
_LOG_INTERVAL_SECONDS = 10.0  # between two log entries with the same reason


class Database:
    """An open database. Close it after use. Without `creates`, a missing file of SQLite is not created."""

    _pools: tuple[Engine, ...]

    def __init__(self, url: str, *, creates: bool = True) -> None:
        parsed = make_url(url)
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self.path = Path(parsed.database) if self.is_sqlite and parsed.database else None
        self.adaptive_timeout = AdaptiveTimeout()
        self.breaker = CircuitBreaker()
        self._damages = 0
        self._errors = RepeatedReason(_log_unavailable, _LOG_INTERVAL_SECONDS)
        self._damage = RepeatedReason(_log_damage, _LOG_INTERVAL_SECONDS)
        self._file = SqliteFile(self.path) if self.path else None
        self._write_queue = WriteQueue(self.path) if self.is_sqlite else None
        self._failover: FailoverPools | None = None
        self._sqlite_readers: IdleConnections | None = None
        self._sqlite_writers: dict[Durability, IdleConnections] = {}
        if self.is_sqlite:
            create = partial(sqlite_file.create, url, creates=creates)
            self._reader = self._autocommit_reader = create(
                begin=None, pragmas=("query_only = ON", "cache_size = -2000")
            )
            self._sqlite_readers = IdleConnections(self._reader)
            write = partial(create, begin="BEGIN IMMEDIATE", single=True)
            full, relaxed = write(pragmas=("synchronous = FULL",)), write(pragmas=("synchronous = NORMAL",))
            self._writers: dict[Durability, Engine] = {"full": full, "process": relaxed, "relaxed": relaxed}
            self._autocommit = self._writers
            idle = IdleConnections(relaxed)
            self._sqlite_writers = {"full": IdleConnections(full), "process": idle, "relaxed": idle}
            self.listener, self._pools = self._reader, (self._reader, full, relaxed)
        else:
            from waypost.db import failover  # noqa: PLC0415  # SQLite does not need the driver's 10 MB

            self._failover = pools = failover.FailoverPools(url, self.adaptive_timeout)
            self._reader = pools.with_mode(pools.full, "snapshot")
            self._writers = {"full": pools.full, "process": pools.full, "relaxed": pools.relaxed}
            self._autocommit = {
                durability: pools.with_mode(engine, "autocommit") for durability, engine in self._writers.items()
            }
            self._autocommit_reader = self._autocommit["full"]
            self.listener = pools.listener
            self._pools = (pools.full, pools.relaxed, pools.listener)
        audit_log.follow_savepoints({*self._writers.values()})

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False, timeout: float | None = None) -> T:
        """Run `work` on one consistent snapshot; it cannot write.

        `autocommit`: each statement has a snapshot of its own; saves PostgreSQL two round trips.
        `timeout`: seconds to wait for each response from PostgreSQL, more while the server is slow. Without it, the
        server's own limits apply. `work` runs again if the connection was lost with its first statement.
        """
        if self._sqlite_readers is None:
            return self.run(self._autocommit_reader if autocommit else self._reader, work, timeout=timeout)
        return self._run_on_sqlite(self._sqlite_readers, work, begin="" if autocommit else "BEGIN")

    def _run_on_sqlite(
        self, connections: IdleConnections, work: Callable[[Connection], T], *, begin: str, until: float | None = None
    ) -> T:
        try:
            return connections.run(work, begin, until=until)
        except BaseException:
            with self.translated_errors():  # entered only now, because it takes longer than a small query
                raise

    def event_loop_reader(self, select: "DriverSelect") -> "EventLoopReader | None":
        """Return a reader for the event loop of a worker; None on SQLite."""
        return self._failover.event_loop_reader(self._connect_for_reading, select) if self._failover else None

    def _connect_for_reading(self) -> Connection:
        with self.translated_errors():
            connection = self._autocommit_reader.connect()
            connection.begin()
        return connection

    def write(
        self,
        work: Callable[[Connection], T],
        *,
        durability: Durability = "full",
        autocommit: bool = False,
        once: bool = False,
        timeout: float | None = None,
        lock_seconds: float | None = None,
    ) -> T:
        """Run `work` and commit: when this returns, the change is as durable as requested.

        Events that `work` records in the audit log are stored with it. `work` may run again, after a deadlock for
        example, so it must have no effect outside `tx`.
        `autocommit`: for a single statement; saves PostgreSQL two round trips. The statement may be executed twice if
        the connection is lost; with `once` it is not, and the lost connection is an error. `timeout` as for `read`.
        `lock_seconds`: with `autocommit`, raise UNAVAILABLE if other writers use the file of SQLite for so long.
        """
        if self._file is not None and self._file.fault:
            raise unavailable()
        engine = (self._autocommit if autocommit else self._writers)[durability]
        connections = self._sqlite_writers.get(durability) if autocommit else None
        audited = work if autocommit else partial(_audited, work)
        until = None if lock_seconds is None else time.monotonic() + lock_seconds
        for is_last in (False,) * (_ATTEMPTS - 1) + (True,):
            try:
                with self._turn(until):
                    if connections is not None:
                        return self._run_on_sqlite(connections, work, begin="BEGIN IMMEDIATE", until=until)
                    return self.run(engine, audited, once=once, timeout=timeout)
            except NoTurn as error:
                raise unavailable() from error
            except DBAPIError as error:
                state = faults.sqlstate(error)
                if state not in _RETRYABLE or (is_last and state == _FOREIGN_KEY):
                    raise
                if is_last:
                    raise unavailable() from error
        raise AssertionError("unreachable")

    def _turn(self, until: float | None) -> contextlib.AbstractContextManager[None]:
        if self._write_queue is None:
            return _NO_QUEUE
        return self._write_queue if until is None else self._write_queue.within(until)

    def check_file(self) -> str:
        """Return "missing" or "replaced" if the file of SQLite is not the opened one, else "".

        Until it is back, `write` raises UNAVAILABLE: changes would be lost. Processes call this once a second.
        """
        if self._file is None:
            return ""
        known = self._file.fault
        fault = self._file.check()
        if fault and fault != known:
            _log.error("the file of the database was removed", file=str(self.path), fault=fault)
        return fault

    def reap_stalled_connections(self) -> None:
        """Close connections whose server no longer responds, and log why the database was unavailable.

        Every process that serves requests calls this once a second. Never blocks.
        """
        if self._failover is not None:
            self._failover.reap_stalled()
        self._errors.flush()
        self._damage.flush()

    def take_damages(self) -> int:
        """Return how many statements found damaged data since the last call."""
        taken, self._damages = self._damages, 0
        return taken

    def close(self) -> None:
        """Close every connection; one that another thread still uses is closed when that thread returns it."""
        if self._sqlite_readers is not None:
            self._sqlite_readers.close()
        # Writers share a connection, and the process crashes if it is closed while a statement of another thread runs.
        with _NO_QUEUE if self._write_queue is None else self._write_queue.thread_turn:
            for connections in self._sqlite_writers.values():
                connections.close()
            if self._write_queue is not None:
                self._write_queue.close()
            for pool in self._pools:
                event.listen(pool, "checkin", lambda _connection, record: record.invalidate())
                pool.dispose()

    def run(
        self, engine: Engine, work: Callable[[Connection], T], *, once: bool = False, timeout: float | None = None
    ) -> T:
        """Run `work` in one transaction; a second time if the first one cannot have committed anything.

        `once`: a statement in autocommit mode may have committed. `timeout` as for `read`; the second attempt gets the
        longest one.
        """
        for is_last in (False, True):
            checkout = None
            try:
                with self.translated_errors(), engine.begin() as tx:
                    checkout = tx.info.get("checkout")
                    self.breaker.record_success()
                    if once and checkout is not None:
                        checkout.statements += 1  # a statement in autocommit mode includes its COMMIT
                    if timeout is not None and not self.is_sqlite:
                        limit = max(timeout, self.adaptive_timeout.limit)
                        set_response_timeout(tx, MAX_RESPONSE_SECONDS if is_last else limit)
                    return work(tx)
            except Problem as problem:
                if is_last or self.is_sqlite or not is_safe_to_retry(checkout, problem.__cause__):
                    raise
        raise AssertionError("unreachable")

    @contextlib.contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise UNAVAILABLE or STORAGE_FULL for a database that is down, locked or full; pass on all other errors.

        Damage is counted and logged, but it is an internal error: waiting repairs nothing.
        """
        if self.breaker.is_open:
            raise unavailable()
        try:
            yield
        except PoolTimeout as error:
            self._errors.record("no connection became free")
            raise unavailable() from error
        except InvalidRequestError as error:
            if str(error) != _LOST_TWICE:
                raise
            raise unavailable() from error
        except DBAPIError as error:
            problem = self._problem(error)
            if problem is None:
                raise
            raise problem from error
        except StatementError as error:
            if isinstance(error.orig, Problem):  # from waypost.db.statements
                raise error.orig from error
            raise

    def _problem(self, error: DBAPIError) -> Problem | None:
        """Record a fault of the database. Return the problem that it means to a request; None for an internal error."""
        fault = faults.classify(error)
        if fault is Fault.OF_STATEMENT or faults.sqlstate(error) in _RETRYABLE:  # `write` retries these
            return None
        if fault is Fault.DAMAGE:
            self._damages += 1
            self._damage.record(error_reason(error))
            return None
        self._errors.record(error_reason(error))
        if fault is Fault.FULL:
            return Problem(Kind.STORAGE_FULL, "The disk of this service is full. Nothing was saved.")
        if fault is Fault.STANDBY and self._failover is not None:
            self._failover.leave_server()
        is_connect = faults.sqlstate(error) is None and error.statement is None and not error.connection_invalidated
        if is_connect and not self.is_sqlite:
            self.breaker.record_failure()
        return unavailable()


def _audited(work: Callable[[Connection], T], tx: Connection) -> T:
    """Run `work`, then store the events that it recorded."""
    result = work(tx)
    audit_log.flush(tx)
    return result


_LOST_TWICE = "This connection is closed"
"""The message of the pool's error if two connections in a row are lost before they can be used."""


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
            self._open_until = time.monotonic() + _BREAKER_SECONDS


def _log_unavailable(reason: str) -> None:
    _log.warning("the database is not available", reason=reason)


def _log_damage(reason: str) -> None:
    _log.error("the database is damaged", reason=reason)


def upsert(tx: Connection, table: Table) -> Any:
    """An INSERT with ON CONFLICT in the dialect of the database behind `tx`. The two dialects share no type."""
    return sqlite.insert(table) if tx.dialect.name == "sqlite" else postgresql.insert(table)
