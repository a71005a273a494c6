"""The contents of deleted items as JSON: their rows, those that are deleted with them, and those that refer to them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, func, select

from waypost.core.errors import not_found
from waypost.core.text_folding import folded
from waypost.db import crud, row_codec
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.row_codec import Values, exact_row
from waypost.db.schema import click_times
from waypost.trash.kinds import KIND_OF_TABLE, KINDS, Kind, references_to

_LATE_SECONDS = 30 * 86_400
"""Clicks that are counted after the deletion are at most this much older than it."""
_BATCH = 1000


@dataclass(frozen=True)
class Snapshot:
    """An item. `values` are its columns, `content` is the JSON of the trash."""

    item: int
    values: Mapping[str, Any]
    content: Mapping[str, Any]

    def name(self, kind: Kind) -> str:
        """Return the name to show."""
        return next((str(self.values[name]) for name in kind.noun.names if self.values[name]), "")


def take(tx: Connection, account: int, name: str, ids: Iterable[int], now: int) -> list[Snapshot]:
    """Lock items and all that belongs to them, in the order of their ids, and return their contents.

    Raises NOT_FOUND if one of them does not exist.
    """
    table, unique_ids = KINDS[name].table, sorted(set(ids))
    rows = _rows(tx, table, account, "id", unique_ids)
    if len(rows) != len(unique_ids):
        raise not_found(crud.singular(table))
    contents: dict[int, Values] = {row["id"]: {"row": exact_row(row), "parts": {}, "references": {}} for row in rows}
    for reference in references_to(table):
        for row in _rows(tx, reference.table, account, reference.column, unique_ids, whole=reference.is_part):
            content = contents[row[reference.column]]
            if reference.is_part:
                content["parts"].setdefault(reference.table.name, []).append(exact_row(row))
            else:
                content["references"].setdefault(reference.key, []).append(row["id"])
    counts = counted(tx, account, contents.values(), name, now)
    for content in contents.values():
        content["counts"] = {
            kind: {str(item): counts[kind, item] for item in items} for kind, items in _clicked(name, content)
        }
    return [Snapshot(row["id"], row, contents[row["id"]]) for row in rows]


def counted(
    tx: Connection, account: int, contents: Iterable[Mapping[str, Any]], name: str, deleted: int
) -> Mapping[tuple[str, int], tuple[int, int]]:
    """Return the clicks and unique clicks in the statistics of items and their parts, of the time before the deletion
    in which clicks can still be counted. The difference to an earlier result has been counted since.
    """
    ids: dict[str, list[int]] = {}
    for content in contents:
        for kind, items in _clicked(name, content):
            ids.setdefault(kind, []).extend(items)
    c = click_times.c
    sums = {(kind, item): (0, 0) for kind, items in ids.items() for item in items}
    for kind, items in ids.items():
        for start in range(0, len(items), _BATCH):
            of_items = (c.account == account, c.kind == kind, c.item.in_(items[start : start + _BATCH]))
            query = select(c.item, func.sum(c.clicks), func.sum(c.uniques)).group_by(c.item)
            query = query.where(*of_items, c.at >= deleted - _LATE_SECONDS)
            sums |= {(kind, item): (int(clicks), int(uniques)) for item, clicks, uniques in tx.execute(query)}
    return sums


def _clicked(name: str, content: Mapping[str, Any]) -> Iterable[tuple[str, Sequence[int]]]:
    """Yield the kinds of clicks of an item and its parts, with their ids."""
    for kind, (table, _) in CLICK_TOTALS.items():
        if KIND_OF_TABLE.get(table.name) == name:
            yield kind, [content["row"]["id"]]
        elif rows := content["parts"].get(table.name):
            yield kind, [row["id"] for row in rows]


def decode(table: Table, values: Mapping[str, Any]) -> Values:
    """Return the row of its JSON. Columns that were added since get their default."""
    known = row_codec.defaults(table)
    row = {**known, **row_codec.decoder(table)({name: value for name, value in values.items() if name in known})}
    if "name_key" in table.c and "name_key" not in values:  # deleted by an older version
        row["name_key"] = folded(row["name"])
    return row


def _rows(
    tx: Connection, table: Table, account: int, column: str, ids: Sequence[int], *, whole: bool = True
) -> list[Values]:
    """Return the rows of the account with one of these ids in a column, locked; only their ids unless `whole`."""
    rows: list[Values] = []
    order = list(table.primary_key.columns)
    columns = list(table.c) if whole else [table.c.id, table.c[column]]
    for start in range(0, len(ids), _BATCH):
        query = select(*columns).where(table.c.account == account, table.c[column].in_(ids[start : start + _BATCH]))
        rows.extend(dict(row) for row in tx.execute(query.order_by(*order).with_for_update()).mappings())
    return rows
