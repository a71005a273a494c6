"""The job that sends reports and notices when they are due. Every node runs it, and claims each one before its work.

Without an SMTP server, it only deletes old rows.
"""

import threading
from collections.abc import Callable
from functools import partial

import structlog
from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import last_backup
from waypost.db.database import Database
from waypost.db.last_backup import Failure
from waypost.db.schema import members, people
from waypost.db.schema.people import OWNER
from waypost.email_reports import content, notice_content, notices, ops, surges
from waypost.email_reports.notices import Item, Kind
from waypost.email_reports.ops import EmailReport
from waypost.http import mail
from waypost.http.mail import Email

_log = structlog.get_logger("reports")
_POLL_SECONDS = 30.0
_BACKUP = "noticed backup"
"""The name of the row of `installation` with the time of the last failed backup that became a notice."""


def run(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Send reports until `stop` is set."""
    while not stop.is_set():
        due = 0
        try:
            delete_old(database)
            if settings.smtp_url.get_secret_value():
                due = step(settings, database, stop)
                send_notices(settings, database, stop)
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            _log.warning("reports wait for the database", reason=str(error))
        if due < ops.MAX_DUE:
            stop.wait(_POLL_SECONDS)


def step(settings: Settings, database: Database, stop: threading.Event) -> int:
    """Store reports that are due in the queue of e-mails, until `stop` is set. Return how many were due."""
    if database.read(ops.has_impossible, autocommit=True):
        database.write(ops.correct_impossible)
    due = database.read(ops.find_due)
    for report in due:
        if stop.is_set():
            break
        claimed = database.write(partial(ops.claim, report=report), durability="process")
        if claimed is not None:
            prepare = partial(_prepare, settings, database, claimed)
            _try(prepare, claimed.account, report=claimed.id)
    return len(due)


def delete_old(database: Database) -> None:
    """Delete reports that were not confirmed in time, and notices that could not be sent."""
    if database.read(ops.has_old, autocommit=True):
        database.write(ops.delete_unconfirmed)
    if database.read(notices.has_old, autocommit=True):
        database.write(notices.delete_old)


def send_notices(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Find unusual hours and failed backups, and store the notices that are due in the queue of e-mails."""
    surges.step(database)
    failure = database.read(last_backup.failure, autocommit=True)
    if failure is not None and database.read(
        partial(notices.is_behind_at, name=_BACKUP, to=failure.at), autocommit=True
    ):
        database.write(partial(_add_failed_backup, failure=failure))
    for account, kind in database.read(notices.find_due, autocommit=True):
        if stop.is_set():
            return
        store = partial(_store_notice, settings=settings, account=account, kind=kind)
        _try(partial(database.write, store), account, notice=kind)


def _add_failed_backup(tx: Connection, failure: Failure) -> None:
    if notices.advance(tx, _BACKUP, failure.at):
        is_admin = (people.c.person == members.c.person) & people.c.admin & (members.c.role == OWNER)
        for account in tx.execute(select(members.c.account).join(people, is_admin)).scalars().all():
            notices.add(tx, account, "backup", [Item(None, {"at": failure.at, "reason": failure.reason})])


def _store_notice(tx: Connection, settings: Settings, account: int, kind: Kind) -> None:
    """Store the e-mail in the transaction that records that it was sent, so it is stored once."""
    if not (items := notices.take(tx, account, kind)):
        return
    email = notice_content.email(tx, settings, notices.recipient(tx, account), kind, items)
    if email is not None:
        mail.enqueue(tx, settings, email, account=account)


def _prepare(settings: Settings, database: Database, report: EmailReport) -> None:
    """Store the e-mail of a claimed report. After an error it is due again at the end of its lease."""
    # The statistics take long, so they are read before the transaction that stores the e-mail.
    email = database.read(partial(content.report_email, settings=settings, report=report))
    database.write(partial(_store, settings=settings, report=report, email=email))


def _try(work: Callable[[], object], account: int, *, report: int | None = None, notice: Kind | None = None) -> None:
    """Prepare an e-mail. One that fails must not stop the others, and is tried again later."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  # any fault of one e-mail
        values = {"account": account, "report": report, "notice": notice}
        _log.exception("report or notice could not be sent", **values, reason=str(error))


def _store(tx: Connection, settings: Settings, report: EmailReport, email: Email | None) -> None:
    """Store the e-mail, unless its lease is over or its item was deleted."""
    if ops.take(tx, report) and email is not None:
        mail.enqueue(tx, settings, email, account=report.account)
