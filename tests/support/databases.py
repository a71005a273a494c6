"""Marks that run a test on one database only, where the database makes no difference or all of it; damage of a file."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
ON_BOTH_DATABASES = pytest.mark.both_databases
"""In the folders whose other tests run on SQLite only: the SQL of these differs, or they are about races."""
_SQLITE_FOLDERS = ("api", "campaigns", "dashboard", "exports", "files", "http", "links", "mcp", "moderation", "visits")
"""Other tests execute the same SQL on PostgreSQL: tests/contract every endpoint, and the marked ones what differs."""
_DAMAGED_BYTES = 0xA5


def is_left_out(item: pytest.Item) -> bool:
    """Return whether a test is on PostgreSQL although its folder is tested on SQLite only."""
    callspec = getattr(item, "callspec", None)
    is_on_postgresql = callspec is not None and callspec.params.get("database_url") == "postgresql"
    is_marked = any(item.iter_markers("both_databases")) or any(
        "database_url" in mark.args[0] for mark in item.iter_markers("parametrize")
    )
    return is_on_postgresql and item.path.parent.name in _SQLITE_FOLDERS and not is_marked


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
