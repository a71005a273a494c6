"""The statements that all owned tables share. A noun that does not fit writes its own; nobody adds a flag here.

A record is a frozen dataclass whose field names are columns; it decides what is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, Table, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from waypost import clock
from waypost.db import page_counters, schema
from waypost.errors import Problem, invalid, not_found

R = TypeVar("R")
UniqueErrors = Mapping[str, Problem]
"""What a violated unique constraint, by its name in the schema, means to the person who caused it."""


@dataclass(frozen=True)
class PageRequest:
    """Which page of a list is wanted: `limit` rows, pages counted from 1."""

    limit: int = 15
    page: int = 1

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit


@dataclass(frozen=True)
class Page(Generic[R]):
    """One page of a list and how many rows the whole list has."""

    items: Sequence[R]
    result: int
    window: PageRequest


def page(tx: Connection, table: Table, account: int, window: PageRequest, record: type[R]) -> Page[R]:
    """A page of everything the account has in `table`, newest first. Any page costs the same."""
    result = page_counters.total(tx, account, table.name)
    if window.offset >= result:
        return Page((), result, window)
    ceiling, skip = page_counters.locate(tx, account, table.name, window.offset)
    chosen = columns(table, record).where(table.c.account == account, table.c.id < ceiling)
    newest = chosen.order_by(table.c.id.desc()).limit(window.limit).offset(skip)
    return Page([record(**row) for row in tx.execute(newest).mappings()], result, window)


def filtered(
    tx: Connection,
    table: Table,
    account: int,
    window: PageRequest,
    record: type[R],
    where: ColumnElement[bool],
) -> Page[R]:
    """A page of the account's rows that meet `where`, newest first. Costs as much as there are matches."""
    mine = (table.c.account == account) & where
    result = tx.execute(select(func.count()).select_from(table).where(mine)).scalar_one()
    newest = columns(table, record).where(mine).order_by(table.c.id.desc()).limit(window.limit).offset(window.offset)
    rows = tx.execute(newest).mappings() if window.offset < result else ()
    return Page([record(**row) for row in rows], result, window)


def get_owned(tx: Connection, table: Table, account: int, item: int, record: type[R]) -> R:
    """The one gate for ids from outside. Raises NOT_FOUND when absent and when it is another account's."""
    row = tx.execute(columns(table, record).where(table.c.id == item, table.c.account == account)).mappings().first()
    if row is None:
        raise not_found(_SINGULAR[table.name])
    return record(**row)


def require_reference(tx: Connection, table: Table, account: int, item: int, *, field: str) -> None:
    """The same gate for an id inside a body: raises INVALID on `field` (decision 3)."""
    if tx.execute(select(table.c.id).where(table.c.id == item, table.c.account == account)).first() is None:
        noun = _SINGULAR[table.name]
        article = "an" if noun[0] in "aeiou" else "a"
        raise invalid(field, f"{field} must be the id of {article} {noun} in this account; {item} is not.")


def add(
    tx: Connection, table: Table, account: int, values: Mapping[str, Any], taken: UniqueErrors | None = None
) -> int:
    """Insert a row for the account and count it; its new id. A `None` becomes the column's default."""
    row = {"account": account, "created": clock.now(), **_defaulted(table, values)}
    with unique(taken):
        item = int(tx.execute(insert(table).values(row).returning(table.c.id)).scalar_one())
    page_counters.shift(tx, account, table.name, item, 1)
    return item


def change(
    tx: Connection, table: Table, account: int, item: int, values: Mapping[str, Any], taken: UniqueErrors | None = None
) -> None:
    """Set just the columns in `values`; `None` sets a column back to its default. Raises NOT_FOUND as `own`."""
    mine = (table.c.id == item, table.c.account == account)
    if not values:
        if tx.execute(select(table.c.id).where(*mine)).first() is None:
            raise not_found(_SINGULAR[table.name])
        return
    with unique(taken):
        done = tx.execute(update(table).where(*mine).values(_defaulted(table, values)))
    if done.rowcount == 0:
        raise not_found(_SINGULAR[table.name])


def lock_row(tx: Connection, table: Table, account: int, item: int) -> None:
    """Let nobody refer to a row anew, or change it, until this is committed. Raises NOT_FOUND as `own`.

    For what is going to be removed, and referred to by what stays: the reference is taken away first.
    """
    mine = select(table.c.id).where(table.c.id == item, table.c.account == account)
    if tx.execute(mine.with_for_update()).first() is None:
        raise not_found(_SINGULAR[table.name])


def remove(tx: Connection, table: Table, account: int, item: int) -> None:
    """Delete a row and count it out. Raises NOT_FOUND as `own`."""
    done = tx.execute(table.delete().where(table.c.id == item, table.c.account == account))
    if done.rowcount == 0:
        raise not_found(_SINGULAR[table.name])
    page_counters.shift(tx, account, table.name, item, -1)


def columns(table: Table, record: type[Any]) -> Select[Any]:
    """A SELECT of the columns that the record's fields name."""
    return select(*(table.c[field.name] for field in fields(record)))


_SINGULAR = {
    "accounts": "account",
    "bios": "bio page",
    "campaigns": "campaign",
    "channels": "channel",
    "domains": "domain",
    "files": "file",
    "links": "link",
    "overlays": "overlay",
    "pixels": "pixel",
    "qrs": "QR code",
    "splashes": "splash page",
}


def _defaulted(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    filled = {}
    for name, value in values.items():
        default = table.c[name].default
        filled[name] = default.arg if value is None and isinstance(default, ScalarElementColumnDefault) else value
    return filled


@contextmanager
def unique(taken: UniqueErrors | None) -> Iterator[None]:
    """Turns the violation of a named unique constraint into the problem that it means."""
    try:
        yield
    except IntegrityError as error:
        problem = (taken or {}).get(_constraint(error))
        if problem is None:
            raise
        raise problem from error


def _constraint(error: IntegrityError) -> str:
    """The violated unique constraint's name: PostgreSQL says it, SQLite says the columns."""
    diagnosis = getattr(error.orig, "diag", None)
    if diagnosis is not None:
        return str(diagnosis.constraint_name)
    _, _, named = str(error.orig).partition("UNIQUE constraint failed: ")
    return _BY_COLUMNS.get(named, "")


_BY_COLUMNS = {
    ", ".join(f"{table.name}.{column.name}" for column in constraint.columns): str(constraint.name)
    for table in schema.metadata.tables.values()
    for constraint in table.constraints
    if hasattr(constraint, "columns")
}
