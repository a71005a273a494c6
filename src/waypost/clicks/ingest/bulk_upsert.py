"""Writing what a batch adds up to: few statements, whatever it counts, in the order of each table's key.

All who count keep that order, so no two of them wait for each other. The parameters go past SQLAlchemy, whose own work
would cost more than the database's. `rest` is called between two of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from sqlalchemy import Connection, Table, bindparam, update

_ROWS_OF_SQLITE = 100
_ROWS_OF_POSTGRES = 5000
Columns = Mapping[str, Sequence[Any]]
"""Rows of a table, by the names of their columns: what each row has there. All are as long."""


def turned(names: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> Columns:
    """Rows as columns of these names."""
    return dict(zip(names, zip(*rows, strict=True), strict=False))  # not one when there is no row


def add_up(tx: Connection, table: Table, columns: Columns, rest: Callable[[], None]) -> None:
    """Add counts to the rows with the same key, making those that are missing."""
    key = [column.name for column in table.primary_key.columns]
    sums = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in columns if name not in key)
    insert(tx, table, columns, rest, f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sums}")


def add_to(tx: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[int, ...]]) -> None:
    """Add to columns of rows that are there: each of `rows` is an id and what to add to each column."""
    if tx.dialect.name == "sqlite":
        values = {name: table.c[name] + bindparam(f"_{name}") for name in columns}
        added = update(table).where(table.c.id == bindparam("_item")).values(values)
        for part in _parts(rows, _ROWS_OF_SQLITE):
            told = [{"_item": row[0], **{f"_{c}": n for c, n in zip(columns, row[1:], strict=False)}} for row in part]
            tx.execute(added, told)
        return
    names = ("id", *columns)
    sums = ", ".join(f"{name} = {table.name}.{name} + added.{name}" for name in columns)
    # All rows are locked, in the order of their ids, before any of them is changed.
    lock = f"SELECT id FROM {table.name} WHERE id = ANY(%s::bigint[]) ORDER BY id FOR NO KEY UPDATE"  # noqa: S608  # our own names
    change = (
        f"UPDATE {table.name} SET {sums} FROM unnest({_arrays(table, names)}) AS added ({', '.join(names)}) "  # noqa: S608  # here too
        f"WHERE {table.name}.id = added.id"
    )
    for part in _parts(rows, _ROWS_OF_POSTGRES):
        arrays = tuple(_array([row[place] for row in part]) for place in range(len(names)))
        tx.exec_driver_sql(lock, arrays[:1])
        tx.exec_driver_sql(change, arrays)


def insert(
    tx: Connection, table: Table, columns: Columns, rest: Callable[[], None], ending: str = ""
) -> list[Sequence[Any]]:
    """INSERT many rows by few statements. What each statement returned, where `ending` says RETURNING."""
    into = f"INSERT INTO {table.name} ({', '.join(columns)})"
    is_sqlite = tx.dialect.name == "sqlite"
    most = _ROWS_OF_SQLITE if is_sqlite else _ROWS_OF_POSTGRES
    group = f"({', '.join('?' * len(columns))})"
    answers = []
    for start in range(0, max(map(len, columns.values()), default=0), most):
        part = [column[start : start + most] for column in columns.values()]
        if is_sqlite:
            sql = f"{into} VALUES {', '.join([group] * len(part[0]))}{ending}"
            done = tx.exec_driver_sql(sql, tuple(chain.from_iterable(zip(*part, strict=True))))
        else:
            sql = f"{into} SELECT * FROM unnest({_arrays(table, columns)}){ending}"  # noqa: S608  # our own names
            done = tx.exec_driver_sql(sql, tuple(map(_array, part)))
        if done.returns_rows:
            answers.append(done.all())
        rest()
    return answers


def _parts(rows: Iterable[tuple[Any, ...]], most: int) -> Iterator[list[tuple[Any, ...]]]:
    ahead = iter(rows)
    while part := list(islice(ahead, most)):
        yield part


def _arrays(table: Table, columns: Iterable[str]) -> str:
    """A parameter for each column, which is an array of the column's type."""
    types = (table.c[name].type.as_generic() for name in columns)
    return ", ".join(f"%s::{_TYPES[type(one).__name__]}[]" for one in types)


_TYPES = {
    "BigInteger": "bigint",
    "Integer": "integer",
    "Boolean": "boolean",
    "String": "text",
    "Text": "text",
    "LargeBinary": "bytea",
}


def _array(values: Sequence[Any]) -> str:
    """The text of an array, as PostgreSQL reads it."""
    if isinstance(values[0], bytes):
        return "{" + ",".join([f'"\\\\x{value.hex()}"' for value in values]) + "}"
    if not isinstance(values[0], str):
        return "{" + ",".join(map(str, values)) + "}"
    joined = '","'.join(values)
    if joined.count('"') != 2 * len(values) - 2 or "\\" in joined:  # rare
        joined = '","'.join([value.replace("\\", "\\\\").replace('"', '\\"') for value in values])
    return '{"' + joined + '"}'
