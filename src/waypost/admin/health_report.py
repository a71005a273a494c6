"""The state of each part of a node, in the levels that the health page shows as green, amber and red."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection

from waypost.admin import health
from waypost.clicks.ingest import read_barrier
from waypost.core import clock, metrics
from waypost.core.metrics import Meter, QueueName
from waypost.core.settings import Settings
from waypost.db import last_backup
from waypost.db.database import Database
from waypost.db.last_backup import Failure
from waypost.db.upgrade import current_revision, latest_revision
from waypost.storage.store import Store

Level = Literal["good", "warn", "bad"]
_DAY = 86_400
_WARN_FREE_BYTES = 512_000_000
_WARN_UNCOUNTED_BYTES = 10 * 1024 * 1024
_QUEUE_LENGTHS: Mapping[QueueName, tuple[int, int]] = {"emails": (20, 150), "webhooks": (100, 800)}
"""Lengths from which a queue is amber and red."""


@dataclass(frozen=True)
class HealthReport:
    """The state of a node. `levels` has each part; the other fields are what they were judged by."""

    levels: Mapping[str, Level]
    database_fault: str
    revision: str | None
    uncounted_bytes: int
    oldest_seconds: int
    """Age of the oldest click that is not counted yet, 0 without one."""
    lost_clicks: int
    """Clicks that could not be written since the start."""
    free_bytes: int
    storage_fault: str
    last_backup: int | None
    failed_backup: Failure | None
    """The last backup if it failed."""
    queues: Mapping[QueueName, int]
    load_percent: int
    """Processes that run or wait for a processor, in percent of all processors, average of 15 minutes."""
    processors: int
    rejected_requests: int
    """Requests that load shedding rejected since the start."""

    @property
    def level(self) -> Level:
        """The worst level of all parts."""
        return max(self.levels.values(), key=("good", "warn", "bad").index)


def read(settings: Settings, database: Database, store: Store, meter: Meter) -> HealthReport:
    """Return the state of this node."""

    def work(tx: Connection) -> tuple[str | None, int | None, Failure | None]:
        return current_revision(tx), last_backup.get(tx), last_backup.failure(tx)

    revision, backup, failed_backup = database.read(work)
    counts = metrics.sum_of_processes(settings.metrics_dir, meter)
    folder = settings.journal_dir
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    report = HealthReport(
        levels={},
        database_fault=health.database_fault(settings, database),
        revision=revision,
        uncounted_bytes=read_barrier.uncounted_bytes(folder, database),
        oldest_seconds=int(read_barrier.oldest_uncounted(folder, database)),
        lost_clicks=counts["clicks_lost:"],
        free_bytes=shutil.disk_usage(settings.data_dir).free,
        storage_fault=store.health.fault,
        last_backup=backup,
        failed_backup=failed_backup,
        queues=metrics.queue_lengths(settings.metrics_dir, meter),
        load_percent=round(100 * os.getloadavg()[2] / processors),
        processors=processors,
        rejected_requests=counts["shed:"],
    )
    return replace(report, levels=_levels(report, has_email=bool(settings.smtp_url.get_secret_value())))


def _levels(report: HealthReport, *, has_email: bool) -> Mapping[str, Level]:
    is_behind = report.oldest_seconds > health.BEHIND_SECONDS
    return {
        "database": _level(is_bad=bool(report.database_fault) or report.revision != latest_revision()),
        "clicks": _level(
            is_bad=is_behind or report.lost_clicks > 0, is_warning=report.uncounted_bytes >= _WARN_UNCOUNTED_BYTES
        ),
        "disk": _level(is_bad=report.free_bytes < health.FULL_BYTES, is_warning=report.free_bytes < _WARN_FREE_BYTES),
        "storage": _level(is_bad=bool(report.storage_fault)),
        "backup": "bad" if report.failed_backup else backup_level(report.last_backup, clock.now()),
        "email": _level(is_warning=not has_email),
        **{name: queue_level(name, length) for name, length in report.queues.items()},
        "load": load_level(report.load_percent, report.rejected_requests),
    }


def backup_level(last: int | None, now: int) -> Level:
    """Return the level of the last backup: a night can fail, a week without one is a risk."""
    if last is None:
        return "warn"
    return _level(is_bad=now - last > 7 * _DAY, is_warning=now - last > 2 * _DAY)


def queue_level(name: QueueName, length: int) -> Level:
    """Return the level of a queue of this length."""
    warn, bad = _QUEUE_LENGTHS[name]
    return _level(is_bad=length >= bad, is_warning=length >= warn)


def load_level(percent: int, rejected: int) -> Level:
    """Return the level of a load. Both only warn: rejected requests can be long ago."""
    return _level(is_warning=percent > 100 or rejected > 0)


def _level(*, is_bad: bool = False, is_warning: bool = False) -> Level:
    return "bad" if is_bad else "warn" if is_warning else "good"
