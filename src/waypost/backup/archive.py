"""Backup and restore of all rows and files in one archive that does not depend on the database engine.

Format: a gzipped tar of `manifest.json`, `tables/<name>.jsonl` (one row per line, bytes as Base64), `files/…` and
`end.json`.
"""

import base64
import gzip
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    column,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from waypost import clock
from waypost.backup import files as backup_files
from waypost.backup import last_backup
from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.bulk_upsert import batches
from waypost.db import maintenance, upgrade
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts, partition_names
from waypost.db.schema import installation
from waypost.errors import Kind, Problem
from waypost.storage import cleanup
from waypost.storage.store import Store

_FORMAT = 1
_MAX_BACKUP_SECONDS = 86_400
_BATCH_ROWS = 1000
_EXCLUDED_TABLES = ("links_search", "sqlite_", "alembic_version")  # the migrations create them


@dataclass(frozen=True)
class ArchiveSummary:
    """The contents of an archive."""

    rows: int
    files: int
    missing: int = 0
    """Files whose bytes were not in the storage; only their rows are saved."""


def backup(database: Database, store: Store, target: Path) -> ArchiveSummary:
    """Write everything to `target` from one snapshot of the database. The service may run.

    Objects that are deleted during the backup stay in the storage until it ends. Raises INVALID for an empty database
    or when `target` cannot be written, and UNAVAILABLE when database or storage are down.
    """
    if database.read(upgrade.current_revision) is None:
        raise _invalid("There is nothing to save: this installation was never started.")
    database.write(lambda tx: cleanup.hold(tx, clock.now() + _MAX_BACKUP_SECONDS))
    try:
        summary = _backup(database, store, target)
    finally:
        database.write(cleanup.release)
    database.write(last_backup.record)
    return summary


def _backup(database: Database, store: Store, target: Path) -> ArchiveSummary:
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        # Readable by this user only: it contains password hashes and the installation's secret.
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
                rows, names = database.read(lambda tx: (_save_tables(tx, tar), backup_files.object_names(tx)))
                saved = backup_files.save(store, names, tar)
                summary = ArchiveSummary(rows, saved, len(names) - saved)
                backup_files.add_json(tar, "end.json", asdict(summary))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise _invalid(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)
    return summary


def restore(database: Database, store: Store, source: Path) -> ArchiveSummary:
    """Load an archive into an empty database and storage at the archive's revision, then upgrade the database.

    Raises INVALID, with nothing changed, for a file that is not an archive, is damaged or written by a newer version,
    and when there are accounts or files already.
    """
    saved_objects: list[str] = []
    try:
        _verify_checksum(source)
        with tarfile.open(source, "r:gz") as tar:
            manifest = _manifest(tar)
            if "end.json" not in tar.getnames():
                raise _invalid(f"{source} is damaged: its end is missing.")
            if not store.is_empty():
                raise _invalid("There are files in the storage already. Restore into an empty one.")

            def load(tx: Connection) -> ArchiveSummary:
                disable_timeouts(tx)
                rows = _load_tables(tx, tar, manifest)
                return ArchiveSummary(rows, *backup_files.load(tx, tar, store, saved_objects))

            summary = database.write(load)
            saved_objects = []
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise _invalid(f"{source} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    except (TypeError, ValueError, LookupError, SQLAlchemyError) as error:
        raise _invalid(f"{source} is damaged: its rows do not fit the tables.") from error
    finally:
        for name in saved_objects:
            with suppress(Problem, OSError):
                store.remove(name)
    upgrade.upgrade(database)
    database.write(maintenance.switch_off)  # it was that of the installation that was saved
    return summary


def highest_ids(tx: Connection, tables: Iterable[Table]) -> dict[str, int]:
    """Return the highest id that each table has ever assigned. Its row may be deleted; ids are never reused."""
    if tx.dialect.name == "sqlite":
        rows = tx.execute(text("SELECT name, seq FROM sqlite_sequence"))
        return {row.name: row.seq for row in rows}
    ids = {}
    for table in tables:
        if "id" in table.c:
            last: Select[int] = select(column("last_value", Integer)).select_from(text(_sequence(tx, table)))
            ids[table.name] = tx.execute(last.where(column("is_called"))).scalar() or 0
    return ids


def set_next_ids(tx: Connection, tables: Iterable[Table], highest: Mapping[str, int]) -> None:
    """Make each table assign ids above `highest` and above those of its rows."""
    for table in tables:
        if "id" not in table.c:
            continue
        present = tx.execute(select(func.max(table.c.id))).scalar_one() or 0
        last = max(present, int(highest.get(table.name, 0)))
        if not last:
            continue
        if tx.dialect.name == "postgresql":
            tx.execute(select(func.setval(_sequence(tx, table), last)))
        else:
            tx.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
            tx.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), {"name": table.name, "seq": last})


