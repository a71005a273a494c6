"""The only way of outgoing e-mail but the administrator's test: stored in the queue, then sent and repeated (ADR 21).

No e-mail is sent inside a transaction. The process of a request stores e-mails in one thread, and makes the first
attempt in another, without the pause of the job that makes the others. So a mail server that does not answer never
keeps e-mails from the queue.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import patient_writes
from waypost.db.database import Database
from waypost.http import mail_queue
from waypost.http.mail_queue import Claim
from waypost.http.smtp import LOGO_CID, Email, SmtpServer

__all__ = ["Email", "Mailer", "ReadLogo", "enqueue", "run"]

_log = structlog.get_logger("mail")
_SHUTDOWN_SECONDS = 10
_MAX_QUEUED = 1000
# E-mail is prepared after the response: before, it would slow the response down, and more if there is a recipient.
_DELAY_SECONDS = 0.25
_POLL_SECONDS, _OFFLINE_SECONDS, _UPKEEP_SECONDS = 1.0, 30.0, 10.0
ReadLogo = Callable[[Connection], str]
"""Returns the logo of the installation as a `data:` URL, "" for none."""


class Mailer:
    """Sends e-mail through the SMTP server of the settings, if there is one.

    Stored e-mails have no logo: each attempt attaches the one that `read_logo` returns. `fault_point` is called between
    steps; tests crash in it.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        read_logo: ReadLogo,
        *,
        report_queued: Callable[[int], None] = lambda _: None,
        fault_point: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """Prepare it. `report_queued` is called with the number of e-mails that are not stored yet when it changes."""
        self._server = SmtpServer(settings)
        self._database = database
        self._read_logo = read_logo
        self._storing = ThreadPoolExecutor(1, thread_name_prefix="mail")
        self._sending = ThreadPoolExecutor(1, thread_name_prefix="mail-sending")
        self._offline_until = 0.0  # of the monotonic clock
        self._report_queued = report_queued
        self._fault_point = fault_point
        self._queued = 0
        self._lock = threading.Lock()

    @property
    def can_send(self) -> bool:
        """True if an SMTP server is configured."""
        return self._server.is_configured

    def send_later(self, prepare: Callable[[], Email | None], *, account: int | None = None) -> None:
        """Store an e-mail that `prepare` makes in a thread, and send it. Without an SMTP server, do nothing.

        Neither the response nor its time depends on whether there is a recipient. Errors are only logged.
        """
        if not self.can_send:
            return
        if self._queued >= _MAX_QUEUED:
            _log.error("e-mail queue is full")
            return
        self._count(1)
        self._storing.submit(self._prepare, prepare, account, time.monotonic() + _DELAY_SECONDS)

    def send_now(self, email: Email) -> str:
        """Send an e-mail in the calling thread. Return the reason if the SMTP server did not accept it, else ""."""
        failure = self._server.send(email)
        return failure.reason if failure else ""

    def send_due(self, stop: threading.Event) -> bool:
        """Send the e-mails that are due. Return False if the server cannot be reached now."""
        for item in self._database.read(mail_queue.find_due, autocommit=True):
            if stop.is_set():
                break
            if not self.send(item):
                return False
        return True

    def send(self, item: int) -> bool:
        """Send an e-mail if it is due and no other process sends it. Return False if the server cannot be reached."""
        claimed = self._database.write(partial(self._claim, item=item), durability="process")
        self._fault_point("claimed")
        return claimed is None or self._attempt(claimed)

    def close(self) -> None:
        """Store and send e-mail for at most ten seconds more, then stop. The job of another process sends the rest."""
        self._server.deadline = time.monotonic() + _SHUTDOWN_SECONDS
        self._storing.shutdown()
        self._sending.shutdown()

    def _claim(self, tx: Connection, item: int) -> Claim | None:
        """Lease an e-mail, with the logo that its HTML shows."""
        claimed = mail_queue.claim(tx, item)
        if claimed is None or f"cid:{LOGO_CID}" not in claimed.email.html:
            return claimed
        return replace(claimed, email=claimed.email._replace(logo=self._read_logo(tx)))

    def _prepare(self, prepare: Callable[[], Email | None], account: int | None, start: float) -> None:
        try:
            time.sleep(max(0, start - time.monotonic()))
            if (email := prepare()) is None:
                return
            message_id = self._server.new_message_id()
            add = partial(mail_queue.add, email=email, message_id=message_id, account=account)
            item = self._database.write(add)
            self._fault_point("stored")
            self._sending.submit(self._send_first, item)
        except Exception as error:  # noqa: BLE001  # the outermost edge of the thread
            _log.exception("e-mail could not be prepared", reason=str(error))
        finally:
            self._count(-1)

    def _send_first(self, item: int) -> None:
        """Make the first attempt, unless the server could not be reached just now: then the job makes it."""
        if time.monotonic() < self._offline_until:
            return
        try:
            is_online = self.send(item)
        except Exception as error:  # noqa: BLE001  # the outermost edge of the thread
            _log.warning("e-mails wait for the database", reason=str(error))
            return
        if not is_online:
            self._offline_until = time.monotonic() + _OFFLINE_SECONDS

    def _attempt(self, claimed: Claim) -> bool:
        """Send an e-mail, and store the result. Return False if the server could not be reached."""
        failure = self._server.send(claimed.email, claimed.message_id)
        self._fault_point("sent")
        if failure is None or failure.is_permanent:
            self._store(partial(mail_queue.record_sent, item=claimed.id), claimed)
        if failure is None:
            return True
        retry = 0 if failure.is_permanent else self._store(partial(mail_queue.record_failure, claimed=claimed), claimed)
        _log.error("e-mail could not be sent", reason=failure.reason, subject=claimed.email.subject, retry=retry or 0)
        return not failure.is_offline

    def _store(self, record: Callable[[Connection], int | None], claimed: Claim) -> int | None:
        """Store a result, as long as the lease allows if the database is away: without it the e-mail is sent again."""
        try:
            return patient_writes.store(
                self._database, record, seconds=claimed.until - clock.now() - 1, pause=self._pause
            )
        except Problem as problem:
            _log.warning("result of an e-mail was not stored", reason=str(problem))
            return None

    def _pause(self) -> bool:
        """Wait for a second. Return whether the process ends."""
        if time.monotonic() > self._server.deadline:
            return True
        time.sleep(1)
        return False

    def _count(self, change: int) -> None:
        with self._lock:
            self._queued += change
            self._report_queued(self._queued)


