"""Fails a test if a statement of the service would reach all nodes of a Citus cluster, or could not run there (ADR 11).

A statement limits each distributed table to values of the distribution column, or joins it by that column.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlglot
from sqlglot import exp

import waypost
from waypost.db.distribution import COLUMN, TABLES

_SERVICE = Path(waypost.__file__).parent
_REACH_ALL_NODES = {
    "clicks/blocks/compaction.py": "finds the accounts with visits, and removes expired blocks of all accounts",
    "clicks/ingest/ingester.py": "removes expired rows of all accounts; finds out at the start whether there are any",
    "clicks/stats/verify.py": "compares the totals of all accounts with their visits",
    "transfer/backup/tables.py": "copies the tables of an installation",
    "transfer/migrate/database.py": "copies the tables of an installation",
}
"""Modules whose statements may concern all accounts, and why."""
_PARAMETER = re.compile(r"%\([^)]*\)s|%s")
_DRIVERS = re.compile(r"[/\\](sqlalchemy|psycopg)[/\\]|[/\\](driver_statements|distributed_statements)\.py$")
_faults: list[str] = []


def pytest_configure() -> None:
    """Check each statement that the driver of PostgreSQL sends."""
    execute, executemany = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def checked_execute(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        _check(query)
        return execute(cursor, query, *args, **options)

    def checked_executemany(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        _check(query)
        return executemany(cursor, query, *args, **options)

    for name, checked in (("execute", checked_execute), ("executemany", checked_executemany)):
        setattr(psycopg.Cursor, name, checked)


@pytest.fixture(autouse=True)
def _statements_name_the_account() -> Iterator[None]:
    yield
    faults = [*_faults]
    _faults.clear()
    assert faults == []


def _check(query: Any) -> None:
    if not isinstance(query, str) or not (tables := tables_of_all_accounts(query)):
        return
    module = _module()
    if module is not None and module not in _REACH_ALL_NODES:
        _faults.append(f"{module} reads or changes rows of {', '.join(tables)} without naming their {COLUMN}: {query}")


def _module() -> str | None:
    """Return the module of the service that executes a statement; None for a test."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _DRIVERS.search(frame.f_code.co_filename):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    return path.relative_to(_SERVICE).as_posix() if path.is_relative_to(_SERVICE) else None


@cache
def tables_of_all_accounts(statement: str) -> tuple[str, ...]:
    """Return the distributed tables of which a statement uses rows of any account."""
    if not any(name in statement for name in TABLES):
        return ()
    tree = sqlglot.parse_one(_PARAMETER.sub("$1", statement).replace("%%", "%"), dialect="postgres")
    if not isinstance(tree, exp.Query | exp.DML):
        return ()
    return tuple(table.name for table in tree.find_all(exp.Table) if table.name in TABLES and not _is_limited(table))


def _is_limited(table: exp.Table) -> bool:
    """Return whether the part of the statement that names the table compares the table's distribution column."""
    part = table.find_ancestor(exp.Select, exp.DML)
    if isinstance(part, exp.Insert):
        return COLUMN in [column.name for column in part.this.expressions]
    return any(_compares(condition, table.alias_or_name) for condition in _conditions(part))


def _compares(condition: Any, table: str) -> bool:
    """Return whether a condition is an equation of the table's distribution column, or a list of its values."""
    if isinstance(condition, exp.Identifier):  # of USING
        return condition.name == COLUMN
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else (condition.this,)
    return isinstance(condition, exp.EQ | exp.In) and any(
        isinstance(side, exp.Column) and side.name == COLUMN and side.table in ("", table) for side in sides
    )


def _conditions(part: Any) -> Iterator[Any]:
    """Yield the conditions that all rows of a part of a statement meet."""
    conditions = [where.this] if (where := part.args.get("where")) else []
    for join in part.args.get("joins") or ():
        conditions += [*filter(None, [join.args.get("on")]), *join.args.get("using", ())]
    for condition in conditions:
        yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)
