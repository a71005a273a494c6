"""Moving up: everything from SQLite into an empty PostgreSQL, in steps that can be gone on with, checked at the end."""

import base64
import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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

from waypost.backup import archive
from waypost.clicks.ingest import partitions
from waypost.db import upgrade
from waypost.db.database import Database, upsert
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import installation, metadata
from waypost.errors import Kind, Problem

_AT_ONCE = 2000
_WHOSE = "whose"
# In the target until everything is there: how far each table is copied, and of which installation.
_moving = Table("moving", MetaData(), Column("name", String(64), primary_key=True), Column("reached", Text))
_Batch = Sequence[RowMapping]
ProgressCallback = Callable[[str, int, int], None]
"""Is told of a table (or "check of <table>") how many of its rows are done, and how many there are."""


@dataclass(frozen=True)
class Moved:
    """What is in the target now; `before`: of it, rows that an earlier try had copied."""

    tables: int
    rows: int
    before: int


def move(source: Database, target: Database, told: ProgressCallback) -> Moved:
    """Copy every row and check every table. The source must not be in use, and cannot be written to meanwhile.

    Raises INVALID when source or target is not what it must be, UNAVAILABLE when one of them is away: then the same
    call goes on where it ended.
    """
    if not source.is_sqlite or source.path is None or target.is_sqlite:
        raise _refused("Only a SQLite database can be moved, and only to PostgreSQL. For every other way use backup.")
    if not source.path.is_file() or source.read(upgrade.revision) != upgrade.newest():
        raise _refused(f"{source.path} is not a database of this version. Start waypost on it once.")
    with _nobody_counts(source.path.parent / "journal"):
        # A transaction that writes, so that nobody else does until all is copied.
        return source.write(lambda tx: _move(tx, target, told))


def is_unfinished(tx: Connection) -> bool:
    """Whether a move into this database did not come to its end."""
    return inspect(tx).has_table(_moving.name)


@contextmanager
def _nobody_counts(journal: Path) -> Iterator[None]:
    """Hold the lock of the counting process, which a service that runs would have."""
    if not journal.is_dir():
        yield
        return
    with (journal / "ingest.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _refused("The service is running. Stop it first: what it saves meanwhile would be lost.") from None
        yield


def _move(source: Connection, target: Database, told: ProgressCallback) -> Moved:
    whose = hashlib.sha256(
        bytes(source.execute(select(installation.c.value).where(installation.c.name == "secret")).scalar_one())
    )
    target.write(lambda tx: _begin(tx, whose.hexdigest()))
    before = rows = 0
    for table in metadata.sorted_tables:
        all_of_it = source.execute(select(func.count()).select_from(table)).scalar_one()
        done = already = target.read(lambda tx: _count(tx, table))  # noqa: B023  # read at once
        told(table.name, done, all_of_it)
        for batch in _batches(source, table, target.read(lambda tx: _reached(tx, table))):  # noqa: B023
            _make_room(target, table, batch)
            target.write(lambda tx: _copy(tx, table, batch))  # noqa: B023
            done += len(batch)
            told(table.name, done, all_of_it)
        before, rows = before + already, rows + done
    for table in metadata.sorted_tables:
        _check(source, target, table, told)
    numbers = archive.numbers(source, metadata.sorted_tables)
    target.write(lambda tx: _end(tx, numbers))
    return Moved(len(metadata.sorted_tables), rows, before)


def _begin(tx: Connection, whose: str) -> None:
    """Make the tables, empty, in a database that has none; or find those of an earlier try."""
    names = inspect(tx).get_table_names()
    if _moving.name in names:
        if tx.execute(select(_moving.c.reached).where(_moving.c.name == _WHOSE)).scalar() != whose:
            raise _refused("Another installation was being moved into this database. Give this one an empty database.")
        return
    if names:
        raise _refused("There are tables in the target already. Move into an empty database.")
    upgrade.migrate(tx, "head")
    for table in reversed(metadata.sorted_tables):
        tx.execute(table.delete())  # what the migrations put in
    _moving.create(tx)
    tx.execute(insert(_moving).values(name=_WHOSE, reached=whose))


def _end(tx: Connection, numbers: dict[str, int]) -> None:
    archive.go_on_from(tx, metadata.sorted_tables, numbers)
    _moving.drop(tx)


def _key(table: Table) -> list[Column[Any]]:
    return [table.c.id] if "id" in table.c else list(table.primary_key.columns)


def _count(tx: Connection, table: Table) -> int:
    disable_timeouts(tx)
    return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def _reached(tx: Connection, table: Table) -> list[Any] | None:
    """The key of the last row that was copied."""
    told = tx.execute(select(_moving.c.reached).where(_moving.c.name == table.name)).scalar()
    values = json.loads(told) if told else None
    return values and [base64.b64decode(value[0]) if isinstance(value, list) else value for value in values]


def _batches(source: Connection, table: Table, reached: list[Any] | None) -> Iterator[_Batch]:
    key = _key(table)
    while True:
        chosen = select(table).order_by(*key).limit(_AT_ONCE)
        if reached:
            chosen = chosen.where(tuple_(*key) > tuple_(*reached) if len(key) > 1 else key[0] > reached[0])
        batch = source.execute(chosen).mappings().all()
        if not batch:
            return
        yield batch
        reached = [batch[-1][column.name] for column in key]


def _make_room(target: Database, table: Table, batch: _Batch) -> None:
    if cut := partitions.column_of(table.name):
        days = partitions.days_in(table.name, [row[cut] for row in batch])
        target.write(lambda tx: partitions.ensure(tx, days, [table.name]))


def _copy(tx: Connection, table: Table, batch: _Batch) -> None:
    """Insert a batch, and how far that is, in one transaction."""
    tx.execute(insert(table), [dict(row) for row in batch])
    last = [batch[-1][column.name] for column in _key(table)]
    told = json.dumps([[base64.b64encode(value).decode()] if isinstance(value, bytes) else value for value in last])
    new = upsert(tx, _moving).values(name=table.name, reached=told)
    tx.execute(new.on_conflict_do_update(index_elements=["name"], set_={"reached": told}))


def _check(source: Connection, target: Database, table: Table, told: ProgressCallback) -> None:
    """Compare how many rows there are, and the sum of their checksums, which no order changes."""
    what = f"check of {table.name}"
    here = _sum(source, table, lambda _n: None)
    told(what, 0, here[0])
    there = target.read(lambda tx: _sum(tx, table, lambda n: told(what, n, here[0])))
    if here != there:
        text = f"{table.name} has {there[0]} rows in the target where there should be {here[0]}, or others than these."
        raise Problem(Kind.INVALID, f"{text} Give the move an empty database and begin again.")


def _sum(tx: Connection, table: Table, step: Callable[[int], None]) -> tuple[int, int]:
    disable_timeouts(tx)
    count = total = 0
    names = sorted(column.name for column in table.columns)
    for row in tx.execution_options(stream_results=True, yield_per=_AT_ONCE).execute(select(table)).mappings():
        words = json.dumps([_plain(row[name]) for name in names], sort_keys=True)
        total += int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest())
        count += 1
        if count % _AT_ONCE == 0:
            step(count)
    step(count)
    return count, total % 2**64


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _refused(message: str) -> Problem:
    return Problem(Kind.INVALID, message)