def enqueue(tx: Connection, settings: Settings, email: Email, *, account: int | None = None) -> int | None:
    """Store an e-mail with the changes of a transaction; the job sends it. Return its id; None without SMTP server."""
    server = SmtpServer(settings)
    if not server.is_configured:
        return None
    return mail_queue.add(tx, email, server.new_message_id(), account=account)


def run(settings: Settings, database: Database, stop: threading.Event, read_logo: ReadLogo) -> None:
    """Send the e-mails of the queue until `stop` is set. Without an SMTP server, only delete those that are too old."""
    mailer, meter, upkeep_at = Mailer(settings, database, read_logo), Meter(settings.metrics_dir, "mail"), 0.0
    while not stop.is_set():
        try:
            if time.monotonic() >= upkeep_at:
                _keep_up(database, meter)
                upkeep_at = time.monotonic() + _UPKEEP_SECONDS
            is_online = mailer.can_send and mailer.send_due(stop)
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            _log.warning("e-mails wait for the database", reason=str(error))
            is_online = False
        stop.wait(_POLL_SECONDS if is_online else _OFFLINE_SECONDS)


def _keep_up(database: Database, meter: Meter) -> None:
    """Delete e-mails that are too old, correct times of a clock that was ahead, and publish how many are due."""
    if database.read(mail_queue.has_expired, autocommit=True):
        database.write(mail_queue.delete_expired, durability="relaxed")
    if database.read(mail_queue.has_impossible, autocommit=True):
        database.write(mail_queue.correct_impossible, durability="process")
    meter.set_queue("emails", database.read(mail_queue.count_due, autocommit=True))
    meter.save()
