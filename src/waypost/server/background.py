"""The jobs of the ingester's process next to counting clicks: audit log, webhooks, e-mail, reports, and checks."""

import threading
from collections.abc import Sequence
from functools import partial

from waypost.audit import merkle
from waypost.audit.checkpoints import CheckpointSigner
from waypost.clicks.ingest.ingester import VisitReader
from waypost.clicks.ingest.process import BackgroundJob
from waypost.core.settings import Settings
from waypost.db.audit_sequence import Reader, Sequencer
from waypost.db.database import Database
from waypost.email_reports import notices, scheduler
from waypost.http import mail
from waypost.items.domains import domain_checker
from waypost.items.links import dead_link_checker, expiry_events, limit_events
from waypost.media.branding import store as brands
from waypost.webhooks import outbox, overlay_hooks, sender
from waypost.webhooks.visit_outbox import VisitOutbox

AUDIT_READERS: Sequence[Reader] = (merkle.append, outbox.enqueue, overlay_hooks.follow, notices.follow)
"""They get every event of the audit log, in its order."""


def jobs(settings: Settings) -> Sequence[BackgroundJob]:
    """Return the jobs that the settings ask for."""
    return (
        _sequence_audit_log,
        sender.run,
        partial(mail.run, read_logo=brands.logo_of_installation),
        expiry_events.run,
        scheduler.run,
        *([dead_link_checker.run] if settings.dead_links_days else []),
        *([domain_checker.run] if settings.checks_domains else []),
    )


def visit_readers(settings: Settings) -> Sequence[VisitReader]:
    """Return what gets every counted visit."""
    return (limit_events.record_reached, VisitOutbox(settings))


def _sequence_audit_log(settings: Settings, database: Database, stop: threading.Event) -> None:
    signer = CheckpointSigner(database, settings.own_host)
    Sequencer(database, AUDIT_READERS).run(stop, signer.sign_due)


def sequence_now(database: Database) -> None:
    """Assign the positions of all events, whether or not a service runs."""
    sequencer = Sequencer(database, AUDIT_READERS)
    while sequencer.step():
        pass
