"""Migrate an installation from SQLite to an empty PostgreSQL database: resumable, verified at the end."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    MetaData,
    RowMapping,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    tuple_,
)

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.coordination import LOCK_FILE, try_lock
from waypost.core.data_files import inherit_owner
from waypost.core.errors import Kind, Problem
from waypost.db import maintenance, row_codec, upgrade
from waypost.db.database import Database, upsert
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import metadata
from waypost.db.signing import installation_secret
from waypost.transfer.backup import tables
from waypost.transfer.migrate.storage import ProgressCallback

_BATCH_ROWS = 2000
_IN_BATCHES = {"stream_results": True, "yield_per": _BATCH_ROWS}
_INSTALLATION = "installation id"
# Exists in the target until the migration is complete: the last copied key of each table, and a hash that identifies
# the source installation.
_progress = Table(
    "migration_progress", MetaData(), Column("name", String(64), primary_key=True), Column("position", Text)
)
_Batch = Sequence[RowMapping]
_OnRows = Callable[[int], None]  # called with the rows of a table that are done


@dataclass(frozen=True)
class MigrationResult:
    """The contents of the target. `resumed` are the rows that an interrupted run had copied."""

    tables: int
    rows: int
    resumed: int


def migrate(source: Database, target: Database, progress: ProgressCallback) -> MigrationResult:
    """Copy every row and verify every table. The service must be stopped; the source is locked against writes.

    Raises INVALID for an unsuitable source or target, and UNAVAILABLE when one of them is down; then the same call
    resumes.
    """
    if not source.is_sqlite or source.path is None or target.is_sqlite:
        raise _invalid("Only SQLite can be migrated, and only to PostgreSQL. Use backup and restore instead.")
    if not source.path.is_file() or source.read(upgrade.current_revision) != upgrade.latest_revision():
        raise _invalid(f"{source.path} is not a database of this version. Start waypost on it once.")
    with _ingester_lock(source.path.parent / "journal"):
        # A write transaction, so that no other process writes until everything is copied.
        return source.write(lambda tx: _migrate(tx, target, progress))


def is_unfinished(tx: Connection) -> bool:
    """Return whether a migration into this database was interrupted."""
    return inspect(tx).has_table(_progress.name)


@contextmanager
def _ingester_lock(journal: Path) -> Iterator[None]:
    """Hold the ingester's lock, which a running service has. Raises INVALID."""
    if not journal.is_dir():
        yield
        return
    with (journal / LOCK_FILE).open("w") as lock:
        inherit_owner(journal / LOCK_FILE)
        if not try_lock(lock):
            raise _invalid("The service is running. Stop it first: what it saves now would be lost.")
        yield


def _migrate(source: Connection, target: Database, progress: ProgressCallback) -> MigrationResult:
    installation_id = hashlib.sha256(installation_secret(source)).hexdigest()
    target.write(lambda tx: _prepare(tx, installation_id))
    total = sum(_count(source, table) for table in metadata.sorted_tables)
    resumed = rows = checked = 0
    for table in metadata.sorted_tables:
        present = target.write(partial(_present, table=table))
        resumed += present
        rows += _copy_table(source, target, table, present, _part(progress, "copy", rows, total))
    for table in metadata.sorted_tables:
        checked += _verify(source, target, table, _part(progress, "check", checked, total))
    ids = tables.highest_ids(source, metadata.sorted_tables)
    target.write(lambda tx: _finish(tx, ids))
    return MigrationResult(len(metadata.sorted_tables), rows, resumed)


def _part(progress: ProgressCallback, step: str, before: int, total: int) -> _OnRows:
    """Return a callback for the rows of a table in a step of all tables; `before` are those of earlier tables."""
    return lambda done: progress(step, before + done, total)


def _copy_table(source: Connection, target: Database, table: Table, present: int, on_rows: _OnRows) -> int:
    """Copy the rows that the target does not have yet; return how many it has now."""
    done = present
    on_rows(done)
    for batch in _batches(source, table, target.read(lambda tx: _position(tx, table))):
        target.write(partial(partitions.ensure_for_rows, table=table.name, rows=batch))
        target.write(partial(_copy, table=table, batch=batch))
        done += len(batch)
        on_rows(done)
    return done


