"""The job that sends reports when they are due. Every node runs it; each report is stored once."""

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
        try:
            step(settings, database)
        except (Problem, DBAPIError, OSError) as error:  # DBAPIError: damage, or a missing right
            _log.warning("reports wait for the database", reason=str(error))
        stop.wait(_POLL_SECONDS)


def step(settings: Settings, database: Database) -> int:
    """Store the reports that are due in the queue of e-mails. Return how many."""
    if database.read(ops.has_old, autocommit=True):
        database.write(ops.delete_unconfirmed)
    stored = 0
    for report in database.read(ops.find_due):
        # The statistics take long, so they are read before the transaction that stores the e-mail.
        email = database.read(partial(content.report_email, settings=settings, report=report))
        stored += database.write(partial(_store, settings=settings, report=report, email=email))
    return stored


def _store(tx: Connection, settings: Settings, report: EmailReport, email: Email | None) -> bool:
    """Store the e-mail, unless another process has done so. Return whether it was stored."""
    if not ops.take(tx, report) or email is None:
        return False
    mail.enqueue(tx, settings, email, account=report.account)
    return True
