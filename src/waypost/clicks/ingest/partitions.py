"""Time partitions on PostgreSQL of clicks and the audit log: expired rows are deleted by dropping a table (ADR 11).

Rows without a partition of their own are stored in the default partition `<table>_rest`, so inserts never depend on a
partition being present.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, text

from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.db.postgres import partition_names

_EPOCH = date(1970, 1, 1)
_LOCK_KEY = 0x70617274  # advisory lock of this module
_MAX_PAST_DAYS, _MAX_FUTURE_DAYS = 3700, 3  # from today; a wrong clock creates no partitions


@dataclass(frozen=True)
class _Scheme:
    """Partitioning of a table: its key column, units of that column per day, and the partition's length."""

    column: str
    units_per_day: int
    is_monthly: bool


_SCHEMES = {
    "events": _Scheme("at_ms", DAY * 1000, is_monthly=False),
    "visitors": _Scheme("day", 1, is_monthly=False),
    "click_times": _Scheme("at", DAY, is_monthly=True),
    "click_labels": _Scheme("day", 1, is_monthly=True),
    "audit": _Scheme("at", DAY, is_monthly=True),
}
_CLICKS = ("events", "visitors", "click_times", "click_labels")
_DROPPABLE = {"events", "visitors", "audit"}


def ensure(tx: Connection, days: Set[int], tables: Iterable[str] = _CLICKS) -> None:
    """Create the partitions of these days (since 1970), in a transaction of its own. No-op on SQLite."""
    today = clock.now() // DAY
    allowed_days = [day for day in sorted(days) if -_MAX_PAST_DAYS <= day - today <= _MAX_FUTURE_DAYS]
    if tx.dialect.name != "postgresql" or not allowed_days:
        return
    tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    existing = set(partition_names(tx))
    for table in tables:
        scheme = _SCHEMES[table]
        for day in allowed_days:
            first, end = _bounds(day, is_monthly=scheme.is_monthly)
            name = f"{table}_{_date(first):%Y%m%d}"
            if name in existing:
                continue
            existing.add(name)
            low, high = first * scheme.units_per_day, end * scheme.units_per_day
            in_range = f"{scheme.column} >= {low} AND {scheme.column} < {high}"
            if tx.execute(text(f"SELECT 1 FROM {table}_rest WHERE {in_range} LIMIT 1")).first() is None:  # noqa: S608  # constant names and numbers
                tx.execute(text(f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({low}) TO ({high})"))


def ensure_for_rows(tx: Connection, table: str, rows: Iterable[Mapping[Any, Any]]) -> None:
    """Create the partitions of these rows. No-op for tables without partitions, and on SQLite."""
    if scheme := _SCHEMES.get(table):
        ensure(tx, {row[scheme.column] // scheme.units_per_day for row in rows}, [table])


def drop_before(tx: Connection, table: str, day: int) -> None:
    """Drop the partitions of a table whose last day is before `day` (since 1970). No-op on SQLite."""
    assert table in _DROPPABLE
    for name in before(tx, table, day):
        tx.execute(text(f"DROP TABLE {name}"))


def before(tx: Connection, table: str, day: int) -> list[str]:
    """Return the partitions of a table whose last day is before `day` (since 1970); none on SQLite."""
    names = []
    for name in partition_names(tx):
        parent, _, suffix = name.rpartition("_")
        if parent == table and suffix.isdecimal():
            _, end = _bounds(_day(date.fromisoformat(suffix)), is_monthly=_SCHEMES[table].is_monthly)
            if end <= day:
                names.append(name)
    return names


def _bounds(day: int, *, is_monthly: bool) -> tuple[int, int]:
    """Return the first day of the partition of `day`, and the day after its last."""
    if not is_monthly:
        return day, day + 1
    first = _date(day).replace(day=1)
    return _day(first), _day((first + timedelta(days=32)).replace(day=1))


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=day)


def _day(day: date) -> int:
    return (day - _EPOCH).days
