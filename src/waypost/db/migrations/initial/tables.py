"""Column types, keys and references of the tables of revision 0001.

They stay as they are when the schema changes: a later revision alters these tables.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NUMBER, DAY, FLAG = sa.BigInteger(), sa.Integer(), sa.Boolean()
TEXT, BYTES, JSON = sa.Text(), sa.LargeBinary(), sa.JSON()
KIND, SLUG, ALIAS = sa.String(8), sa.String(50), sa.String(190)
PARTITIONED = {"click_labels": "day", "click_times": "at", "events": "at_ms", "visitors": "day"}
"""The column by which PostgreSQL partitions a table."""
_WITHOUT_ROWID = {
    *("aliases", "blocklist_entries", "click_labels", "click_times", "link_checks", "page_counters"),
    *("recovery_codes", "rotator_links", "visitors"),
}


def create_owned(name: str, *parts: Sequence[SchemaItem], unique: Sequence[tuple[str, ...]] = ()) -> None:
    """Create a table whose rows belong to an account and are listed newest first."""
    owner = reference(name, "account", "accounts", "CASCADE")
    create_table(name, columns(ID, "account"), *parts, columns(NUMBER, "created"), owner, unique=unique)
    op.create_index(f"{name}_account_id", name, ["account", "id"])


def create_table(
    name: str,
    *parts: Sequence[SchemaItem],
    key: tuple[str, ...] = ("id",),
    unique: Sequence[tuple[str, ...]] = (),
    sqlite_autoincrement: bool | None = None,
) -> None:
    """Create a table. The primary key `id` is generated, and SQLite never reuses one."""
    has_id = key == ("id",)
    items = [item for part in parts for item in part]
    has_account = any(isinstance(item, sa.Column) and item.name == "account" and not item.nullable for item in items)
    with_account = _with_account if has_account else lambda *names: names
    options: dict[str, Any] = {"sqlite_autoincrement": has_id if sqlite_autoincrement is None else sqlite_autoincrement}
    if name in _WITHOUT_ROWID:
        options["sqlite_with_rowid"] = False
    if name in PARTITIONED:
        options["postgresql_partition_by"] = f"RANGE ({PARTITIONED[name]})"
    if has_id:
        items.insert(0, sa.Column("id", ID, autoincrement=True, nullable=False))
    if key:
        items.append(sa.PrimaryKeyConstraint(*with_account(*key), name=op.f(f"{name}_pk")))
    for names in unique:
        constraint_name = op.f(f"{name}_{'_'.join(names)}_unique")
        items.append(sa.UniqueConstraint(*with_account(*names), name=constraint_name))
    op.create_table(name, *items, **options)


def columns(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    """Return columns that are never NULL."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def optional(kind: TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    """Return columns that can be NULL."""
    return [sa.Column(name, kind, nullable=True) for name in names]


def check(name: str, condition: str) -> list[sa.CheckConstraint]:
    """Return a CHECK constraint."""
    return [sa.CheckConstraint(condition, name=op.f(name))]


def reference(table: str, column: str, parent: str, on_delete: str) -> list[sa.ForeignKeyConstraint]:
    """Return a foreign key of one column to the id of a parent."""
    name = op.f(f"{table}_{column}_fk")
    return [sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=name, ondelete=on_delete)]


def part_of(table: str, column: str, parent: str, on_delete: str) -> list[sa.ForeignKeyConstraint]:
    """Return a foreign key to a row of the same account. A distributed PostgreSQL does not support SET NULL on it."""
    if not is_postgresql():
        return reference(table, column, parent, on_delete)
    referred, name = [f"{parent}.id", f"{parent}.account"], op.f(f"{table}_{column}_fk")
    cascade = "CASCADE" if on_delete == "CASCADE" else None
    return [sa.ForeignKeyConstraint([column, "account"], referred, name=name, ondelete=cascade)]


def _with_account(*names: str) -> tuple[str, ...]:
    """Return the columns of a key: on PostgreSQL with the account (ADR 11), except for hosts, which are global."""
    is_complete = not is_postgresql() or {"account", "host"} & set(names)
    return names if is_complete else (*names, "account")


def is_postgresql() -> bool:
    """Return whether the migration runs on PostgreSQL."""
    return op.get_bind().dialect.name == "postgresql"
