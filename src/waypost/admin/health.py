"""Health of a node, for `/readyz`, `/metrics` and `waypost doctor`: it does what a visitor and the API do."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.exc import DBAPIError

from waypost.clicks.ingest import read_barrier
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import faults
from waypost.db.database import Database, upsert
from waypost.db.faults import error_reason
from waypost.db.schema import installation, links
from waypost.db.schema.accounts import WRITE_PROBE
from waypost.db.upgrade import current_revision, latest_revision
from waypost.visits import record_queries

FULL_BYTES = 16_000_000
"""Below this free space, the disk counts as full: the database and the journal fail soon, or already."""
BEHIND_SECONDS = 30
"""Clicks that wait longer than this to be counted are behind: they are counted within a second."""
DAMAGED = "damaged"
LOCKED = "locked by another program or a long change"
_LOCK_SECONDS = 2.0


def database_fault(settings: Settings, database: Database) -> str:
    """Return why the database cannot be used; "" if it can. Reads the newest link as a visit does."""

    def read(tx: Connection) -> str:
        revision = current_revision(tx)
        if revision != latest_revision():
            return f"at {revision}, not {latest_revision()}"
        newest = tx.execute(select(links.c.host, links.c.alias).order_by(links.c.id.desc()).limit(1)).first()
        if newest is not None:
            record_queries.resolve(tx, [(newest.host, newest.alias)], settings)
        return ""

    return database.check_file() or _fault_of(lambda: database.read(read))


def write_fault(database: Database) -> str:
    """Return why a row cannot be written; "" if it can, and on a full disk, which is no fault of the database."""

    def write(tx: Connection) -> str:
        row = upsert(tx, installation).values(name=WRITE_PROBE, value=b"%d" % clock.now())
        tx.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": row.excluded.value}))
        return ""

    return _fault_of(lambda: database.write(write, durability="relaxed", autocommit=True, lock_seconds=_LOCK_SECONDS))


def lock_fault(database: Database) -> str:
    """Return "locked…" if a change would wait for long for the lock of SQLite's file, else "". Writes nothing."""
    if not database.is_sqlite:
        return ""
    return _fault_of(
        lambda: database.write(lambda _tx: "", durability="relaxed", autocommit=True, lock_seconds=_LOCK_SECONDS)
    )


def damage(database: Database) -> str:
    """Return the first damage that SQLite finds in all pages of its file; "" without any, and on PostgreSQL."""
    if not database.is_sqlite:
        return ""
    try:
        result = database.read(lambda tx: str(tx.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()))
    except DBAPIError as error:
        result = error_reason(error)
    return "" if result == "ok" else result


def disk_fault(settings: Settings) -> str:
    """Return "full" if almost nothing is free on the disk of the data folder, else ""."""
    with suppress(OSError):  # a missing folder is a fault of the journal
        return "full" if shutil.disk_usage(settings.data_dir).free < FULL_BYTES else ""
    return ""


def journal_fault(folder: Path) -> str:
    """Return why clicks cannot be written to a folder; "" if they can."""
    if not folder.is_dir():
        return "missing"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "not writable"


def counting_fault(settings: Settings, database: Database) -> str:
    """Return "behind" if clicks of this machine wait to be counted, else ""."""
    with suppress(Problem, DBAPIError):  # a fault of the database
        return "behind" if read_barrier.oldest_uncounted(settings.journal_dir, database) > BEHIND_SECONDS else ""
    return ""


def node_faults(settings: Settings, database: Database) -> Mapping[str, str]:
    """Return the faults of the node itself by part, "" for a part that works. Visits continue with each of them."""
    return dict(_node_faults(settings, database))


def _node_faults(settings: Settings, database: Database) -> Iterator[tuple[str, str]]:
    yield "disk", disk_fault(settings)
    yield "journal", journal_fault(settings.journal_dir)
    yield "counting", counting_fault(settings, database)


def _fault_of(work: Callable[[], str]) -> str:
    try:
        return work()
    except Problem as problem:
        if faults.is_locked(problem.__cause__):
            return LOCKED
        return "" if problem.kind is Kind.STORAGE_FULL else problem.message
    except DBAPIError as error:
        return DAMAGED if faults.classify(error) is faults.Fault.DAMAGE else "a statement failed"
