"""Count the single visits of an account that match a filter, from blocks of columns and the visits after them.

This is the only module with NumPy. It is loaded with the first page that needs it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from operator import eq
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, func, select

from waypost.clicks.blocks.encoding import AGENT, COLUMNS, SINGLE, Block, encode, json_text
from waypost.clicks.blocks.visit_counts import ALL_PARTS, SORTS, Counts, Parts
from waypost.clicks.ingest.aggregate import NOT_IN_ACCOUNT_TOTALS, QUARTER
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.db.schema import events, visit_blocks

Codes = np.ndarray[Any, np.dtype[np.unsignedinteger[Any]]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
_ROWS = 65_536
_MAX_CELLS = 1 << 14
"""Combinations of labels that are counted together; more would not fit into the cache of a processor."""


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
    query = select(*names).where(*in_period, *_may_match(visit_filter))
    for row in tx.execute(query.execution_options(yield_per=8, binary=True)):
        yield Block(*row)
    last_id = tx.execute(select(func.coalesce(func.max(b.last_id), 0)).where(b.account == account)).scalar_one()
    later = select(*(c[name] for name in COLUMNS)).where(
        c.account == account, c.at_ms >= first * 1000, c.at_ms < after * 1000, visit_filter.condition()
    )
    while rows := tx.execute(later.where(c.id > last_id).order_by(c.id).limit(_ROWS)).all():
        yield encode(rows)
        last_id = rows[-1].id


def _may_match(visit_filter: VisitFilter) -> Iterator[ColumnElement[bool]]:
    """Yield conditions on the layout of a block, so that the database does not read the visits of other blocks."""
    for label in visit_filter.labels.values():
        yield visit_blocks.c.layout.contains(json_text(label), autoescape=True)
    if visit_filter.kind and visit_filter.item is not None:
        yield visit_blocks.c.layout.contains(json_text([visit_filter.kind, visit_filter.item]), autoescape=True)


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
        masks = self._masks(visit_filter, first, after)
        if masks is None:
            return
        selected = _positions(masks)
        if selected is not None and not len(selected):
            return
        self._add_times(counts, selected)
        if not parts:
            return
        is_click = self._table("sort", lambda label: label[0] == "click")
        clicks = selected if is_click.all() else _positions([*masks, self._mask("sort", is_click)])
        if "items" in parts:
            (totals,) = self._totals(["item"], clicks)
            known = counts.items.get
            for (kind, item), n in zip(self._labels["item"], totals, strict=True):
                if n:
                    key = (kind, item)
                    counts.items[key] = known(key, 0) + n
        if "labels" in parts:
            self._add_labels(counts.labels, clicks)

    def _add_times(self, counts: Counts, selected: Any) -> None:
        sorts = self._labels["sort"]
        width = np.uint16 if self._codes["quarter"].itemsize == 1 else np.uint32
        moments = np.multiply(_at(self._codes["quarter"], selected), len(sorts), dtype=width)
        moments += _at(self._codes["sort"], selected)
        totals = np.bincount(moments)
        columns = [(SORTS.index(name), is_first) for name, is_first in sorts]
        for moment in np.flatnonzero(totals).tolist():
            quarter, sort = divmod(moment, len(sorts))
            n, row = int(totals[moment]), counts.times[(self._base + quarter) * QUARTER]
            column, is_first = columns[sort]
            row[column] += n
            row[1] += n if is_first else 0

    def _add_labels(self, counts: dict[str, Counter[str]], clicks: Any) -> None:
        for names in self._groups(["agent", *SINGLE]):
            for name, totals in zip(names, self._totals(names, clicks), strict=True):
                for label, n in zip(self._labels[name], totals, strict=True):
                    if not n:
                        continue
                    if name != "agent":
                        counts[name][label] += n
                        continue
                    for part, value in zip(AGENT, label, strict=True):
                        counts[part][value] += n

    def _groups(self, names: Sequence[str]) -> list[list[str]]:
        """Return the columns in groups of few combinations, because counting a group is one pass."""
        groups: list[list[str]] = []
        for name in sorted(names, key=self._size):
            fitting = (group for group in groups if prod(map(self._size, group)) * self._size(name) <= _MAX_CELLS)
            if (group := next(fitting, None)) is None:
                groups.append([name])
            else:
                group.append(name)
        return groups

    def _totals(self, names: Sequence[str], positions: Any) -> list[list[int]]:
        """Return the number of visits at these positions by code, for each of these columns."""
        sizes = [self._size(name) for name in names]
        combined = _at(self._codes[names[0]], positions)
        if len(names) > 1:
            combined = combined.astype(np.uint16)
            for name, size in zip(names[1:], sizes[1:], strict=True):
                combined *= np.uint16(size)
                combined += _at(self._codes[name], positions)
        cells = np.bincount(combined, minlength=prod(sizes)).reshape(sizes)
        axes = range(len(sizes))
        return [cells.sum(axis=tuple(other for other in axes if other != axis)).tolist() for axis in axes]

    def _size(self, name: str) -> int:
        return len(self._labels[name])

    def _masks(self, visit_filter: VisitFilter, first: int, after: int) -> list[Mask] | None:
        """Return masks that all visits to count match; None if a label of the filter is not in this block."""
        masks: list[Mask] = []
        for column, table in self._conditions(visit_filter):
            if not table.any():
                return None
            if not table.all():
                masks.append(self._mask(column, table))
        quarters = self._codes["quarter"]
        low, high = first - self._base, after - self._base
        if low > 0:
            masks.append(quarters >= low)
        if high <= int(quarters.max()):
            masks.append(quarters < high)
        return masks

    def _conditions(self, visit_filter: VisitFilter) -> Iterator[tuple[str, Mask]]:
        """Yield columns of the filter, with whether each of their codes matches."""
        kind, item, members = visit_filter.kind, visit_filter.item, visit_filter.members
        if members is not None:
            yield "item", self._table("item", lambda label: label[1] in members.get(label[0], ()))
        if not kind:
            if not NOT_IN_ACCOUNT_TOTALS.isdisjoint({label[0] for label in self._labels["item"]}):
                yield "item", self._table("item", lambda label: label[0] not in NOT_IN_ACCOUNT_TOTALS)
        else:
            yield "item", self._table("item", lambda label: label[0] == kind and item in (None, label[1]))
        agent = {AGENT.index(name): value for name, value in visit_filter.labels.items() if name in AGENT}
        if agent:
            yield "agent", self._table("agent", lambda label: all(label[n] == value for n, value in agent.items()))
        for name in SINGLE:
            if name in visit_filter.labels:
                value = visit_filter.labels[name]
                yield name, self._table(name, partial(eq, value))

    def _table(self, column: str, matches: Callable[[Any], bool]) -> Mask:
        return np.fromiter(map(matches, self._labels[column]), bool, self._size(column))

    def _mask(self, column: str, table: Mask) -> Mask:
        """Return whether the code of each visit matches, in the fastest way: few comparisons, then look-ups by byte."""
        codes, matching, others = self._codes[column], np.flatnonzero(table), np.flatnonzero(~table)
        mask: Mask
        if len(matching) == 1:
            mask = codes == matching[0]
        elif len(others) == 1:
            mask = codes != others[0]
        elif codes.itemsize == 1:
            mask = np.frombuffer(codes.tobytes().translate(table.tobytes().ljust(256, b"\0")), bool)
        else:
            mask = table.take(codes)
        return mask


def _positions(masks: Sequence[Mask]) -> Any:
    """Return the positions that match all masks; None for all positions."""
    return np.flatnonzero(np.logical_and.reduce(masks)) if masks else None


def _at(codes: Codes, positions: Any) -> Codes:
    return codes if positions is None else codes[positions]
