"""The columns that tables are made of. A default is a field's empty value (decision 4)."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, Text
from sqlalchemy.schema import SchemaItem

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
