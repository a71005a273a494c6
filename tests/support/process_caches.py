"""Results that every service computes again, kept for all services of a process that runs tests.

They depend on the code only, and cost more than the check of most tests: patterns of routes, and the SQL of statements.
"""

from functools import cache
from typing import Any

import starlette.routing
from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from waypost.db import sqlite_pool

_MAX_STATEMENTS = 5_000
_statements: LRUCache[Any, Any] = LRUCache(_MAX_STATEMENTS)
_create = sqlite_pool.create


class _EqualDialect(SQLiteDialect_pysqlite):
    """Dialects that are equal, because the dialect is a part of the key of each statement."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(_EqualDialect)


def share() -> None:
    """Share them from now on. Not the SQL of PostgreSQL, whose tests share connections, which keep it."""
    starlette.routing.compile_path = cache(starlette.routing.compile_path)
    sqlite_pool.create = _create_sharing_engine


def _create_sharing_engine(*arguments: Any, **options: Any) -> Engine:
    engine = _create(*arguments, **options)
    engine.dialect.__class__ = _EqualDialect
    engine.update_execution_options(compiled_cache=_statements)
    return engine
