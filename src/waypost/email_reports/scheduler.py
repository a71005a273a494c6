"""The job that sends reports when they are due. Every node runs it, and leases each report before its work."""

import threading
from functools import partial

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.email_reports import content, ops
from waypost.email_reports.ops import EmailReport
from waypost.http import mail
from waypost.http.mail import Email

_log = structlog.get_logger("reports")
_POLL_SECONDS = 30.0


def run(settings: Settings, database: Database, stop: threading.Event) -> None:
    """Send reports until `stop` is set."""
    while not stop.is_set():
        due = 0
        try:
            due = step(settings, database, stop)
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            _log.warning("reports wait for the database", reason=str(error))
        if due < ops.MAX_DUE:
            stop.wait(_POLL_SECONDS)


def step(settings: Settings, database: Database, stop: threading.Event) -> int:
    """Store reports that are due in the queue of e-mails, until `stop` is set. Return how many were due."""
    if database.read(ops.has_old, autocommit=True):
        database.write(ops.delete_unconfirmed)
    due = database.read(ops.find_due)
    for report in due:
        if stop.is_set():
            break
        claimed = database.write(partial(ops.claim, report=report), durability="process")
        if claimed is not None:
            _prepare(settings, database, claimed)
    return len(due)


def _prepare(settings: Settings, database: Database, report: EmailReport) -> None:
    """Store the e-mail of a claimed report. After an error it is due again at the end of its lease."""
    try:
        # The statistics take long, so they are read before the transaction that stores the e-mail.
        email = database.read(partial(content.report_email, settings=settings, report=report))
        database.write(partial(_store, settings=settings, report=report, email=email))
    except Exception as error:  # noqa: BLE001  # one report must not stop the others
        _log.exception("report could not be sent", account=report.account, report=report.id, reason=str(error))


def _store(tx: Connection, settings: Settings, report: EmailReport, email: Email | None) -> None:
    """Store the e-mail, unless its lease is over or its item was deleted."""
    if ops.take(tx, report) and email is not None:
        mail.enqueue(tx, settings, email, account=report.account)
