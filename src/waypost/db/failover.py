"""Connections to PostgreSQL: to whichever of its servers takes changes, and to none that another one has followed."""

import threading
from collections.abc import Generator
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

T = TypeVar("T")
Timeline = tuple[str, str]
"""The identity of a database, and the timeline of the server that takes its changes: every promotion begins a higher
one."""
_ALONE_SECONDS = 5
_BESIDE_SECONDS = 2  # one server of several is not waited for long when it stands still
_ERA = """
SELECT system_identifier::text, left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()
WHERE NOT pg_is_in_recovery()
"""


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection on which answers can be waited for with little patience."""

    patience: float | None = None
    """Seconds for each answer; None: as long as the server's limits allow."""
    era: Timeline | None = None
    """That of the server on its other side, when it was made; None for a server that does not say."""

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        """As psycopg's, but a connection that says nothing for too long is closed, and so found lost."""
        if self.patience is None or timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, self.patience)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status != TransactionStatus.ACTIVE:
                raise
            self.close()
            told = (
                f"no answer within {self.patience:.2g} seconds from the server, or a pooler without a free connection"
            )
            raise psycopg.OperationalError(told) from None


class HostList:
    """The servers that a URL names, as one process knows them; shared by all who connect there.

    When a standby became the first server, the old one may come back and take changes too, which nobody would ever see
    again. Who has seen the higher timeline uses no connection to the lower one any more.
    """

    def __init__(self) -> None:
        self.are_many = False
        self._lock = threading.Lock()
        self._era: Timeline | None = None
        self._used = ""  # the one to which the last connection was made
        self._in_doubt = True
        self._slow: set[str] = set()  # which did not answer in time when they were asked last

    def is_past(self, line: TimeoutConnection) -> bool:
        """Whether another server has followed the one on this connection."""
        return line.era is not None and line.era != self._era

    def doubt(self) -> None:
        """A connection was lost, or kept somebody waiting: who connects next asks every server."""
        self._in_doubt = True

    def connect(self, settings: dict[str, str], named: dict[str, Any]) -> TimeoutConnection:
        """A connection with these settings; `named` is what libpq is told.

        To the server that was used last, or if that is in doubt to the one of the highest timeline. Those that did not
        answer in time are asked only when no other one will do. Raises OperationalError.
        """
        each = _each(named)
        self.are_many = len(each) > 1
        if self._in_doubt:
            self._used, self._in_doubt = "", False
        found: dict[str, TimeoutConnection] = {}
        failed: dict[str, psycopg.OperationalError] = {}
        for name in sorted(each, key=lambda one: (one != self._used, one in self._slow)):
            if found and (self._used in found or name in self._slow):
                break
            try:
                found[name] = self._opened(name, settings, {**named, **each[name]})
            except psycopg.OperationalError as error:
                failed[name] = error
        if not found:
            raise _together(failed)
        best = max(found, key=lambda name: found[name].era or ("", ""))
        for name, line in found.items():
            if name != best:
                line.close()
        self._used = best
        return found[best]

    def _opened(self, name: str, settings: dict[str, str], named: dict[str, Any]) -> TimeoutConnection:
        """A connection that can be used. Raises OperationalError, also when its server is past."""
        seconds = _BESIDE_SECONDS if self.are_many else _ALONE_SECONDS
        try:
            line = TimeoutConnection.connect(**{**named, "connect_timeout": seconds})
        except psycopg.errors.ConnectionTimeout:
            self._slow.add(name)
            raise
        self._slow.discard(name)
        try:
            _prepare(line, settings, seconds)
            self._admit(line)
        except BaseException:
            line.close()
            raise
        return line

    def _admit(self, line: TimeoutConnection) -> None:
        with self._lock:
            if line.era is not None and self._era is not None:
                (system, timeline), (known, highest) = line.era, self._era
                if system == known and timeline < highest:
                    raise psycopg.OperationalError(
                        "another server has followed this one; if this one is meant, start the nodes anew"
                    )
            self._era = line.era or self._era


def _prepare(line: TimeoutConnection, settings: dict[str, str], seconds: float) -> None:
    line.patience = seconds
    line.autocommit = True
    # Not as `options` of the connection: PgBouncer refuses them, or leaves them out.
    line.execute(";".join(f"SET {name} = '{value}'" for name, value in settings.items()).encode(), prepare=False)
    line.era = _era(line)
    line.autocommit = False
    line.patience = None


def _together(failed: dict[str, psycopg.OperationalError]) -> psycopg.OperationalError:
    if len(failed) == 1:
        return next(iter(failed.values()))
    return psycopg.OperationalError("; ".join(f"{name}: {error}" for name, error in failed.items()))


def _each(named: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What is said of each server, by its name and port."""
    hosts, ports = (str(named.get(key) or "").split(",") for key in ("host", "port"))
    if len(hosts) == 1 or "hostaddr" in named:
        return {"": {}}
    ports = ports * len(hosts) if len(ports) == 1 else ports
    pairs = zip(hosts, ports, strict=True)
    return {f"{host}:{port}".rstrip(":"): {"host": host, "port": port or None} for host, port in pairs}


def _era(line: TimeoutConnection) -> Timeline | None:
    try:
        found: Timeline | None = line.execute(_ERA).fetchone()
    except psycopg.OperationalError:
        raise
    except psycopg.Error:  # what only speaks like PostgreSQL
        return None
    return found
