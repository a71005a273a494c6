"""Writing what a batch adds up to: few statements, whatever it counts, in the order of each table's key.

All who count keep that order, so no two of them wait for each other. The parameters go past SQLAlchemy, whose own work
would cost more than the database's.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from sqlalchemy import Connection, Table, bindparam, update

_ROWS_OF_SQLITE = 100
_ROWS_OF_POSTGRES = 5000


def add_up(tx: Connection, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
    """Add counts to the rows with the same key, making those that are missing."""
    key = [column.name for column in table.primary_key.columns]
    added = [column.name for column in table.columns if column.name not in key]
    sums = ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in added)
    insert_rows(tx, table, (*key, *added), rows, f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {sums}")


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
        arrays = _columns(row[: len(names)] for row in part)
        tx.exec_driver_sql(lock, arrays[:1])
        tx.exec_driver_sql(change, arrays)


def insert_rows(
    tx: Connection, table: Table, columns: Sequence[str], rows: Iterable[tuple[Any, ...]], ending: str = ""
) -> list[Sequence[Any]]:
    """INSERT many rows by few statements. What each statement returned, where `ending` says RETURNING."""
    into = f"INSERT INTO {table.name} ({', '.join(columns)})"
    is_sqlite = tx.dialect.name == "sqlite"
    group = f"({', '.join('?' * len(columns))})"
    answers = []
    for part in _parts(rows, _ROWS_OF_SQLITE if is_sqlite else _ROWS_OF_POSTGRES):
        if is_sqlite:
            sql = f"{into} VALUES {', '.join([group] * len(part))}{ending}"
            done = tx.exec_driver_sql(sql, tuple(chain.from_iterable(part)))
        else:
            sql = f"{into} SELECT * FROM unnest({_arrays(table, columns)}){ending}"  # noqa: S608  # our own names
            done = tx.exec_driver_sql(sql, _columns(part))
        if done.returns_rows:
            answers.append(done.all())
    return answers


def _parts(rows: Iterable[tuple[Any, ...]], most: int) -> Iterator[list[tuple[Any, ...]]]:
    ahead = iter(rows)
    while part := list(islice(ahead, most)):
        yield part


def _arrays(table: Table, columns: Sequence[str]) -> str:
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


def _columns(rows: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    """Rows as the text of one array for each column, as PostgreSQL reads it."""
    return tuple(_array(column) for column in zip(*rows, strict=True))


def _array(values: Sequence[Any]) -> str:
    if isinstance(values[0], bytes):
        return "{" + ",".join([f'"\\\\x{value.hex()}"' for value in values]) + "}"
    if not isinstance(values[0], str):
        return "{" + ",".join(map(str, values)) + "}"
    joined = '","'.join(values)
    if joined.count('"') != 2 * len(values) - 2 or "\\" in joined:  # rare
        joined = '","'.join([value.replace("\\", "\\\\").replace('"', '\\"') for value in values])
    return '{"' + joined + '"}'
