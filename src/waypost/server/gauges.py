"""The gauges of /metrics: values that are read at the time of the scrape."""

import shutil
from collections.abc import Mapping
from contextlib import suppress

from sqlalchemy.exc import DBAPIError

from waypost import __version__
from waypost.admin import health
from waypost.clicks.ingest import read_barrier
from waypost.core.errors import Problem
from waypost.core.metrics import Gauge
from waypost.core.settings import Settings
from waypost.db import last_backup, maintenance
from waypost.db.database import Database
from waypost.items.links import dead_links
from waypost.storage.store import Store
from waypost.visits.cache import Cache


def read(
    settings: Settings, database: Database, store: Store, cache: Cache, *, database_fault: str
) -> Mapping[str, Gauge]:
    """Return the gauges by name. Those of the database are missing while it does not answer.

    `database_fault`: what a request found lately, such as a row that could not be written.
    """
    gauges = {
        "info": Gauge("The version in the label.", 1, {"version": __version__}),
        "storage_up": Gauge("1 if the last check of the file storage succeeded, else 0.", not store.health.fault),
        "hot_names": Gauge("Redirects in the memory of the worker that answers.", len(cache.hot)),
        "hot_bytes": Gauge("Memory of these redirects.", cache.hot_bytes),
    }
    with suppress(OSError):
        free = shutil.disk_usage(settings.data_dir).free
        gauges["disk_free_bytes"] = Gauge("Free bytes of the file system with the data folder.", free)
    fault = health.database_fault(settings, database) or database_fault
    with suppress(Problem, DBAPIError):
        gauges |= _of_database(settings, database)
    gauges["database_up"] = Gauge("1 if links can be read from the database and rows written, else 0.", not fault)
    return gauges


def _of_database(settings: Settings, database: Database) -> dict[str, Gauge]:
    lag = read_barrier.uncounted_bytes(settings.journal_dir, database)
    oldest = read_barrier.oldest_uncounted(settings.journal_dir, database)
    backup = database.read(last_backup.get) or 0
    text = "Unix time of the last backup by `waypost backup`, 0 if there was none."
    is_in_maintenance = database.read(maintenance.since) is not None
    gauges = {
        "maintenance": Gauge("1 in maintenance mode, else 0.", is_in_maintenance),
        "journal_lag_bytes": Gauge("Bytes of the journal that are not counted yet.", lag),
        "oldest_uncounted_seconds": Gauge("Age of the oldest click that is not counted yet, 0 without one.", oldest),
        "last_backup_timestamp_seconds": Gauge(text, backup),
    }
    if settings.dead_links_days:
        dead = database.read(dead_links.count_dead)
        gauges["dead_links"] = Gauge("Links with a dead destination, of all nodes.", dead)
    return gauges