def _sequence(tx: Connection, table: Table) -> str:
    return str(tx.execute(select(func.pg_get_serial_sequence(table.name, "id"))).scalar_one())


def _invalid(message: str) -> Problem:
    return Problem(Kind.INVALID, message)


def _save_tables(tx: Connection, tar: tarfile.TarFile) -> int:
    """Add all tables to the archive; return the number of rows."""
    disable_timeouts(tx)
    tables = _tables(tx)
    manifest = {
        "format": _FORMAT,
        "revision": upgrade.current_revision(tx),
        "created": clock.text(clock.now()),
        "numbers": highest_ids(tx, tables),
    }
    backup_files.add_json(tar, "manifest.json", manifest)
    total = 0
    for table in tables:
        with tempfile.TemporaryFile() as lines:
            rows = tx.execution_options(stream_results=True, yield_per=_BATCH_ROWS).execute(select(table))
            for row in rows.mappings():
                if (table.name, row.get("name")) == (installation.name, cleanup.BACKUP):
                    continue  # the marker of this backup
                lines.write(json.dumps({name: to_json(value) for name, value in row.items()}).encode() + b"\n")
                total += 1
            size = lines.tell()
            lines.seek(0)
            backup_files.add_entry(tar, f"tables/{table.name}.jsonl", lines, size)
    return total


def _verify_checksum(source: Path) -> None:
    """Read the whole file, so that gzip's checksum detects damage before anything is changed."""
    with gzip.open(source) as file:
        while file.read(1 << 20):
            pass


def _manifest(tar: tarfile.TarFile) -> Mapping[str, Any]:
    first = tar.next()
    file = tar.extractfile(first) if first and first.name == "manifest.json" else None
    try:
        manifest = json.loads(file.read(1 << 20)) if file else {}
    except ValueError:
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise _invalid("This is not an archive that `waypost backup` wrote.")
    if manifest.get("revision") not in upgrade.known_revisions():
        raise _invalid("The archive was written by a newer waypost. Install that version first.")
    return manifest


def _load_tables(tx: Connection, tar: tarfile.TarFile, manifest: Mapping[str, Any]) -> int:
    """Fill the tables from the archive; return the number of rows."""
    _clear(tx)
    upgrade.migrate(tx, manifest["revision"])
    total = 0
    tables = _tables(tx)
    for table in reversed(tables):
        tx.execute(table.delete())  # rows that the migrations inserted
    for table in tables:
        for batch in batches(_rows(tar, table), _BATCH_ROWS):
            partitions.ensure_for_rows(tx, table.name, batch)
            tx.execute(insert(table), batch)
            total += len(batch)
    set_next_ids(tx, tables, manifest["numbers"])
    return total


def _clear(tx: Connection) -> None:
    """Drop the tables of an unused installation. Raises INVALID for all other tables."""
    names = inspect(tx).get_table_names()
    if not names:
        return
    if not {"accounts", "alembic_version"} <= set(names):
        raise _invalid("There are other tables in this database. Restore into an empty one.")
    if tx.execute(text("SELECT count(*) FROM accounts")).scalar_one():
        raise _invalid("There are accounts in this database already. Restore into an empty one.")
    upgrade.drop_all(tx)


def _tables(tx: Connection) -> list[Table]:
    """Return the tables in the database, parents first. A partitioned table is one table."""
    reflected, partition_tables = MetaData(), set(partition_names(tx))
    reflected.reflect(
        tx, only=lambda name, _metadata: name not in partition_tables and not name.startswith(_EXCLUDED_TABLES)
    )
    return reflected.sorted_tables


def _rows(tar: tarfile.TarFile, table: Table) -> Iterator[dict[str, Any]]:
    file = tar.extractfile(f"tables/{table.name}.jsonl")
    binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    for line in file or ():
        row = json.loads(line)
        if not isinstance(row, dict):
            raise TypeError("a row must be a JSON object")
        yield {k: base64.b64decode(v, validate=True) if k in binary and v is not None else v for k, v in row.items()}


def to_json(value: Any) -> Any:
    """Return a column's value as JSON: bytes become Base64."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
