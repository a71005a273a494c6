"""The jobs of the ingester's process next to counting clicks: the order of the audit log, and checks of links."""

import threading
from collections.abc import Sequence

from waypost.clicks.ingest.process import BackgroundJob
from waypost.core.settings import Settings
from waypost.db import audit_sequence
from waypost.db.audit_sequence import Reader
from waypost.db.database import Database
from waypost.items.links import dead_link_checker

AUDIT_READERS: Sequence[Reader] = ()
"""They get every event of the audit log, in its order."""


def jobs(settings: Settings) -> Sequence[BackgroundJob]:
    """Return the jobs that the settings ask for."""
    return (_sequence_audit_log, *([dead_link_checker.run] if settings.dead_links_days else []))


def _sequence_audit_log(_settings: Settings, database: Database, stop: threading.Event) -> None:
    audit_sequence.run(database, stop, AUDIT_READERS)
