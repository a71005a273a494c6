"""Backup and restore: every row and every file in one archive that any database of this service can take back.

A gzipped tar: `manifest.json`, `tables/<name>.jsonl` (a row a line, bytes as Base64), `files/…`, `end.json`.
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
from waypost.clicks.ingest import partitions
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts, partition_names
from waypost.errors import Kind, Problem
from waypost.storage import cleanup
from waypost.storage.store import Store

_FORMAT = 1
_LONGEST_BACKUP = 86_400  # seconds
_BATCH = 1000
_NOT_ROWS = ("links_search", "sqlite_", "alembic_version")  # made anew by the migrations


@dataclass(frozen=True)
class Saved:
    """How much an archive holds."""

    rows: int
    files: int
    missing: int = 0
    """Files whose bytes were not in the store: there is no more to save of them than their rows."""


def backup(database: Database, store: Store, target: Path) -> Saved:
    """Write everything to `target`, from one snapshot of the database, while the service goes on.

    What is deleted meanwhile stays in the store until this is done. Raises INVALID when there is nothing in the
    database yet, or when `target` cannot be written; UNAVAILABLE when database or store are away.
    """
    if database.read(upgrade.revision) is None:
        raise _refused("There is nothing to save: this installation was never started.")
    database.write(lambda tx: cleanup.hold(tx, clock.now() + _LONGEST_BACKUP))
    try:
        return _backup(database, store, target)
    finally:
        database.write(cleanup.release)


def _backup(database: Database, store: Store, target: Path) -> Saved:
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        # Nobody else may read it: it holds password hashes and the installation's secret.
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
                rows, names = database.read(lambda tx: (_save_tables(tx, tar), backup_files.names(tx)))
                found = backup_files.save(store, names, tar)
                saved = Saved(rows, found, len(names) - found)
                backup_files.put_json(tar, "end.json", asdict(saved))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except OSError as error:
        raise _refused(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        partial.unlink(missing_ok=True)
    return saved


def restore(database: Database, store: Store, source: Path) -> Saved:
    """Fill an empty database and store from `source`, at the revision it was saved at, then upgrade.

    Raises INVALID, having changed nothing, when the archive is none of ours, damaged or newer than this version, or
    when there are accounts or files already.
    """
    kept: list[str] = []
    try:
        _read_through(source)
        with tarfile.open(source, "r:gz") as tar:
            manifest = _manifest(tar)
            if "end.json" not in tar.getnames():
                raise _refused(f"{source} is damaged: its end is missing.")
            if not store.is_empty():
                raise _refused("There are files in the storage already. Restore into an empty one.")

            def load(tx: Connection) -> Saved:
                disable_timeouts(tx)
                return Saved(_load_tables(tx, tar, manifest), *backup_files.load(tx, tar, store, kept))

            saved = database.write(load)
            kept = []
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise _refused(f"{source} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    except (TypeError, ValueError, LookupError, SQLAlchemyError) as error:
        raise _refused(f"{source} is damaged: its rows do not fit the tables.") from error
    finally:
        for name in kept:
            with suppress(Problem, OSError):
                store.remove(name)
    upgrade.upgrade(database)
    return saved


def _refused(message: str) -> Problem:
    return Problem(Kind.INVALID, message)


def _save_tables(tx: Connection, tar: tarfile.TarFile) -> int:
    disable_timeouts(tx)
    tables, now = _tables(tx), clock.text(clock.now())
    manifest = {"format": _FORMAT, "revision": upgrade.revision(tx), "created": now, "numbers": numbers(tx, tables)}
    backup_files.put_json(tar, "manifest.json", manifest)
    total = 0
    for table in tables:
        with tempfile.TemporaryFile() as lines:
            for row in tx.execution_options(stream_results=True, yield_per=_BATCH).execute(select(table)).mappings():
                if (table.name, row.get("name")) == ("facts", cleanup.BACKUP):
                    continue  # what holds for this backup only
                lines.write(json.dumps({name: _plain(value) for name, value in row.items()}).encode() + b"\n")
                total += 1
            size = lines.tell()
            lines.seek(0)
            backup_files.put(tar, f"tables/{table.name}.jsonl", lines, size)
    return total


def _read_through(source: Path) -> None:
    """Read to the end, so that a cut or a changed byte is known before anything is done."""
    with gzip.open(source) as file:
        while file.read(1 << 20):
            pass


def _manifest(tar: tarfile.TarFile) -> Mapping[str, Any]:
    entry = tar.next()
    file = tar.extractfile(entry) if entry and entry.name == "manifest.json" else None
    try:
        manifest = json.loads(file.read(1 << 20)) if file else {}
    except ValueError:
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise _refused("This is not an archive that `waypost backup` wrote.")
    if manifest.get("revision") not in upgrade.known():
        raise _refused("The archive was written by a newer waypost. Install that version first.")
    return manifest


def _load_tables(tx: Connection, tar: tarfile.TarFile, manifest: Mapping[str, Any]) -> int:
    _clear(tx)
    upgrade.migrate(tx, manifest["revision"])
    total = 0
    tables = _tables(tx)
    for table in reversed(tables):
        tx.execute(table.delete())  # what the migrations put in
    for table in tables:
        for batch in _batches(_lines(tar, table)):
            if (cut := partitions.column_of(table.name)) and partition_names(tx):
                partitions.ensure(tx, partitions.days_in(table.name, [row[cut] for row in batch]), [table.name])
            tx.execute(insert(table), batch)
            total += len(batch)
    go_on_from(tx, tables, manifest["numbers"])
    return total


def _clear(tx: Connection) -> None:
    """Take away the tables of an installation that nobody has used; refuse everything else."""
    names = inspect(tx).get_table_names()
    if not names:
        return
    if not {"accounts", "alembic_version"} <= set(names):
        raise _refused("There are other tables in this database. Restore into an empty one.")
    if tx.execute(text("SELECT count(*) FROM accounts")).scalar_one():
        raise _refused("There are accounts in this database already. Restore into an empty one.")
    upgrade.clear(tx)


def _tables(tx: Connection) -> list[Table]:
    """The tables as they are in the database, parents first; a table in pieces as one."""
    found, parts = MetaData(), set(partition_names(tx))
    found.reflect(tx, only=lambda name, _metadata: name not in parts and not name.startswith(_NOT_ROWS))
    return found.sorted_tables


def _lines(tar: tarfile.TarFile, table: Table) -> Iterator[dict[str, Any]]:
    file = tar.extractfile(f"tables/{table.name}.jsonl")
    binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    for line in file or ():
        row = json.loads(line)
        if not isinstance(row, dict):
            raise TypeError("a row is an object")
        yield {k: base64.b64decode(v, validate=True) if k in binary and v is not None else v for k, v in row.items()}


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def numbers(tx: Connection, tables: Iterable[Table]) -> dict[str, int]:
    """The highest id that each table ever gave, which may have been deleted since: no id is used twice."""
    if tx.dialect.name == "sqlite":
        given = tx.execute(text("SELECT name, seq FROM sqlite_sequence"))
        return {row.name: row.seq for row in given}
    found = {}
    for table in tables:
        if "id" in table.c:
            last: Select[int] = select(column("last_value", Integer)).select_from(text(_sequence(tx, table)))
            found[table.name] = tx.execute(last.where(column("is_called"))).scalar() or 0
    return found


def go_on_from(tx: Connection, tables: Iterable[Table], given: Mapping[str, int]) -> None:
    """New rows get ids above every one that was ever given."""
    for table in tables:
        if "id" not in table.c:
            continue
        present = tx.execute(select(func.max(table.c.id))).scalar_one() or 0
        highest = max(present, int(given.get(table.name, 0)))
        if not highest:
            continue
        if tx.dialect.name == "postgresql":
            tx.execute(select(func.setval(_sequence(tx, table), highest)))
        else:
            tx.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
            tx.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :seq)"), {"name": table.name, "seq": highest})


def _sequence(tx: Connection, table: Table) -> str:
    return str(tx.execute(select(func.pg_get_serial_sequence(table.name, "id"))).scalar_one())
