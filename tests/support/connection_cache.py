"""Caches that outlive a test, as they outlive a request in a running service.

With UNPATCHED_LIBRARIES=1 in the environment no library is patched; the tests pass more slowly.
"""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import Any

import starlette.routing
from sqlalchemy import create_engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

import waypost.db.connection_pool
import waypost.db.sqlite_pool
from waypost.db.database import Database


def share_compiled_statements() -> None:
    """Compile each SQL statement once per dialect and each route's path once, instead of once per test.

    SQLAlchemy shares compiled statements between engines only if their dialects are equal.
    """
    if os.environ.get("UNPATCHED_LIBRARIES"):
        return
    starlette.routing.compile_path = cache(starlette.routing.compile_path)
    for dialect in (PGDialect_psycopg, SQLiteDialect_pysqlite):
        dialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
        dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign, assignment]
    compiled: dict[Any, Any] = {}
    for module in (waypost.db.sqlite_pool, waypost.db.connection_pool):
        module.create_engine = partial(create_engine, execution_options={"compiled_cache": compiled})  # type: ignore[attr-defined]


class ConnectionCache:
    """Open PostgreSQL databases by role and URL, reused by later tests: a connection costs the server at least 5 ms."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _CachedDatabase] = {}

    @contextmanager
    def open(self, role: str, url: str) -> Iterator[Database]:
        """Open a database for the block. SQLite files are never cached."""
        if not url.startswith("postgresql"):
            with closing(Database(url)) as database:
                yield database
            return
        cached = self._open.pop((role, url), None) or _CachedDatabase(url)
        yield cached
        if cached.breaker.has_failures:
            cached.close_connections()
        else:
            self._open[role, url] = cached

    def close(self) -> None:
        """Close all connections."""
        for database in self._open.values():
            database.close_connections()


class _CachedDatabase(Database):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url}?application_name=connection_cache")

    def close(self) -> None:
        """Keep the connections open although the service closes its database."""

    def close_connections(self) -> None:
        super().close()
