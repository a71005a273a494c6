"""Application of the parts of an archive: rows are added to the items that the import created, and removed by undo."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, select, update

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY
from waypost.db.database import Database
from waypost.db.schema import import_parts, import_plans
from waypost.transfer.imports.archives import references
from waypost.transfer.imports.archives.part_rows import APPLY, KEYS, REMOVE
from waypost.transfer.imports.archives.parts import ACCOUNT_KIND
from waypost.transfer.imports.archives.references import Items
from waypost.transfer.imports.batches import Pace

_PLAN, _PART = import_plans.c, import_parts.c
_PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH = 2, 25
_PARTS_PER_READ = 100


def apply_all(database: Database, account: int, plan: int, check: Callable[[], object] = lambda: None) -> None:
    """Add all parts of the plan, from its position. An interrupted application resumes."""
    _create_partitions(database, account, plan)
    pace = Pace(database, _PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH)
    while pace.write(lambda tx, size: _apply_batch(tx, account, plan, size)):
        check()


def remove_all(database: Database, account: int, plan: int, check: Callable[[], object]) -> None:
    """Remove the statistics again; the other rows are deleted with their items. An interrupted removal resumes."""
    pace = Pace(database, _PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH)
    while pace.write(lambda tx, size: _remove_batch(tx, account, plan, size)):
        check()


def _apply_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    parts = _next_parts(tx, account, plan, size, _position(tx, account, plan))
    if parts:
        is_plan = (_PLAN.id == plan, _PLAN.account == account)
        tx.execute(update(import_plans).where(*is_plan).values(parts_position=parts[-1].id))
        items = _items(tx, account, plan, parts)
        for part in parts:
            APPLY[part.sheet](tx, account, part.content, items)
    return bool(parts)


def _remove_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    position = _position(tx, account, plan)
    parts = [part for part in _next_parts(tx, account, plan, size, 0) if part.id <= position]
    if parts:
        items = _items(tx, account, plan, parts)
        for part in parts:
            if remove := REMOVE.get(part.sheet):
                remove(tx, account, part.content, items)
        is_removed = _PART.id.in_([part.id for part in parts])
        tx.execute(delete(import_parts).where(_PART.account == account, is_removed))
    return bool(parts)


def _position(tx: Connection, account: int, plan: int) -> int:
    is_plan = (_PLAN.id == plan, _PLAN.account == account)
    return int(tx.execute(select(_PLAN.parts_position).where(*is_plan).with_for_update()).scalar_one())


def _next_parts(tx: Connection, account: int, plan: int, size: int, after: int) -> Sequence[Any]:
    query = select(_PART.id, _PART.sheet, _PART.content)
    query = query.where(_PART.plan == plan, _PART.account == account, _PART.id > after)
    return tx.execute(query.order_by(_PART.id).limit(size)).all()


def _items(tx: Connection, account: int, plan: int, parts: Sequence[Any]) -> Items:
    """Return the items here of all keys in the parts."""
    keys = {key for part in parts for row in part.content["rows"] for key in KEYS[part.sheet](row)}
    if not keys:
        return Items()
    by_source = references.find(tx, account, plan, parts[0].content["service"], keys)
    domains = {("missing", item): domain for (kind, item), domain in by_source.created.items() if kind == "domain"}
    blocks = references.blocks(tx, account, plan) if any(kind == "block" for kind, _ in keys) else {}
    own = {(ACCOUNT_KIND, item): account for kind, item in keys if kind == ACCOUNT_KIND}
    return Items(by_source.all, {**by_source.created, **domains, **blocks, **own})


def _create_partitions(database: Database, account: int, plan: int) -> None:
    """Create the partitions of all days that have statistics, in a transaction of their own, on PostgreSQL."""
    days: dict[str, set[int]] = {"clicks_by_time": set(), "clicks_by_label": set(), "visits": set()}
    last = 0
    while not database.is_sqlite:
        parts = database.read(partial(_next_parts, account=account, plan=plan, size=_PARTS_PER_READ, after=last))
        if not parts:
            break
        last = parts[-1].id
        for part in parts:
            if part.sheet in days:
                unit = {"clicks_by_time": DAY, "clicks_by_label": 1, "visits": DAY * 1000}[part.sheet]
                days[part.sheet] |= {row[2] // unit for row in part.content["rows"]}
    tables = {"clicks_by_time": "click_times", "clicks_by_label": "click_labels", "visits": "events"}
    for sheet, table in tables.items():
        database.write(partial(partitions.ensure, days=days[sheet], tables=[table]))
