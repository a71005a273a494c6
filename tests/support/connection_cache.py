"""What goes from test to test, since a process that serves for weeks does not begin anew with each request either."""

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


def compile_once() -> None:
    """Compile a statement once for each kind of database, not once for each test's; and the path of a route once.

    SQLAlchemy has such a store for each engine, and one for several when their dialects are the same.
    """
    starlette.routing.compile_path = cache(starlette.routing.compile_path)
    for dialect in (PGDialect_psycopg, SQLiteDialect_pysqlite):
        dialect.__eq__ = lambda one, other: type(one) is type(other)  # type: ignore[method-assign]
        dialect.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign, assignment]
    compiled: dict[Any, Any] = {}
    for module in (waypost.db.sqlite_pool, waypost.db.connection_pool):
        module.create_engine = partial(create_engine, execution_options={"compiled_cache": compiled})  # type: ignore[attr-defined]


class Kept:
    """Connections to PostgreSQL, by who uses them and for what database: each costs the server 5 ms or more."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Open] = {}

    @contextmanager
    def opened(self, who: str, url: str) -> Iterator[Database]:
        """The database, open for as long as the block runs. A SQLite file is opened anew."""
        if not url.startswith("postgresql"):
            with closing(Database(url)) as new:
                yield new
            return
        database = self._open.pop((who, url), None) or _Open(url)
        yield database
        if database.is_well:
            self._open[who, url] = database
        else:
            database.end()

    def close(self) -> None:
        """End them."""
        for database in self._open.values():
            database.end()


class _Open(Database):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url}?application_name=kept")

    def close(self) -> None:
        """They stay open: the service closes its database when it ends."""

    def end(self) -> None:
        super().close()

    @property
    def is_well(self) -> bool:
        """Whether the next test meets it as if it were new."""
        return not self.breaker.has_failures
