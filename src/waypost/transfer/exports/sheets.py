"""Sheets: the tables of an export, their columns, and the text that explains each column."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, String, Table, cast, func, select

from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.row_codec import Convert, as_time, readable

Derive = Callable[[Mapping[str, Any], Settings], Mapping[str, Any]]
"""Returns the values of columns that the database does not store, such as a short URL, from those that it stores."""


@dataclass(frozen=True)
class Column:
    """A column of a sheet. Without a `source` the sheet derives its value."""

    name: str
    text: str
    source: ColumnElement[Any] | None = None
    convert: Convert | None = None


Added = Mapping[str, Sequence[Column | str]]
"""Columns that come after a column of a table. A name moves another column of the table there."""


@dataclass(frozen=True)
class Sheet:
    """A table of the export, which becomes `name.csv` and `name.jsonl`. `hidden` columns are for `derive` only.

    `where` leaves out rows.
    """

    name: str
    text: str
    table: Table
    columns: Sequence[Column]
    joined: FromClause | None = None
    hidden: Sequence[ColumnElement[Any]] = ()
    derive: Derive | None = None
    where: ColumnElement[bool] | None = None

    def query(self, account: int) -> Select[Any]:
        """Select the rows of an account in the order of the primary key."""
        stored = [column.source.label(column.name) for column in self.columns if column.source is not None]
        query = select(*stored, *self.hidden).select_from(self.joined if self.joined is not None else self.table)
        query = query.where(self.table.c.account == account, *([] if self.where is None else [self.where]))
        return query.order_by(*(key for key in self.table.primary_key if key.name != "account"))

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @cached_property
    def _selected(self) -> Sequence[str]:
        """The names of the columns of the query."""
        stored = [column.name for column in self.columns if column.source is not None]
        return [*stored, *(column.key or "" for column in self.hidden)]

    @cached_property
    def _converts(self) -> Sequence[tuple[str, Convert]]:
        return [(column.name, column.convert) for column in self.columns if column.convert is not None]

    def values(self, row: Sequence[Any], settings: Settings) -> dict[str, Any]:
        """Return the values of a row of the query by column, as JSON."""
        values = dict(zip(self._selected, row, strict=True))
        if self.derive is not None:
            values |= self.derive(values, settings)
            values = {name: values[name] for name in self.names}
        for name, convert in self._converts:
            if (value := values[name]) is not None:
                values[name] = convert(value)
        return values


def columns_of(table: Table, added: Added | None = None) -> list[Column]:
    """Return the columns of a table that have a `doc`, in their order, and the added ones."""
    added = added or {}
    moved = {column for columns in added.values() for column in columns if isinstance(column, str)}
    columns: list[Column] = []
    for name in (column.name for column in table.c if column.doc and column.name not in moved):
        columns.append(_column(table, name))
        columns += (_column(table, each) if isinstance(each, str) else each for each in added.get(name, ()))
    return columns


def _column(table: Table, name: str) -> Column:
    source = table.c[name]
    return Column(name, source.doc or "", source, readable(source))


def of(table: Table, texts: Mapping[str, str], **converts: Convert) -> list[Column]:
    """Return columns of a table with their texts."""
    return [Column(name, text, table.c[name], converts.get(name)) for name, text in texts.items()]


def cell(value: Any) -> Any:
    """Return a value for CSV: lists and objects are JSON, and None is empty."""
    convert = _CELLS.get(type(value))
    return value if convert is None else convert(value)


to_json = json.JSONEncoder(ensure_ascii=False).encode
"""Return a value as JSON on one line. Faster than `json.dumps`, which makes an encoder for each call."""
_CELLS: Mapping[type, Convert] = {
    list: to_json,
    dict: to_json,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "",
}


def related_ids(column: ColumnElement[int], matches: ColumnElement[bool]) -> ColumnElement[str]:
    """Select the ids in `column` of the rows that belong to a row, separated by commas."""
    ids = func.aggregate_strings(cast(column, String), ",")
    return select(ids).where(matches).scalar_subquery()


def as_time_ms(millisecond: int) -> str:
    """Return milliseconds since 1970 as UTC text with milliseconds."""
    return f"{as_time(millisecond // 1000)}.{millisecond % 1000:03}"


def as_day(day: int) -> str | None:
    """Return days since 1970 as YYYY-MM-DD; None for the sum of all days."""
    return None if day < 0 else clock.day(day * DAY)


def as_ids(text: str) -> list[int]:
    """Return the ids of `related_ids`, sorted."""
    return sorted(map(int, text.split(",")))