def _prepare(tx: Connection, installation_id: str) -> None:
    """Create empty tables in a database without any; accept those of an interrupted run. Raises INVALID."""
    names = inspect(tx).get_table_names()
    if _progress.name in names:
        query = select(_progress.c.position).where(_progress.c.name == _INSTALLATION)
        if tx.execute(query).scalar() != installation_id:
            raise _invalid("Another installation was being migrated into this database. Use an empty database.")
        return
    if names:
        raise _invalid("There are tables in the target already. Migrate into an empty database.")
    upgrade.migrate(tx, "head")
    for table in reversed(metadata.sorted_tables):
        tx.execute(table.delete())  # rows that the migrations inserted
    _progress.create(tx)
    tx.execute(insert(_progress).values(name=_INSTALLATION, position=installation_id))


def _finish(tx: Connection, ids: dict[str, int]) -> None:
    tables.set_next_ids(tx, metadata.sorted_tables, ids)
    maintenance.switch_off(tx)
    _progress.drop(tx)


def _key(table: Table) -> list[Column[Any]]:
    return [table.c.id] if "id" in table.c else list(table.primary_key.columns)


def _count(tx: Connection, table: Table) -> int:
    disable_timeouts(tx)
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def _present(tx: Connection, table: Table) -> int:
    """Return the number of copied rows. Delete those that triggers added for rows of its parents."""
    if _position(tx, table) is None:
        tx.execute(table.delete())
        return 0
    return _count(tx, table)


def _position(tx: Connection, table: Table) -> list[Any] | None:
    """Return the key of the last copied row."""
    stored = tx.execute(select(_progress.c.position).where(_progress.c.name == table.name)).scalar()
    key = json.loads(stored) if stored else None
    return key and [base64.b64decode(part[0]) if isinstance(part, list) else part for part in key]


def _batches(source: Connection, table: Table, position: list[Any] | None) -> Iterator[_Batch]:
    """Yield the rows after `position`, in the order of the key."""
    key = _key(table)
    while True:
        query = select(table).order_by(*key).limit(_BATCH_ROWS)
        if position:
            query = query.where(tuple_(*key) > tuple_(*position) if len(key) > 1 else key[0] > position[0])
        batch = source.execute(query).mappings().all()
        if not batch:
            return
        yield batch
        position = [batch[-1][column.name] for column in key]


def _copy(tx: Connection, table: Table, batch: _Batch) -> None:
    """Insert a batch and its position in one transaction."""
    tx.execute(insert(table), [dict(row) for row in batch])
    last = [batch[-1][column.name] for column in _key(table)]
    position = json.dumps([[row_codec.exact(part)] if isinstance(part, bytes) else part for part in last])
    new = upsert(tx, _progress).values(name=table.name, position=position)
    tx.execute(new.on_conflict_do_update(index_elements=["name"], set_={"position": position}))


def _verify(source: Connection, target: Database, table: Table, on_rows: _OnRows) -> int:
    """Compare the row count and the order-independent sum of row checksums. Return the count. Raises INVALID."""
    expected_rows, expected_sum = _checksum(source, table, lambda _done: None)
    on_rows(0)
    rows, checksum = target.read(lambda tx: _checksum(tx, table, on_rows))
    if (rows, checksum) != (expected_rows, expected_sum):
        message = f"{table.name} in the target differs from the source: {rows} rows, {expected_rows} expected."
        raise _invalid(f"{message} Start again with an empty database.")
    return rows


def _checksum(tx: Connection, table: Table, on_rows: _OnRows) -> tuple[int, int]:
    """Return the number of rows, and the sum of their checksums modulo 2^64."""
    disable_timeouts(tx)
    count = total = 0
    names = sorted(column.name for column in table.columns)
    with tx.execute(select(table), execution_options=_IN_BATCHES) as rows:
        for row in rows.mappings():
            fields = json.dumps([row_codec.exact(row[name]) for name in names], sort_keys=True)
            total += int.from_bytes(hashlib.blake2b(fields.encode(), digest_size=8).digest())
            count += 1
            if count % _BATCH_ROWS == 0:
                on_rows(count)
    on_rows(count)
    return count, total % 2**64


def _invalid(message: str) -> Problem:
    return Problem(Kind.INVALID, message)
