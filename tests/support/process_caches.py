"""Results that every service computes again, kept for all services of a process that runs tests.

They depend on the code only, and cost more than the check of most tests: patterns of routes, and the SQL of statements.
The routes of the dashboard are created with its first request, because most tests send none.
"""

import inspect
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any
from unittest.mock import patch

import starlette.routing
from sqlalchemy import Engine
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from waypost.dashboard.app import Dashboard
from waypost.db import sqlite_file

_MAX_STATEMENTS = 5_000
_statements: LRUCache[Any, Any] = LRUCache(_MAX_STATEMENTS)
_create = sqlite_file.create
_dashboard = Dashboard.app
_is_async: Callable[[Any], bool] = vars(starlette.routing)["is_async_callable"]


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
    patch.object(starlette.routing, "is_async_callable", _is_async_callable).start()
    patch.object(Dashboard, "app", _delayed).start()
    sqlite_file.create = _create_sharing_engine


def _create_sharing_engine(*arguments: Any, **options: Any) -> Engine:
    engine = _create(*arguments, **options)
    engine.dialect.__class__ = _EqualDialect
    engine.update_execution_options(compiled_cache=_statements)
    return engine


def _is_async_callable(called: Any) -> bool:
    """Read the flag of a function, which Starlette finds in a tenth of a millisecond."""
    return bool(called.__code__.co_flags & inspect.CO_COROUTINE) if inspect.isfunction(called) else _is_async(called)


def _delayed(dashboard: Dashboard) -> "_FirstRequest":
    return _FirstRequest(dashboard)


class _FirstRequest:
    """A dashboard whose routes are created with the first request."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    @cached_property
    def _app(self) -> Starlette:
        return _dashboard(self._dashboard)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
