"""The rows of all tables in a backup archive, independent of the database engine."""

import json
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import (
    Connection,
    Integer,
    Select,
    Table,
    column,
    func,
    insert,
    inspect,
    select,
    text,
)

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.bulk_upsert import batches
from waypost.core.errors import Kind, Problem
from waypost.db import last_backup, upgrade
from waypost.db.postgres import disable_timeouts
from waypost.db.row_codec import decoder, exact_row
from waypost.db.schema import installation
from waypost.db.schema.accounts import WRITE_PROBE
from waypost.storage import cleanup
from waypost.transfer.backup import files as backup_files

MANIFEST = "manifest.json"
"""The first entry of an archive."""

_BATCH_ROWS = 1000
_IN_BATCHES = {"stream_results": True, "yield_per": _BATCH_ROWS}
_UNSAVED = frozenset({cleanup.BACKUP, WRITE_PROBE, last_backup.FAILURE})
"""Rows about this backup, the row of health checks, and a failure that this backup ends."""
_EXCLUDED_TABLES = ("links_search", "sqlite_", "alembic_version")  # the migrations create them


def invalid_archive(message: str) -> Problem:
    """Return the problem of an archive that cannot be written or restored."""
    return Problem(Kind.INVALID, message)


def save(tx: Connection, tar: tarfile.TarFile, manifest: Mapping[str, Any]) -> int:
    """Add the manifest, completed, and all tables to the archive; return the number of rows."""
    disable_timeouts(tx)
    tables = _tables(tx)
    manifest = {**manifest, "revision": upgrade.current_revision(tx), "numbers": highest_ids(tx, tables)}
    backup_files.add_json(tar, MANIFEST, manifest)
    total = 0
    for table in tables:
        with tempfile.TemporaryFile() as lines:
            rows = tx.execute(select(table), execution_options=_IN_BATCHES)
            for row in rows.mappings():
                if table.name == installation.name and row["name"] in _UNSAVED:
                    continue
                lines.write(json.dumps(exact_row(row)).encode() + b"\n")
                total += 1
            size = lines.tell()
            lines.seek(0)
            backup_files.add_entry(tar, f"tables/{table.name}.jsonl", lines, size)
    return total


def load(tx: Connection, tar: tarfile.TarFile, manifest: Mapping[str, Any]) -> int:
    """Fill the tables from the archive; return the number of rows."""
    _clear(tx)
    upgrade.migrate(tx, manifest["revision"])
    total = 0
    tables = _tables(tx)
    for table in reversed(tables):
        tx.execute(table.delete())  # rows that the migrations inserted
    for table in tables:
        tx.execute(table.delete())  # rows that triggers added for those of its parents
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
        raise invalid_archive("There are other tables in this database. Restore into an empty one.")
    if tx.execute(text("SELECT count(*) FROM accounts")).scalar_one():
        raise invalid_archive("There are accounts in this database already. Restore into an empty one.")
    upgrade.drop_all(tx)


def _tables(tx: Connection) -> list[Table]:
    """Return the tables in the database, parents first. A partitioned table is one table."""
    tables = upgrade.reflect_tables(tx).sorted_tables
    return [table for table in tables if not table.name.startswith(_EXCLUDED_TABLES)]


def _rows(tar: tarfile.TarFile, table: Table) -> Iterator[dict[str, Any]]:
    file = tar.extractfile(f"tables/{table.name}.jsonl")
    decode = decoder(table)
    for line in file or ():
        row = json.loads(line)
        if not isinstance(row, dict):
            raise TypeError("a row must be a JSON object")
        yield decode(row)


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
