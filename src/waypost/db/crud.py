"""CRUD statements shared by all owned tables. Resources with other needs write their own; do not add options here.

A record is a frozen dataclass; its field names are the columns that are read.
"""

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from sqlalchemy import (
    Case,
    Column,
    ColumnElement,
    Connection,
    Executable,
    Integer,
    Select,
    Table,
    UniqueConstraint,
    Update,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql.dml import ReturningDelete
from sqlalchemy.sql.schema import ColumnCollectionConstraint, ScalarElementColumnDefault

from waypost.core import clock
from waypost.core.errors import Kind, Problem, invalid, not_found
from waypost.core.text_folding import folded
from waypost.db import audit_log, page_counters, schema
from waypost.db.schema.nouns import NOUNS, OTHER_ROWS
from waypost.db.statements import DriverSelect, TypedSelect

R = TypeVar("R", bound=Hashable)
UniqueErrors = Mapping[str, Problem]
"""The problem that a violation of each unique constraint means, by the constraint's name."""


@dataclass(frozen=True)
class PageRequest:
    """A page of a list: `limit` rows, pages counted from 1."""

    limit: int = 15
    page: int = 1

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.limit


@dataclass(frozen=True)
class Page(Generic[R]):
    """The rows of one page and the length of the whole list (`result`)."""

    items: Sequence[R]
    result: int
    window: PageRequest


def page(tx: Connection, table: Table, account: int, window: PageRequest, record: type[R]) -> Page[R]:
    """Return a page of the account's rows in `table`, newest first, in constant time."""
    total = page_counters.total(tx, account, table.name)
    if window.offset >= total:
        return Page((), total, window)
    ceiling, skip = page_counters.start_of_page(tx, account, table.name, window.offset)
    parameters = {"account": account, "ceiling": ceiling, "limit": window.limit, "offset": skip}
    rows = tx.execute(_newest(table, record), parameters).mappings()
    return Page([record(**row) for row in rows], total, window)


def filtered_page(
    tx: Connection,
    table: Table,
    account: int,
    window: PageRequest,
    record: type[R],
    where: ColumnElement[bool],
) -> Page[R]:
    """Return a page of the account's rows that meet `where`, newest first, in time linear in the matches."""
    matches = select_columns(table, record).where(table.c.account == account, where)
    return counted_page(tx, matches.order_by(table.c.id.desc()), window, record)


def counted_page(tx: Connection, query: Select[Any], window: PageRequest, record: type[R]) -> Page[R]:
    """Return a page of the rows that `query` selects, in its order, in time linear in the matches."""
    total = tx.execute(select(func.count()).select_from(query.order_by(None).subquery())).scalar_one()
    rows = tx.execute(query.limit(window.limit).offset(window.offset)).mappings() if window.offset < total else ()
    return Page([record(**row) for row in rows], total, window)


def fetch_all(tx: Connection, query: Select[Any]) -> Sequence[Any]:
    """Return the rows of a query."""
    return tx.execute(query).all()


def get_owned(tx: Connection, table: Table, account: int, item: int, record: type[R]) -> R:
    """Return the account's row with this id. Raises NOT_FOUND, also for a row of another account.

    Every id that a client sends must pass through here.
    """
    row = tx.execute(_owned(table, record), {"item": item, "account": account}).mappings().first()
    if row is None:
        raise not_found(_SINGULAR[table.name])
    return record(**row)


def require_owned(tx: Connection, table: Table, account: int, item: int) -> None:
    """Raise NOT_FOUND as `get_owned`, without reading the row."""
    if tx.execute(_owned_id(table), {"item": item, "account": account}).first() is None:
        raise not_found(_SINGULAR[table.name])


def require_reference(tx: Connection, table: Table, account: int, item: int, *, field: str, lock: bool = False) -> None:
    """Check an id in a request body: raises INVALID on `field` unless it is a row of the account (decision 3).

    `lock` keeps the row from being deleted until the commit, for rows that will refer to it.
    """
    query = _owned_id(table, "shared" if lock else "none")
    if tx.execute(query, {"item": item, "account": account}).first() is None:
        noun = _SINGULAR[table.name]
        article = "an" if noun[0] in "aeiou" else "a"
        raise invalid(field, f"{field} must be the id of {article} {noun} in this account; {item} is not.")


def add(
    tx: Connection, table: Table, account: int, values: Mapping[str, Any], unique_errors: UniqueErrors | None = None
) -> int:
    """Insert and count a row for the account; return its id. A `None` becomes the column's default.

    Raises INVALID above the limit of the account's plan.
    """
    row = {"account": account, "created": clock.now(), **with_defaults(table, values)}
    with translate_unique_violation(unique_errors):
        item, limit = tx.execute(_insert(table, tuple(row), tx.dialect.name), row).one()
    page_counters.increment(tx, account, table.name, item, 1)
    check_item_limit(tx, account, table, limit)
    audit_log.item_created(tx, table, account, item, row)
    return int(item)


def item_limit(tx: Connection, account: int) -> int | None:
    """Return how many rows of each table the plan of the account allows; None for no limit."""
    rows = _ITEM_LIMIT.fetch_all(tx, account=account)
    return rows[0][0] if rows else None


def check_item_limit(tx: Connection, account: int, table: Table, limit: int | None) -> None:
    """Raise INVALID if the account has more rows than its plan allows, which rolls the new rows back.

    Exact: the new rows were counted first, and concurrent transactions wait for the counter.
    """
    if limit is not None and page_counters.total(tx, account, table.name) > limit:
        noun = _SINGULAR[table.name] + ("s" if limit != 1 else "")
        hint = "Delete some first, or ask the administrator for another plan."
        raise Problem(Kind.INVALID, f"Your plan allows {limit} {noun}. {hint}")


def change(
    tx: Connection,
    table: Table,
    account: int,
    item: int,
    values: Mapping[str, Any],
    unique_errors: UniqueErrors | None = None,
    *,
    before: audit_log.Values | None = None,
) -> None:
    """Update the columns in `values`; `None` resets a column to its default. Raises NOT_FOUND as `get_owned`.

    `before` is the row, if it was read and locked already.
    """
    if not values:
        require_owned(tx, table, account, item)
        return
    before = _lock_recorded(tx, table, account, item, values) if before is None else before
    with translate_unique_violation(unique_errors):
        owned = {"owned_id": item, "owned_account": account}
        statement, columns = _update(table), with_defaults(table, values)
        if "name" in columns and "name_key" in table.c:
            statement = statement.values(name_key=changed_name_key(table, columns["name"]))
        result = tx.execute(statement, {**owned, **columns})
    if result.rowcount == 0:
        raise not_found(_SINGULAR[table.name])
    audit_log.item_updated(tx, table, account, item, before, columns)


def _lock_recorded(
    tx: Connection, table: Table, account: int, item: int, values: Mapping[str, Any]
) -> audit_log.Values:
    """Lock a row, and return the values that the audit log needs before some of its columns change."""
    row = _recorded(table, tuple(values)).fetch_first(tx, item=item, account=account)
    if row is None:
        raise not_found(_SINGULAR[table.name])
    return row


def lock_row(tx: Connection, table: Table, account: int, item: int, *, shared: bool = False) -> None:
    """Lock a row against updates and new references until the commit. Raises NOT_FOUND as `get_owned`.

    PostgreSQL: every change that takes more than one statement locks its row first, because another transaction can
    delete the row between two statements. `shared` locks only against deletion. Rows that others refer to are locked
    before those that refer to them.
    """
    query = _owned_id(table, "shared" if shared else "exclusive")
    if tx.execute(query, {"item": item, "account": account}).first() is None:
        raise not_found(_SINGULAR[table.name])


def remove(tx: Connection, table: Table, account: int, item: int) -> None:
    """Delete a row and uncount it. Raises NOT_FOUND as `get_owned`."""
    row = tx.execute(_delete(table), {"item": item, "account": account}).mappings().first()
    if row is None:
        raise not_found(_SINGULAR[table.name])
    audit_log.item_deleted(tx, table, account, item, row)
    page_counters.increment(tx, account, table.name, item, -1)


def count_by(tx: Connection, account: int, column: Column[Any], ids: Sequence[int]) -> Mapping[int, int]:
    """Return the number of the account's rows per id in an indexed `column`; ids without rows are missing."""
    is_counted = (column.in_(ids), column.table.c.account == account)
    counts = select(column, func.count()).where(*is_counted).group_by(column)
    return {int(item): count for item, count in tx.execute(counts)}


# Statements are built once for each table: building one takes longer than executing it.
_plan_of_account = schema.accounts.join(schema.plans, schema.plans.c.id == schema.accounts.c.plan)
_ITEM_LIMIT = DriverSelect(
    select(schema.plans.c.item_limit).select_from(_plan_of_account).where(schema.accounts.c.id == bindparam("account"))
)


def _is_owned(table: Table) -> ColumnElement[bool]:
    return (table.c.id == bindparam("item")) & (table.c.account == bindparam("account"))


@cache
def _owned(table: Table, record: type[Any]) -> Select[Any]:
    return select_columns(table, record).where(_is_owned(table))


@cache
def _owned_id(table: Table, lock: Literal["none", "shared", "exclusive"] = "none") -> Select[int]:
    query = select(table.c.id).where(_is_owned(table))
    if lock == "none":
        return query
    return query.with_for_update(read=True, key_share=True) if lock == "shared" else query.with_for_update()


@cache
def _newest(table: Table, record: type[Any]) -> Select[Any]:
    is_listed = (table.c.account == bindparam("account")) & (table.c.id < bindparam("ceiling"))
    newest = select_columns(table, record).where(is_listed).order_by(table.c.id.desc())
    return newest.limit(bindparam("limit", type_=Integer)).offset(bindparam("offset", type_=Integer))


@cache
def _insert(table: Table, names: tuple[str, ...], dialect: str) -> Executable:
    """Insert a row; return its id, and the limit of rows in the plan of its account."""
    new = insert(table).values({name: bindparam(name) for name in names})
    if dialect == "postgresql":  # Citus rejects subqueries in RETURNING
        added = new.returning(table.c.id, table.c.account).cte("added")
        plan_of_account = added.join(schema.accounts, schema.accounts.c.id == added.c.account).join(schema.plans)
        return select(added.c.id, schema.plans.c.item_limit).select_from(plan_of_account)
    # As text, because SQLAlchemy omits table names in RETURNING for SQLite.
    plan = "SELECT plans.item_limit FROM accounts JOIN plans ON plans.id = accounts.plan"
    limit = literal_column(f"({plan} WHERE accounts.id = {table.name}.account)", Integer)
    return new.returning(table.c.id, limit)


@cache
def _update(table: Table) -> Update:
    return update(table).where(table.c.id == bindparam("owned_id"), table.c.account == bindparam("owned_account"))


@cache
def _delete(table: Table) -> ReturningDelete[Any]:
    return delete(table).where(_is_owned(table)).returning(*audit_log.columns_of(table))


@cache
def _recorded(table: Table, names: tuple[str, ...]) -> TypedSelect:
    columns = audit_log.columns_of(table, names)
    return TypedSelect(select(*columns).where(_is_owned(table)).with_for_update())


def select_columns(table: Table, record: type[Any]) -> Select[Any]:
    """Return a SELECT of the columns that the record's fields name."""
    return select(*(table.c[field.name] for field in fields(record)))


_SINGULAR = {**{noun.table.name: noun.singular for noun in NOUNS.values()}, **OTHER_ROWS}


def singular(table: Table) -> str:
    """Return the name of one row of a table in messages."""
    return _SINGULAR[table.name]


def with_defaults(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with the default of the column instead of each `None`."""
    defaults = {name: table.c[name].default for name, value in values.items() if value is None}
    known = {name: each.arg for name, each in defaults.items() if isinstance(each, ScalarElementColumnDefault)}
    return {**values, **known}


def existing(tx: Connection, table: Table, account: int, ids: Iterable[int], *, lock: bool = False) -> list[int]:
    """Return those of the selected ids that are rows of the account, sorted. `lock`: until the transaction ends."""
    c = table.c
    query = select(c.id).where(c.account == account, c.id.in_(set(ids))).order_by(c.id)
    return list(tx.execute(query.with_for_update() if lock else query).scalars())


@contextmanager
def translate_unique_violation(unique_errors: UniqueErrors | None) -> Iterator[None]:
    """Raise the problem that the violation of a unique constraint means."""
    try:
        yield
    except IntegrityError as error:
        problem = (unique_errors or {}).get(_constraint(error))
        if problem is None:
            raise
        raise problem from error


_ON_NODE = re.compile(r'constraint "(\w+)_\d+"')
"""The message of a node of Citus, which appends a number to the name of a constraint."""


def _constraint(error: IntegrityError) -> str:
    """The name of the violated unique constraint. PostgreSQL reports it; SQLite reports columns, or an index."""
    diagnosis = getattr(error.orig, "diag", None)
    if diagnosis is not None:
        on_node = _ON_NODE.search(diagnosis.message_primary or "")
        return str(diagnosis.constraint_name or (on_node and on_node[1]))
    _, _, columns = str(error.orig).partition("UNIQUE constraint failed: ")
    return _CONSTRAINTS_BY_COLUMNS.get(columns, "") if columns else ""


_CONSTRAINTS_BY_COLUMNS = {
    ", ".join(f"{table.name}.{column.name}" for column in columns) or f"index '{name}'": str(name)
    for table in schema.metadata.tables.values()
    for name, columns in (
        *((each.name, each.columns) for each in table.constraints if isinstance(each, ColumnCollectionConstraint)),
        *((index.name, index.columns) for index in table.indexes if index.unique),
    )
}


# Names are unique in their folded form (decision 72): a unique index of the column `name_key`, the folded name, refuses
# the second one. The key is NULL in rows that had the name of an older row before that index existed, and in rows that
# an older version adds during an upgrade. A row that an older version renames then keeps the key of its former name
# until it is renamed again or saved.


def name_errors(table: Table, problem: Problem) -> dict[str, Problem]:
    """Return the problem by the names of the constraint of names as typed, and of the index of folded names."""
    typed = [each.name for each in table.constraints if isinstance(each, UniqueConstraint) and "name" in each.columns]
    compared = [index.name for index in table.indexes if "name_key" in index.columns]
    return {str(name): problem for name in (*typed, *compared)}


def changed_name_key(table: Table, name: str) -> Case[str | None]:
    """Return the key for an UPDATE that sets the name. A name that stays the same stays without a key."""
    return case(((table.c.name == name) & table.c.name_key.is_(None), null()), else_=folded(name))


def ids_by_name(tx: Connection, table: Table, names: Collection[str], *scope: ColumnElement[bool]) -> dict[str, int]:
    """Return the ids of the rows in the scope that have these names; unknown names are missing.

    Of several rows with equal names, the one with the name as typed is meant, else the oldest one.
    """
    c = table.c
    is_candidate = c.name_key.in_({folded(name) for name in names}) | c.name_key.is_(None) | c.name.in_(names)
    rows = tx.execute(select(c.name, c.id).where(*scope, is_candidate).order_by(c.id.desc())).all()
    by_key, by_name = {folded(row.name): row.id for row in rows}, {row.name: row.id for row in rows}
    id_by_name = {name: by_name.get(name) or by_key.get(folded(name)) for name in names}
    return {name: int(item) for name, item in id_by_name.items() if item is not None}


def find_by_name(tx: Connection, table: Table, name: str, *scope: ColumnElement[bool]) -> int | None:
    """Return the id of the row in the scope that has this name."""
    return ids_by_name(tx, table, [name], *scope).get(name)
