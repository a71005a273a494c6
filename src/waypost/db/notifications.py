"""LISTEN/NOTIFY: wake other processes when the change log has a new entry. SQLite has none, so readers poll.

A lost notification only delays a reader until its next poll (ADR 10).
"""

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core.errors import Problem
from waypost.db import postgres
from waypost.db.database import Database

T = TypeVar("T")
_NOTIFY_TIMEOUT_SECONDS = 1.0
_SUPPORT_CHECK_SECONDS = 5.0  # a notification takes a thousandth of that


class Wakeup:
    """Interrupts `wait_for_notification` from another thread. Once set, it stays set."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.is_interrupted = False
        """True after `interrupt`, until the thread that waits sets it to False."""
        self._sender: socket.socket | None = None

    @contextlib.contextmanager
    def receiver(self) -> Iterator[socket.socket]:
        """A socket that becomes readable when the wake-up is set."""
        self._sender, receiver = socket.socketpair()
        with self._sender, receiver:
            if self.event.is_set() or self.is_interrupted:
                self._send()
            yield receiver

    def set(self) -> None:
        """Wake the waiting thread, and every later wait."""
        self.event.set()
        self._send()

    def interrupt(self) -> None:
        """End the current wait, or else the next one."""
        if not self.is_interrupted:
            self.is_interrupted = True
            self._send()

    def _send(self) -> None:
        sender = self._sender
        if sender is not None:
            with contextlib.suppress(OSError):  # the wait has ended already
                sender.send(b"!")


def notify(database: Database) -> None:
    """Wake every process that waits. Call it after the commit: inside a transaction NOTIFY serializes all commits."""
    if not database.is_sqlite:
        with contextlib.suppress(Problem, DBAPIError):  # readers poll as well
            database.write(_notify, durability="relaxed", autocommit=True, timeout=_NOTIFY_TIMEOUT_SECONDS)


def wait_for_notification(database: Database, seconds: float, wakeup: Wakeup) -> None:
    """Return after a notification or an interrupt, when `wakeup` is set, or after so many seconds.

    For the thread that polls.
    """
    started = time.monotonic()
    try:
        if not database.is_sqlite:
            with database.translated_errors(), database.listener.connect() as connection:
                if _wait(connection, seconds, wakeup):
                    return
    except (Problem, DBAPIError):
        pass  # the next read reports what happened to the connection
    wakeup.event.wait(max(0.0, started + seconds - time.monotonic()))


def poll(database: Database, work: Callable[[Connection], T]) -> T:
    """Like `Database.read`, on the connection that receives notifications, in autocommit mode and with a short timeout.

    For one thread per process that polls all the time: its latency sets the adaptive timeout of all connections.
    """

    def timed(tx: Connection) -> T:
        started = time.monotonic()
        result = work(tx)
        database.adaptive_timeout.record(time.monotonic() - started)
        return result

    return database.run(database.listener, timed, timeout=0)


def supports_notify(database: Database) -> bool:
    """Return whether LISTEN/NOTIFY works; it does not behind a transaction-pooling proxy.

    Raises UNAVAILABLE, also for a server that accepts no writes.
    """
    if database.is_sqlite:
        return True
    with database.translated_errors(), database.listener.connect() as connection:
        database.write(_notify, durability="relaxed", autocommit=True)
        listening: Any = connection.connection.driver_connection
        return any(True for _ in listening.notifies(timeout=_SUPPORT_CHECK_SECONDS, stop_after=1))


def _notify(tx: Connection) -> None:
    tx.execute(sqlalchemy.select(sqlalchemy.func.pg_notify(postgres.CHANNEL, "")))


def _wait(connection: Connection, seconds: float, wakeup: Wakeup) -> bool:
    """Wait on a connection that listens. Return False if it is lost."""
    listening: Any = connection.connection.driver_connection
    try:
        if list(listening.notifies(timeout=0)):
            return True
        with wakeup.receiver() as wakeup_socket:
            poller = select.poll()
            poller.register(listening.fileno(), select.POLLIN)
            poller.register(wakeup_socket, select.POLLIN)
            poller.poll(seconds * 1000)
        list(listening.notifies(timeout=0))
    except connection.dialect.loaded_dbapi.Error:
        connection.invalidate()
        return False
    return True
