"""Brings a database to this version's tables, saving a SQLite file first."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, MetaData, column, inspect, select, table, text

from waypost import clock
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts, partition_names
from waypost.errors import Kind, Problem

_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSION = table("alembic_version", column("version_num"))
_ADVISORY_LOCK = 7_229_001  # any number, the same on every node


def upgrade(database: Database) -> Path | None:
    """Migrate to the newest tables, in one transaction; at most one process at a time.

    Answers where the SQLite file was saved to, when there was something to lose. Raises UNAVAILABLE for a database
    that a newer waypost has migrated.
    """
    if database.read(revision) == newest():
        return None
    return database.write(lambda tx: _upgrade(tx, database.path))


def migrate(tx: Connection, wanted: str) -> None:
    """Run the migrations up to a revision in the transaction `tx`, alone among all processes."""
    from alembic import command  # noqa: PLC0415  # 11 MB that a service with nothing to migrate does not need
    from alembic.config import Config  # noqa: PLC0415

    _be_alone(tx)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = tx
    command.upgrade(config, wanted)


def clear(tx: Connection) -> None:
    """Drop every table."""
    found, parts = MetaData(), set(partition_names(tx))
    found.reflect(tx, only=lambda name, _metadata: name not in parts)
    tx.execute(text("DROP TABLE IF EXISTS links_search"))
    shadows = [table for table in found.sorted_tables if table.name.startswith("links_search")]
    found.drop_all(tx, tables=[table for table in found.sorted_tables if table not in shadows])


def revision(tx: Connection) -> str | None:
    """The revision of the tables behind `tx`; None for an empty database."""
    if not inspect(tx).has_table(_VERSION.name):
        return None
    return tx.execute(select(_VERSION.c.version_num)).scalar_one_or_none()


def newest() -> str:
    """The revision that this version of waypost works with."""
    return max(known())


def known() -> frozenset[str]:
    """Every revision that this version of waypost can start from: the numbers that its migrations are called by."""
    return frozenset(path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def _upgrade(tx: Connection, file: Path | None) -> Path | None:
    _be_alone(tx)
    before = revision(tx)  # another process may have been faster
    if before == newest():
        return None
    if before is not None and before not in known():
        told = f"The database is at revision {before}, this version of waypost knows only {newest()}. Install the newer"
        raise Problem(Kind.UNAVAILABLE, f"{told} waypost again, or restore a backup.")
    saved = _save(file, before) if file and before else None
    migrate(tx, "head")
    return saved


def _be_alone(tx: Connection) -> None:
    """Wait until no other process migrates; the limits for requests do not hold for a migration."""
    disable_timeouts(tx)
    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def _save(file: Path, before: str) -> Path:
    """Copy the SQLite file as it is before the transaction that migrates it."""
    target = file.with_name(f"{file.name}.{before}.{clock.now()}.bak")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    shutil.copymode(file, target)
    return target
