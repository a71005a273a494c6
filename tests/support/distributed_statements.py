"""Fails a test if a statement of the service would reach all nodes of a Citus cluster, or could not run there (ADR 11).

A statement limits each distributed table to values of its distribution column, or joins it by that column. It does not
join tables with different ones, and it is not sent if a list of ids is empty.
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
from waypost.db.distribution import BY_HOST, COLUMN, ITEMS, STATISTICS

_SERVICE = Path(waypost.__file__).parent
_COLUMNS = {**dict.fromkeys((*STATISTICS, *ITEMS), COLUMN), BY_HOST: "host"}
"""The distribution column of each distributed table."""
_REACH_ALL_NODES = {
    "admin/health.py": "reads the newest link of all accounts",
    "clicks/blocks/compaction.py": "finds the accounts with visits, and removes expired blocks of all accounts",
    "clicks/ingest/ingester.py": "removes expired rows of all accounts; finds out at the start whether there are any",
    "clicks/stats/verify.py": "compares the totals of all accounts with their visits",
    "db/database.py": "calls the functions of tests",
    "db/due_times.py": "corrects times of a clock that was ahead, of all accounts",
    "email_reports/surges.py": "finds the accounts with unusually many clicks, once an hour",
    "items/campaigns/list_page.py": "finds the campaign of a list page, whose address has no account",
    "items/files/deletion.py": "finds the file of a link for its deletion",
    "items/links/dead_links.py": "checks the destinations of all accounts",
    "items/links/expiry_events.py": "finds the links of all accounts that have expired",
    "items/shares/lookup.py": "finds shared statistics by their address",
    "storage/cleanup.py": "finds expired files and downloads of all accounts",
    "storage/factory.py": "finds out whether there are files",
    "transfer/backup/files.py": "copies the files of an installation",
    "transfer/migrate/storage.py": "copies the files of an installation",
    "trash/ops.py": "finds what has been in the trash for 30 days, and all files in it",
    "visits/link_record.py": "finds the overlay of a form that a visitor sends",
    "transfer/backup/tables.py": "copies the tables of an installation",
    "transfer/exports/archive.py": "copies the aliases of an account, which are distributed by host",
    "transfer/migrate/database.py": "copies the tables of an installation",
}
"""Modules whose statements may concern all accounts, and why."""
_INDEXED = re.compile(r"@> links_search_keys\([^,]*, %\(\w+\)s")
"""The account as a key of the search index. A statement for a cluster names it as a column, too."""
_EMPTY = " AND (1 != 1)"
"""The condition of SQLAlchemy for a column that is in an empty list."""
_USES_ROWS = re.compile(r"\W*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", re.IGNORECASE)
_PARAMETER = re.compile(r"%\([^)]*\)s|%s")
_DRIVERS = re.compile(r"[/\\](sqlalchemy|psycopg)[/\\]|[/\\](statements|distributed_statements)\.py$")
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
    named = psycopg.ServerCursor.execute

    def checked_named(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        _check(query)
        return named(cursor, query, *args, **options)

    setattr(psycopg.ServerCursor, "execute", checked_named)  # noqa: B010  # mypy knows it as a method


@pytest.fixture(autouse=True)
def _statements_name_the_account() -> Iterator[None]:
    yield
    faults = [*_faults]
    _faults.clear()
    assert faults == []


def _check(query: Any) -> None:
    if not isinstance(query, str):
        return
    if _EMPTY in query and "OUTER JOIN" in query:  # Citus rejects it on PostgreSQL 16
        _faults.append(f"{_module()} selects no row: {query}")
    if not (tables := tables_of_all_accounts(query)):
        return
    module = _module()
    if module is not None and module not in _REACH_ALL_NODES and not module.startswith("db/migrations/"):
        _faults.append(f"{module} uses rows of {', '.join(tables)} of all nodes, or joins them wrongly: {query}")


def _module() -> str | None:
    """Return the module of the service that executes a statement; None for a test."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _DRIVERS.search(frame.f_code.co_filename):
        frame = frame.f_back
    path = Path(frame.f_code.co_filename)
    return path.relative_to(_SERVICE).as_posix() if path.is_relative_to(_SERVICE) else None


@cache
def tables_of_all_accounts(statement: str) -> tuple[str, ...]:
    """Return the distributed tables of which a statement uses rows of any account, or which it joins wrongly."""
    if not _USES_ROWS.match(statement) or _INDEXED.search(statement):
        return ()
    if not any(name in statement for name in _COLUMNS):
        return ()
    tree = sqlglot.parse_one(_PARAMETER.sub("$1", statement).replace("%%", "%"), dialect="postgres")
    if not isinstance(tree, exp.Query | exp.DML):
        return ()
    tables = [table for table in tree.find_all(exp.Table) if table.name in _COLUMNS]
    return tuple(table.name for table in tables if not _is_limited(table) or _is_joined_with_others(table, tables))


def _part_of(table: exp.Table) -> Any:
    """Return the part of the statement that names the table."""
    return table.find_ancestor(exp.Select, exp.DML)


def _is_joined_with_others(table: exp.Table, tables: list[exp.Table]) -> bool:
    """Return whether a part of the statement joins the table with one of another distribution column."""
    others = [other for other in tables if _COLUMNS[other.name] != _COLUMNS[table.name]]
    return any(_part_of(other) is _part_of(table) for other in others)


def _is_limited(table: exp.Table) -> bool:
    """Return whether the part of the statement that names the table compares the table's distribution column."""
    part, column = _part_of(table), _COLUMNS[table.name]
    if isinstance(part, exp.Insert):
        return column in [each.name for each in part.this.expressions]
    return any(_compares(condition, table.alias_or_name, column) for condition in _conditions(part))


def _compares(condition: Any, table: str, column: str) -> bool:
    """Return whether a condition is an equation of the table's distribution column, or a list of its values."""
    if isinstance(condition, exp.Identifier):  # of USING
        return condition.name == column
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ) else (condition.this,)
    return isinstance(condition, exp.EQ | exp.In) and any(
        isinstance(side, exp.Column) and side.name == column and side.table in ("", table) for side in sides
    )


def _conditions(part: Any) -> Iterator[Any]:
    """Yield the conditions that all rows of a part of a statement meet."""
    conditions = [where.this] if (where := part.args.get("where")) else []
    for join in part.args.get("joins") or ():
        conditions += [*filter(None, [join.args.get("on")]), *join.args.get("using", ())]
    for condition in conditions:
        yield from condition.flatten() if isinstance(condition, exp.And) else (condition,)
