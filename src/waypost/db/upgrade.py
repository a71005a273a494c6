"""Migrate a database to this version's schema, after copying a SQLite file."""

import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData, column, inspect, select, table, text
from sqlalchemy.exc import DBAPIError, SAWarning

from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db import faults
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts, partition_names
from waypost.db.schema.columns import metadata

_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSION = table("alembic_version", column("version_num"))
_FUNCTIONS = (
    *("links_search_update()", "links_search_keys(text, bigint)"),
    *("people_insert()", "people_update()", "people_delete()"),
)
"""Those that the migrations create on PostgreSQL."""
_ADVISORY_LOCK = 7_229_001  # an arbitrary number, the same on every node


def upgrade(database: Database) -> Path | None:
    """Migrate to the latest revision in one transaction; one process at a time.

    Return the path of the copy of a SQLite file that had data. Raises UNAVAILABLE for a database that a newer waypost
    has migrated.
    """
    if database.read(current_revision) == latest_revision():
        return None
    return database.write(lambda tx: _upgrade(tx, database.path))


def migrate(tx: Connection, revision: str) -> None:
    """Run the migrations up to `revision` in this transaction; other processes wait."""
    from alembic import command  # noqa: PLC0415  # only a start that migrates needs its 7 MB
    from alembic.config import Config  # noqa: PLC0415

    _lock_migrations(tx)
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = tx
    try:
        command.upgrade(config, revision)
    except DBAPIError as error:
        if faults.sqlstate(error) != faults.NO_RIGHT:
            raise
        raise _no_right(tx) from error


def _no_right(tx: Connection) -> Problem:
    """Return the problem of a role that may not create tables: since PostgreSQL 15, only the owner may."""
    connection: Any = tx.connection.driver_connection
    quote = tx.dialect.identifier_preparer.quote
    role, name = connection.info.user, connection.info.dbname
    repair = f"ALTER DATABASE {quote(name)} OWNER TO {quote(role)};"
    text = f"The role {role} may not create tables in the database {name}. Run as its administrator: {repair}"
    return Problem(Kind.UNAVAILABLE, text)


def drop_all(tx: Connection) -> None:
    """Drop every table."""
    reflected = reflect_tables(tx)
    tx.execute(text("DROP TABLE IF EXISTS links_search"))
    tables = [table for table in reflected.sorted_tables if not table.name.startswith("links_search")]
    reflected.drop_all(tx, tables=tables)
    if tx.dialect.name == "postgresql":
        tx.execute(text(f"DROP FUNCTION IF EXISTS {', '.join(_FUNCTIONS)}"))


def reflect_tables(tx: Connection) -> MetaData:
    """Return the tables in the database. A partitioned table is one table."""
    reflected, partitions = MetaData(), set(partition_names(tx))
    with warnings.catch_warnings():
        # SQLAlchemy reads no indexes of expressions from SQLite. Neither rows nor the removal of tables need them.
        warnings.filterwarnings("ignore", ".*expression-based index", SAWarning)
        reflected.reflect(tx, only=lambda name, _metadata: name not in partitions)
    return reflected


def current_revision(tx: Connection) -> str | None:
    """Return the schema revision of the database; None if it is empty."""
    if not inspect(tx).has_table(_VERSION.name):
        return None
    return tx.execute(select(_VERSION.c.version_num)).scalar_one_or_none()


def missing_tables(tx: Connection) -> list[str]:
    """Return the tables that a database of this version lacks; none of an older one, which is not migrated yet."""
    if current_revision(tx) != latest_revision():
        return []
    return sorted(metadata.tables.keys() - set(inspect(tx).get_table_names()))


def latest_revision() -> str:
    """Return the revision that this version of waypost needs."""
    return max(known_revisions())


def known_revisions() -> frozenset[str]:
    """Return every revision that this version can migrate from: the numbers in the file names of the migrations."""
    return frozenset(path.name.partition("_")[0] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def _upgrade(tx: Connection, file: Path | None) -> Path | None:
    _lock_migrations(tx)
    revision = current_revision(tx)  # another process may have been faster
    if revision == latest_revision():
        return None
    if revision is not None and revision not in known_revisions():
        message = f"The database is at revision {revision}, this version of waypost knows only {latest_revision()}."
        raise Problem(Kind.UNAVAILABLE, f"{message} Install the newer waypost again, or restore a backup.")
    copy = _copy(file, revision) if file and revision else None
    migrate(tx, "head")
    return copy


def _lock_migrations(tx: Connection) -> None:
    """Wait until no other process migrates. A migration may take longer than the timeouts of requests."""
    disable_timeouts(tx)
    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})


def _copy(file: Path, revision: str) -> Path:
    """Copy the SQLite file as it was before the transaction that migrates it."""
    target = file.with_name(f"{file.name}.{revision}.{clock.now()}.bak")
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)
    shutil.copymode(file, target)
    return target
