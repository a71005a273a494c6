"""Connect to the primary among several PostgreSQL servers, and never to a primary that was demoted (ADR 10)."""

import threading
from collections.abc import Generator
from typing import Any, Literal, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

T = TypeVar("T")
Timeline = tuple[str, str]
"""(system identifier, timeline id in hexadecimal) of a primary; every promotion starts a higher timeline."""
Mode = Literal["write", "snapshot", "autocommit"]
"""Kind of a transaction. `snapshot` only reads, all of it at the state of one moment."""
_CONNECT_SECONDS = 5
_CONNECT_SECONDS_OF_SEVERAL = 2  # with other servers to try, an unresponsive one must not delay them
_TIMELINE_QUERY = """
SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()
WHERE NOT pg_is_in_recovery()
"""


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection with a client-side timeout for each response."""

    response_timeout: float | None = None
    """Seconds to wait for each response; None: as long as the server's own limits allow."""
    timeline: Timeline | None = None
    """The server's timeline when the connection was opened; None for servers that do not report one."""
    _mode: Mode | None = "write"

    def enter_mode(self, mode: Mode) -> None:
        """Set the kind of the following transactions. Setting each property takes longer than comparing the mode."""
        if mode != self._mode:
            self._mode = None  # until all three are set
            self.autocommit = mode == "autocommit"
            self.isolation_level = IsolationLevel.REPEATABLE_READ if mode == "snapshot" else None
            self.read_only = True if mode == "snapshot" else None
            self._mode = mode

    def commit(self) -> None:
        """Commit. Without a transaction this costs nothing: SQLAlchemy ends those of autocommit mode as well."""
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            super().commit()

    def rollback(self) -> None:
        """Roll back. Without a transaction this costs nothing: the pool does it with every connection."""
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            super().rollback()

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait like psycopg, but close the connection when no response arrives in time."""
        if self.response_timeout is None or timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.response_timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.close()
            message = f"no response within {self.response_timeout:.2g} seconds: the server does not answer, or a "
            raise psycopg.OperationalError(f"{message}connection pooler has no free connection") from None


class PrimarySelector:
    """The servers named in a database URL and the primary among them, as known to this process. Thread-safe.

    After a failover the old primary can come back and accept writes that are lost later. Once this process has seen the
    higher timeline, it uses no connection to a lower one.
    """

    def __init__(self) -> None:
        self.has_several_servers = False
        self.timeline: Timeline | None = None
        """The highest timeline that this process has seen."""
        self._lock = threading.Lock()
        self._current = ""  # the server of the last connection
        self._is_in_doubt = True
        self._unresponsive: set[str] = set()  # servers whose last connection attempt timed out

    def mark_in_doubt(self) -> None:
        """Make the next connection try every server, because a connection was lost or responded slowly."""
        self._is_in_doubt = True

    def connect(self, settings: dict[str, str], arguments: dict[str, Any]) -> TimeoutConnection:
        """Connect to the current primary and apply session settings; `arguments` are those of libpq.

        Tries the server of the last connection first; if it is in doubt, selects the server with the highest timeline.
        Servers that timed out before are tried last. Raises OperationalError.
        """
        servers = _split_hosts(arguments)
        self.has_several_servers = len(servers) > 1
        if self._is_in_doubt:
            self._current, self._is_in_doubt = "", False
        opened: dict[str, TimeoutConnection] = {}
        errors: dict[str, psycopg.OperationalError] = {}
        for name in sorted(servers, key=lambda server: (server != self._current, server in self._unresponsive)):
            if opened and (self._current in opened or name in self._unresponsive):
                break
            try:
                opened[name] = self._open(name, settings, {**arguments, **servers[name]})
            except psycopg.OperationalError as error:
                errors[name] = error
        if not opened:
            raise _combined(errors)
        primary = max(opened, key=lambda server: opened[server].timeline or ("", ""))
        for name, connection in opened.items():
            if name != primary:
                connection.close()
        self._current = primary
        return opened[primary]

    def _open(self, name: str, settings: dict[str, str], arguments: dict[str, Any]) -> TimeoutConnection:
        """Open a prepared connection. Raises OperationalError, also for a demoted primary."""
        seconds = _CONNECT_SECONDS_OF_SEVERAL if self.has_several_servers else _CONNECT_SECONDS
        try:
            connection = TimeoutConnection.connect(**{**arguments, "connect_timeout": seconds})
        except psycopg.errors.ConnectionTimeout:
            self._unresponsive.add(name)
            raise
        self._unresponsive.discard(name)
        try:
            _prepare(connection, settings, seconds)
            self._check_timeline(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_timeline(self, connection: TimeoutConnection) -> None:
        with self._lock:
            if connection.timeline is not None and self.timeline is not None:
                (system, timeline), (known_system, highest) = connection.timeline, self.timeline
                if system == known_system and timeline < highest:
                    message = "another server was promoted after this one; to use this one, restart all nodes"
                    raise psycopg.OperationalError(message)
            self.timeline = connection.timeline or self.timeline


def _prepare(connection: TimeoutConnection, settings: dict[str, str], seconds: float) -> None:
    connection.response_timeout = seconds
    connection.autocommit = True
    # Not as `options` of the connection: PgBouncer rejects or ignores them.
    connection.execute(";".join(f"SET {name} = '{value}'" for name, value in settings.items()).encode(), prepare=False)
    connection.timeline = _read_timeline(connection)
    connection.autocommit = False
    connection.response_timeout = None


def _read_timeline(connection: TimeoutConnection) -> Timeline | None:
    try:
        row: Timeline | None = connection.execute(_TIMELINE_QUERY).fetchone()
    except psycopg.OperationalError:
        raise
    except psycopg.Error:  # a server that only speaks PostgreSQL's protocol
        return None
    return row


def _combined(errors: dict[str, psycopg.OperationalError]) -> psycopg.OperationalError:
    if len(errors) == 1:
        return next(iter(errors.values()))
    return psycopg.OperationalError("; ".join(f"{name}: {error}" for name, error in errors.items()))


def _split_hosts(arguments: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The host and port arguments of each server, by "host:port"."""
    hosts, ports = (str(arguments.get(key) or "").split(",") for key in ("host", "port"))
    if len(hosts) == 1 or "hostaddr" in arguments:
        return {"": {}}
    ports = ports * len(hosts) if len(ports) == 1 else ports
    pairs = zip(hosts, ports, strict=True)
    return {f"{host}:{port}".rstrip(":"): {"host": host, "port": port or None} for host, port in pairs}
