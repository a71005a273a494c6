"""The columns that tables are made of. A default is a field's empty value (decision 4).

The tables say what SQLite has. PostgreSQL has the same, but that the account joins every key (ADR 11): this module adds
it there to keys, unique constraints and foreign keys, last, where it is not said.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import ForeignKeyConstraint, PrimaryKeyConstraint, SchemaItem, UniqueConstraint
from sqlalchemy.sql.compiler import DDLCompiler

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pk",
        "fk": "%(table_name)s_%(column_0_name)s_fk",
        "uq": "%(table_name)s_%(column_0_N_name)s_unique",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)
# SQLite numbers rows by itself only in a column of type INTEGER; PostgreSQL wants 64 bits said aloud.
Id = BigInteger().with_variant(Integer, "sqlite")


def id_column() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def words(name: str, default: str = "") -> Column[str]:
    return Column(name, Text, nullable=False, default=default)


def flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, default=False)


def number(name: str, default: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=default)


def moment(name: str, *, optional: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=optional)


def parent(name: str, table: str, on_delete: str) -> Column[int]:
    return Column(name, Id, ForeignKey(f"{table}.id", ondelete=on_delete), nullable=on_delete == "SET NULL")


def whose() -> Column[int]:
    """The account of what is a part of something: that of the whole, which the foreign key holds it to."""
    return Column("account", Id, nullable=False)


def owned(name: str, *parts: SchemaItem) -> Table:
    """A table whose rows belong to an account and are listed newest first."""
    return Table(
        name,
        metadata,
        id_column(),
        parent("account", "accounts", "CASCADE"),
        *parts,
        moment("created"),
        Index(f"{name}_account_id", "account", "id"),
        sqlite_autoincrement=True,  # an id is never used twice, so nothing counted for the old one can meet the new
    )


@compiles(PrimaryKeyConstraint, "postgresql")
def _key(constraint: PrimaryKeyConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    return _with_account(constraint, compiler, "PRIMARY KEY") or compiler.visit_primary_key_constraint(constraint)


@compiles(UniqueConstraint, "postgresql")
def _unique(constraint: UniqueConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    return _with_account(constraint, compiler, "UNIQUE") or compiler.visit_unique_constraint(constraint)


@compiles(ForeignKeyConstraint, "postgresql")
def _foreign_key(constraint: ForeignKeyConstraint, compiler: DDLCompiler, **_options: Any) -> str:
    """Nothing refers to another account's. What is set to null by the nouns' ops is only held together here: a
    distributed PostgreSQL cannot do it (ADR 11)."""
    parent, own = constraint.referred_table, [column.name for column in constraint.columns]
    if not (_is_somebodys(constraint.table) and "account" in parent.c):
        return compiler.visit_foreign_key_constraint(constraint)
    there = [element.column.name for element in constraint.elements]
    refers = f"FOREIGN KEY ({_list(own)}) REFERENCES {parent.name} ({_list(there)})"
    on_delete = " ON DELETE CASCADE" if constraint.ondelete == "CASCADE" else ""
    return f"CONSTRAINT {compiler.preparer.format_constraint(constraint)} {refers}{on_delete}"


def _with_account(constraint: PrimaryKeyConstraint | UniqueConstraint, compiler: DDLCompiler, kind: str) -> str | None:
    names = [column.name for column in constraint.columns]
    if not names or not _is_somebodys(constraint.table) or {"account", "host"} & set(names):
        return None
    return f"CONSTRAINT {compiler.preparer.format_constraint(constraint)} {kind} ({_list(names)})"


def _is_somebodys(table: Table) -> bool:
    """Whether it is a table of ours, and not of a migration, with an account in every row."""
    return table.metadata is metadata and "account" in table.c and not table.c.account.nullable


def _list(names: Iterable[str]) -> str:
    return ", ".join([*names, "account"])
