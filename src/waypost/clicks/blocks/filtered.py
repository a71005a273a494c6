"""Count the single visits of an account that match a filter, from blocks of columns and the visits after them.

This is the only module with NumPy. It is loaded with the first page that needs it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from waypost.clicks.blocks.counts import ALL_PARTS, SORTS, Counts, Parts
from waypost.clicks.blocks.encoding import AGENT, COLUMNS, SINGLE, Block, encode
from waypost.clicks.ingest.aggregate import NOT_IN_ACCOUNT_TOTALS, QUARTER
from waypost.clicks.stats.visit_search import VisitFilter
from waypost.db.schema import events, visit_blocks

Codes = np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
_ROWS = 65_536


def count(
    tx: Connection,
    account: int,
    visit_filter: VisitFilter,
    first: int,
    after: int,
    *,
    parts: Parts = ALL_PARTS,
) -> Counts:
    """Count the visits from second `first` to before `after`, which begin a quarter of an hour.

    `visit_filter` has no `sort`. `parts` are what to count besides the times.
    Time is linear in the account's stored visits of the period.
    """
    counts = Counts()
    for block in _blocks(tx, account, visit_filter, first, after):
        _Columns(block).add_to(counts, visit_filter, first // QUARTER, after // QUARTER, parts)
    return counts


def _blocks(tx: Connection, account: int, visit_filter: VisitFilter, first: int, after: int) -> Iterator[Block]:
    """Yield the blocks with visits of the period, then the later visits as blocks."""
    c, b = events.c, visit_blocks.c
    names = [b[name] for name in Block.__dataclass_fields__]
    in_period = (b.account == account, b.last_ms >= first * 1000, b.first_ms < after * 1000)
    for row in tx.execute(select(*names).where(*in_period).execution_options(yield_per=8)):
        yield Block(*row)
    last_id = tx.execute(select(func.coalesce(func.max(b.last_id), 0)).where(b.account == account)).scalar_one()
    query = select(*(c[name] for name in COLUMNS)).where(
        c.account == account, c.at_ms >= first * 1000, c.at_ms < after * 1000, visit_filter.condition()
    )
    while rows := tx.execute(query.where(c.id > last_id).order_by(c.id).limit(_ROWS)).all():
        yield encode(rows)
        last_id = rows[-1].id


class _Columns:
    """The columns of a block."""

    def __init__(self, block: Block) -> None:
        layout = json.loads(block.layout)
        self._base: int = layout["base"]
        self._labels: dict[str, Sequence[Any]] = {}
        self._codes: dict[str, Codes] = {}
        offset = 0
        for name, width, labels in layout["columns"]:
            self._labels[name] = labels
            self._codes[name] = np.frombuffer(block.content, f"<u{width}", block.visits, offset)
            offset += width * block.visits

    def add_to(self, counts: Counts, visit_filter: VisitFilter, first: int, after: int, parts: Parts) -> None:
        """Add the visits that match, from quarter `first` to before `after`."""
        selected = self._selected(visit_filter, first, after)
        if selected is None or not len(selected):
            return
        sorts = self._labels["sort"]
        codes = self._codes["sort"][selected]
        moments = self._codes["quarter"][selected].astype(np.int64) * len(sorts) + codes
        totals = np.bincount(moments)
        for moment in np.flatnonzero(totals).tolist():
            quarter, sort = divmod(moment, len(sorts))
            n, row = int(totals[moment]), counts.times[(self._base + quarter) * QUARTER]
            name, is_first = sorts[sort]
            row[SORTS.index(name)] += n
            row[1] += n if is_first else 0
        if not parts:
            return
        clicks = selected[self._table("sort", lambda label: label[0] == "click")[codes]]
        if "items" in parts:
            for label, n in self._count("item", clicks):
                counts.items[label[0], label[1]] += n
        if "labels" in parts:
            self._add_labels(counts.labels, clicks)

    def _add_labels(self, counts: dict[str, Counter[str]], clicks: Any) -> None:
        for name in SINGLE:
            for label, n in self._count(name, clicks):
                counts[name][label] += n
        for label, n in self._count("agent", clicks):
            for name, part in zip(AGENT, label, strict=True):
                counts[name][part] += n

    def _selected(self, visit_filter: VisitFilter, first: int, after: int) -> Any:
        """Return the positions of the visits that match; None if a label of the filter is not in this block."""
        masks: list[Mask] = []
        for column, table in self._conditions(visit_filter):
            if not table.any():
                return None
            if not table.all():
                masks.append(table[self._codes[column]])
        quarters = self._codes["quarter"]
        low, high = first - self._base, after - self._base
        if low > 0:
            masks.append(quarters >= low)
        if high <= int(quarters.max()):
            masks.append(quarters < high)
        if not masks:
            return np.arange(len(quarters))
        return np.flatnonzero(np.logical_and.reduce(masks))

    def _conditions(self, visit_filter: VisitFilter) -> Iterator[tuple[str, Mask]]:
        """Yield columns of the filter, with whether each of their codes matches."""
        kind, item = visit_filter.kind, visit_filter.item
        if not kind:
            yield "item", self._table("item", lambda label: label[0] not in NOT_IN_ACCOUNT_TOTALS)
        else:
            yield "item", self._table("item", lambda label: label[0] == kind and item in (None, label[1]))
        agent = {AGENT.index(name): value for name, value in visit_filter.labels.items() if name in AGENT}
        if agent:
            yield "agent", self._table("agent", lambda label: all(label[n] == value for n, value in agent.items()))
        for name in SINGLE:
            if name in visit_filter.labels:
                value = visit_filter.labels[name]
                yield name, self._table(name, lambda label: label == value)  # noqa: B023  # called at once

    def _table(self, column: str, matches: Any) -> Mask:
        return np.fromiter(map(matches, self._labels[column]), bool, len(self._labels[column]))

    def _count(self, column: str, positions: Any) -> Iterator[tuple[Any, int]]:
        """Yield the labels that occur at these positions, with their numbers."""
        totals = np.bincount(self._codes[column][positions], minlength=1)
        labels = self._labels[column]
        for code in np.flatnonzero(totals).tolist():
            yield labels[code], int(totals[code])
