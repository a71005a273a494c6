"""The contents of deleted items as JSON: their rows, those that are deleted with them, and those that refer to them.

The kinds of items say how their rows belong together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, func, select

from waypost.core.errors import Problem, not_found, taken
from waypost.core.text_folding import folded
from waypost.db import change_log, crud, row_codec, schema
from waypost.db.crud import UniqueErrors
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.row_codec import Values, exact_row
from waypost.db.schema import click_times
from waypost.db.schema.nouns import Noun, referred_first
from waypost.urls.alias_namespace import fold_aliases

AfterRestoring = Callable[[Connection, Mapping[str, Any]], None]
"""Called with the row of each item, after all were restored with their aliases."""
_LATE_SECONDS = 30 * 86_400
"""Clicks that are counted after the deletion are at most this much older than it."""
_BATCH = 1000


@dataclass(frozen=True)
class Kind:
    """A kind of item in the trash: what restoring one can collide with, and what it takes besides its rows."""

    noun: Noun
    unique_errors: UniqueErrors
    after_restoring: AfterRestoring | None

    @property
    def table(self) -> Table:
        """The table of its items."""
        return self.noun.table


def _taken_again(kind: Noun) -> UniqueErrors:
    noun = kind.singular
    message = f"You have another {noun} with the name of a deleted one. Rename it, then restore the deleted one."
    return crud.name_errors(kind.table, taken("name", message)) if kind.is_named_once else _OTHERS.get(kind.kind, {})


_DOMAIN_TAKEN = taken(
    "domain", "This domain, or the same with or without www., was added after it was deleted, so it cannot be restored."
)
_OTHERS: Mapping[str, UniqueErrors] = {
    "domain": {f"domains_{name}_unique": _DOMAIN_TAKEN for name in ("host", "bare_host", "www_host")}
}
_SAME_ALIASES = taken(
    "domain", "Aliases that differ only by case were added to this domain, so it cannot be restored: it ignores case."
)


def _use_domain(tx: Connection, row: Mapping[str, Any]) -> None:
    """Let links answer on a restored domain. Raises TAKEN if aliases in both cases were added, by any account."""
    change_log.record(tx, row["host"])
    if row["ignorecase"]:
        try:
            fold_aliases(tx, row["host"])
        except Problem as problem:
            if problem.field != "ignorecase":
                raise
            raise _SAME_ALIASES from None  # the aliases can be those of another account


_AFTER_RESTORING: Mapping[str, AfterRestoring] = {"domain": _use_domain}

KINDS: Mapping[str, Kind] = {
    name: Kind(noun, _taken_again(noun), _AFTER_RESTORING.get(name)) for name, noun in referred_first().items()
}
"""The kinds by name, those that others refer to first."""

KIND_OF_TABLE: Mapping[str, str] = {kind.table.name: name for name, kind in KINDS.items()}
COMPANIONS: Mapping[str, tuple[str, str, str]] = {
    "links.splash": ("type", "splash", "direct"),
    "links.overlay": ("type", "overlay", "direct"),
}
"""References that come with the value of a second column: its name, the value, and the value without the reference."""


@dataclass(frozen=True)
class Reference:
    """A column of `table` with ids of the rows of `parent`. A part is deleted with its parent."""

    table: Table
    column: str
    parent: Table
    is_part: bool

    @property
    def key(self) -> str:
        """The name of the reference."""
        return f"{self.table.name}.{self.column}"


@cache
def references_to(table: Table) -> tuple[Reference, ...]:
    """Return the references to a table."""
    tables = (other for other in schema.metadata.sorted_tables if other is not table)
    return tuple(reference for other in tables for reference in references_of(other) if reference.parent is table)


@cache
def references_of(table: Table) -> tuple[Reference, ...]:
    """Return the references of a table to items."""
    keys = sorted(table.foreign_keys, key=lambda key: key.parent.name)
    return tuple(
        Reference(table, key.parent.name, key.column.table, key.ondelete == "CASCADE")
        for key in keys
        if key.column.table.name in KIND_OF_TABLE
    )


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
