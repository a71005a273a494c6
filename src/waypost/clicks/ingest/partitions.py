"""The tables of the clicks in pieces by time, on PostgreSQL: to forget a day is to drop a table (ADR 11).

Whatever has no piece of its own falls into the one called `_rest`, so nothing depends on a piece being there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import Connection, text

from waypost import clock
from waypost.clicks.ingest.aggregate import DAY
from waypost.db.postgres import partition_names

_EPOCH = date(1970, 1, 1)
_LOCK = 0x70617274  # any number that nobody else locks by
_OLDEST, _NEWEST = 3700, 3  # days from today that a piece is made for: a clock that is far off makes none


@dataclass(frozen=True)
class _Split:
    """How a table is cut: its column, how many of it are a day, and whether a piece is a day or a month."""

    column: str
    a_day: int
    is_monthly: bool


_SPLITS = {
    "events": _Split("at_ms", DAY * 1000, is_monthly=False),
    "visitors": _Split("day", 1, is_monthly=False),
    "click_times": _Split("at", DAY, is_monthly=True),
    "click_labels": _Split("day", 1, is_monthly=True),
}
_FORGOTTEN = {"events", "visitors"}


def days_in(table: str, values: Iterable[int]) -> set[int]:
    """The days of values of the column that a table is cut by; none for a table that is not cut."""
    split = _SPLITS.get(table)
    return {value // split.a_day for value in values} if split else set()


def column_of(table: str) -> str | None:
    """The column that a table is cut by."""
    split = _SPLITS.get(table)
    return split.column if split else None


def ensure(tx: Connection, days: Iterable[int], tables: Iterable[str] = tuple(_SPLITS)) -> None:
    """Make the pieces for these days (since 1970), in a transaction for nothing else. Nothing with SQLite."""
    today = clock.now() // DAY
    wanted = [day for day in sorted(set(days)) if -_OLDEST <= day - today <= _NEWEST]
    if tx.dialect.name != "postgresql" or not wanted:
        return
    tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    there = set(partition_names(tx))
    for table in tables:
        split = _SPLITS[table]
        for day in wanted:
            first, after = _bounds(day, is_monthly=split.is_monthly)
            name = f"{table}_{_date(first):%Y%m%d}"
            if name in there:
                continue
            there.add(name)
            low, high = first * split.a_day, after * split.a_day
            rest = text(f"SELECT 1 FROM {table}_rest WHERE {split.column} >= :low AND {split.column} < :high LIMIT 1")  # noqa: S608  # our own names
            if tx.execute(rest, {"low": low, "high": high}).first() is None:
                tx.execute(text(f"CREATE TABLE {name} PARTITION OF {table} FOR VALUES FROM ({low}) TO ({high})"))


def drop_before(tx: Connection, table: str, day: int) -> None:
    """Drop the pieces of `events` or `visitors` that end before a day (since 1970). Nothing with SQLite."""
    assert table in _FORGOTTEN
    for name in partition_names(tx):
        of, _, written = name.rpartition("_")
        if of == table and written.isdecimal() and _day(written) < day:
            tx.execute(text(f"DROP TABLE {name}"))


def _bounds(day: int, *, is_monthly: bool) -> tuple[int, int]:
    """The first day of a piece, and the day after its last."""
    if not is_monthly:
        return day, day + 1
    first = _date(day).replace(day=1)
    after = (first + timedelta(days=32)).replace(day=1)
    return (first - _EPOCH).days, (after - _EPOCH).days


def _date(day: int) -> date:
    return _EPOCH + timedelta(days=day)


def _day(written: str) -> int:
    return (datetime.strptime(written, "%Y%m%d").replace(tzinfo=UTC).date() - _EPOCH).days
