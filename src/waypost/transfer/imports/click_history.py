"""Clicks of a source whose time is known: stored with the plan, and added to the statistics when it is applied.

They are in the totals by time and label like other clicks. The dimension `imported` counts them by day, so that
statistics show them apart and `waypost clicks verify` leaves them out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select, update

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import (
    ALL_DAYS,
    DAY,
    IMPORTED,
    QUARTER,
    LabelCounts,
    VisitAttributes,
    label_columns,
)
from waypost.clicks.ingest.bulk_upsert import transpose, upsert_counts
from waypost.clicks.ingest.label_limits import limit_labels
from waypost.db import crud
from waypost.db.database import Database
from waypost.db.schema import click_labels, click_times, import_clicks, import_plans, import_rows
from waypost.transfer.imports import plans
from waypost.transfer.imports.batches import Pace
from waypost.transfer.imports.source_row import Clicks

_MAX_CLICKS = 10**12  # of a link, so that the sums of millions of links fit into 64 bits
_ENTRIES = 1000  # of a row, so that a transaction is short
_ROWS_PER_BATCH, _MAX_ROWS_PER_BATCH = 10, 1000
_ROWS_PER_INSERT = 200
_clicks = import_clicks.c
_PLAN = import_plans.c
_KEY = ("kind", "item", "at", "account", "clicks", "uniques", "bots", "previews", "others", "late")
_LABEL_KEY = ("kind", "item", "day", "dimension", "label", "account", "n")
Entry = tuple[int, int, Sequence[str]]
"""The first second of a quarter of an hour, the number of clicks, and their labels."""


class Sink:
    """Stores the clicks of the rows of a plan, a few statements for many rows."""

    def __init__(self, database: Database, account: int, plan: int) -> None:
        self._database, self._account, self._plan = database, account, plan
        self._rows: list[dict[str, Any]] = []

    def add(self, line: int, history: Iterable[Clicks]) -> tuple[int, int]:
        """Store the clicks of a line; return their number, and that of visits of the source, with constant memory."""
        clicks = visits = 0
        entries: Counter[tuple[int, VisitAttributes]] = Counter()
        for item in history:
            count = min(item.clicks, _MAX_CLICKS - clicks)
            clicks += count
            visits += item.visits
            if count:
                entries[item.second // QUARTER * QUARTER, item.attributes] += count
            if len(entries) == _ENTRIES:
                self._add_row(line, entries)
        self._add_row(line, entries)
        return clicks, visits

    def _add_row(self, line: int, entries: Counter[tuple[int, VisitAttributes]]) -> None:
        if entries:
            values = [[at, count, list(attributes)] for (at, attributes), count in entries.items()]
            self._rows.append({"account": self._account, "plan": self._plan, "line": line, "clicks": values})
            entries.clear()
        if len(self._rows) >= _ROWS_PER_INSERT:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        if rows := self._rows:
            self._rows = []
            self._database.write(lambda tx: self._write(tx, rows))

    def _write(self, tx: Connection, rows: Sequence[dict[str, Any]]) -> None:
        plans.hold(tx, self._account, self._plan)
        tx.execute(insert(import_clicks), rows)


def apply_all(database: Database, account: int, plan: int, check: Callable[[], object] = lambda: None) -> None:
    """Add the clicks of all created links to the statistics, from the position of the plan."""
    _create_partitions(database, account, plan)
    pace = Pace(database, _ROWS_PER_BATCH, _MAX_ROWS_PER_BATCH)
    while pace.write(lambda tx, size: _apply_batch(tx, account, plan, size)):
        check()


def remove_all(database: Database, account: int, plan: int, check: Callable[[], object]) -> None:
    """Remove the clicks again, whose rows are deleted: an interrupted removal resumes."""
    pace = Pace(database, _ROWS_PER_BATCH, _MAX_ROWS_PER_BATCH)
    while pace.write(lambda tx, size: _remove_batch(tx, account, plan, size)):
        check()


def _create_partitions(database: Database, account: int, plan: int) -> None:
    """Create the partitions of the days that have clicks, in a transaction of their own, on PostgreSQL."""
    days: set[int] = set()
    position = 0
    while not database.is_sqlite:
        rows = database.read(partial(crud.fetch_all, query=_batch(account, plan, position, _ROWS_PER_INSERT)))
        if not rows:
            break
        days |= {entry[0] // DAY for row in rows for entry in row.clicks}
        position = rows[-1].id
    database.write(lambda tx: partitions.ensure(tx, days, ("click_times", "click_labels")))


def _apply_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    is_plan = (_PLAN.id == plan, _PLAN.account == account)
    position = tx.execute(select(_PLAN.clicks_position).where(*is_plan).with_for_update()).scalar_one()
    rows = crud.fetch_all(tx, _batch(account, plan, position, size))
    if rows:
        tx.execute(update(import_plans).where(*is_plan).values(clicks_position=rows[-1].id))
        _add(tx, account, _by_item(tx, account, plan, rows), sign=1)
    return bool(rows)


def _remove_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    is_plan = (_PLAN.id == plan, _PLAN.account == account)
    position = tx.execute(select(_PLAN.clicks_position).where(*is_plan).with_for_update()).scalar_one()
    rows = crud.fetch_all(tx, _batch(account, plan, 0, size).where(_clicks.id <= position))
    if rows:
        _add(tx, account, _by_item(tx, account, plan, rows), sign=-1)
        is_removed = _clicks.id.in_([row.id for row in rows])
        tx.execute(delete(import_clicks).where(_clicks.account == account, is_removed))
    return bool(rows)


def _batch(account: int, plan: int, position: int, size: int) -> Select[Any]:
    query = select(_clicks.id, _clicks.line, _clicks.clicks)
    query = query.where(_clicks.plan == plan, _clicks.account == account, _clicks.id > position)
    return query.order_by(_clicks.id).limit(size)


def _by_item(tx: Connection, account: int, plan: int, rows: Sequence[Any]) -> list[tuple[str, int, list[Entry]]]:
    """Return the entries by kind and item of the rows that were created."""
    c = import_rows.c
    is_created = (c.plan == plan, c.account == account, c.line.in_({row.line for row in rows}), c.fate == "create")
    items = {
        row.line: (row.kind, row.item)
        for row in tx.execute(select(c.line, c.kind, c.item).where(*is_created))
        if row.item is not None
    }
    return [(*items[row.line], row.clicks) for row in rows if row.line in items]


def _add(tx: Connection, account: int, items: Iterable[tuple[str, int, list[Entry]]], *, sign: int) -> None:
    """Add the clicks to the statistics of the items and of the account, or subtract them."""
    times: Counter[tuple[str, int, int]] = Counter()
    imported: Counter[tuple[str, int, int]] = Counter()
    labels: dict[tuple[str, int, int], list[Counter[str]]] = defaultdict(
        lambda: [Counter() for _ in VisitAttributes._fields]
    )
    for kind, item, entries in items:
        for at, count, attributes in entries:
            for owner in ((kind, item), ("account", account)):
                times[*owner, at] += count
                for day in (at // DAY, ALL_DAYS):
                    imported[*owner, day] += count
                    for counter, label in zip(labels[*owner, day], attributes, strict=True):
                        counter[label] += count
    rows = [(*key, account, sign * count, 0, 0, 0, 0, 0) for key, count in sorted(times.items())]
    upsert_counts(tx, click_times, transpose(_KEY, rows))
    counts = [
        LabelCounts(*key, account, tuple(counters)) for key, counters in sorted(labels.items(), key=itemgetter(0))
    ]
    columns = label_columns(limit_labels(tx, counts))
    upsert_counts(tx, click_labels, {**columns, "n": [sign * count for count in columns["n"]]})
    upsert_counts(tx, click_labels, transpose(_LABEL_KEY, _imported_rows(account, imported, sign)))


def _imported_rows(account: int, imported: Counter[tuple[str, int, int]], sign: int) -> Iterator[tuple[Any, ...]]:
    for (kind, item, day), count in sorted(imported.items()):
        yield kind, item, day, IMPORTED, IMPORTED, account, sign * count
