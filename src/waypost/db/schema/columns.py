"""Column types shared by all tables, and PostgreSQL's keys with the account.

The tables declare the keys of SQLite. On PostgreSQL this module appends the account to every primary key, unique
constraint and foreign key that does not contain it (ADR 11).
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ForeignKeyConstraint, PrimaryKeyConstraint, SchemaItem, UniqueConstraint
from sqlalchemy.sql.compiler import DDLCompiler

from waypost.core.text_folding import folded

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)
# SQLite generates ids only in a column of type INTEGER; PostgreSQL needs BIGINT for 64 bits.
Id = BigInteger().with_variant(Integer, "sqlite")
IS_TIME = "is_time"
"""The key of `Column.info` for times."""
CREATED = "Time of creation, UTC."
HOST = "Branded domain; empty for the own host of the service."


def id_column(doc: str = "Id.") -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True, doc=doc)


def string(name: str, default: str = "", *, doc: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=False, default=default, doc=doc)


def flag(name: str, *, doc: str | None = None) -> Column[bool]:
    return Column(name, Boolean, nullable=False, default=False, doc=doc)


def number(name: str, default: int = 0, *, doc: str | None = None) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=default, doc=doc)


def timestamp(name: str, *, optional: bool = False, doc: str | None = None) -> Column[int]:
    """A time in seconds since 1970, UTC; exports write it as text."""
    return Column(name, BigInteger, nullable=optional, doc=doc, info={IS_TIME: True})


def parent(name: str, table: str, on_delete: str, *, doc: str | None = None) -> Column[int]:
    key = ForeignKey(f"{table}.id", ondelete=on_delete)
    return Column(name, Id, key, nullable=on_delete == "SET NULL", doc=doc)


def name_key() -> Column[str | None]:
    """The folded form of the column `name` (waypost.db.crud)."""
    return Column("name_key", Text, default=_folded_name)


def _folded_name(context: Any) -> str:
    return folded(context.current_parameters["name"])


def inherited_account() -> Column[int]:
    """The account of a part; the foreign key ensures that it is the account of the whole."""
    return Column("account", Id, nullable=False)


def owned(name: str, *columns: SchemaItem, id_doc: str = "Id.") -> Table:
    """A table whose rows belong to an account and are listed newest first."""
    return Table(
        name,
        metadata,
        id_column(id_doc),
        parent("account", "accounts", "CASCADE"),
        *columns,
        timestamp("created", doc=CREATED),
        Index(f"{name}_account_id", "account", "id"),
        sqlite_autoincrement=True,  # ids are never reused, so that no click of a deleted row counts for a new one
    )


@compiles(PrimaryKeyConstraint, "postgresql")
def _primary_key(constraint: PrimaryKeyConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    return _with_account(constraint, compiler, "PRIMARY KEY") or compiler.visit_primary_key_constraint(constraint)


@compiles(UniqueConstraint, "postgresql")
def _unique(constraint: UniqueConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    return _with_account(constraint, compiler, "UNIQUE") or compiler.visit_unique_constraint(constraint)


@compiles(ForeignKeyConstraint, "postgresql")
def _foreign_key(constraint: ForeignKeyConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    """Reference rows of the same account only.

    SET NULL is left to the resources' ops: a distributed PostgreSQL does not support it here (ADR 11).
    """
    referred, columns = constraint.referred_table, [column.name for column in constraint.columns]
    if not (_has_account(constraint.table) and "account" in referred.c):
        return compiler.visit_foreign_key_constraint(constraint)
    referred_columns = [element.column.name for element in constraint.elements]
    reference = f"FOREIGN KEY ({_list(columns)}) REFERENCES {referred.name} ({_list(referred_columns)})"
    on_delete = " ON DELETE CASCADE" if constraint.ondelete == "CASCADE" else ""
    return f"CONSTRAINT {compiler.preparer.format_constraint(constraint)} {reference}{on_delete}"


def _with_account(constraint: PrimaryKeyConstraint | UniqueConstraint, compiler: DDLCompiler, kind: str) -> str | None:
    names = [column.name for column in constraint.columns]
    if not names or not _has_account(constraint.table) or {"account", "host"} & set(names):
        return None
    return f"CONSTRAINT {compiler.preparer.format_constraint(constraint)} {kind} ({_list(names)})"


def _has_account(table: Table) -> bool:
    """Return whether the table is one of this schema, not of a migration, with an account in every row."""
    return table.metadata is metadata and "account" in table.c and not table.c.account.nullable


def _list(names: Iterable[str]) -> str:
    return ", ".join([*names, "account"])
