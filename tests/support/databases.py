"""Marks that run a test on one database only, where the database makes no difference or all of it; damage of a file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
_DAMAGED_BYTES = 0xA5


def damage_table(file: Path, name: str) -> None:
    """Overwrite the first page of a table or an index of a SQLite file, as a broken disk does."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        # With every open connection, the pages that are in its cache are read again.
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file.open("r+b") as opened:
        opened.seek((page - 1) * size)
        opened.write(bytes([_DAMAGED_BYTES]) * size)
