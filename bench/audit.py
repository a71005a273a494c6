"""Pages of a long audit log on SQLite and PostgreSQL: `python -m bench.audit [--rows N]`.

One account has nine tenths of the events of a year, on PostgreSQL in partitions of a month. Each kind of page is read
from an open database, one at a time; times are of the query with its rows. The exit status is the number of 95th
percentiles over the limit: of the first page and of the history of a link. Other filters read 20,000 events at most.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import quantiles

from sqlalchemy import Connection, text

from tests.support.postgres import FAST_OPTIONS, own_postgres
from waypost.audit import log
from waypost.audit.log import AuditFilter
from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_LIMIT_MS = 20.0
_PAGE, _READINGS = 50, 40
_ACCOUNT, _ITEMS = 1, 50_000
_DAYS = 365
_BEGIN = (clock.now() // DAY - _DAYS) * DAY
_AT_ONCE = 100_000
_INSERT = """
INSERT INTO audit (at, account, name, kind, item, label, origin, actor, key, network, after, salt, position)
SELECT {begin} + n * {seconds} / {rows}, CASE WHEN n % 10 = 0 THEN 2 ELSE 1 END,
  'link.' || CASE n % 4 WHEN 0 THEN 'created' WHEN 3 THEN 'deleted' ELSE 'updated' END,
  'link', n * 7919 % {items}, 'Spring sale ' || n * 7919 % {items}, 'api', 1, 'wp_1a2b3c', '9f86d081884c7d65',
  '{{"url": "https://shop.example/spring"}}', 'f3a1c5d2e4b60718293a4b5c6d7e8f90', n
FROM {numbers}
"""
_SQLITE_NUMBERS = (
    "(WITH RECURSIVE numbers(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {end})"
    " SELECT n FROM numbers)"
)
_POSTGRES_NUMBERS = "generate_series(CAST({first} AS bigint), {end} - 1) AS n"
_LIMITED = ("first page", "history of a link")
_PAGES = {
    "first page": AuditFilter(),
    "history of a link": AuditFilter(kind="link", item=7),
    "an event": AuditFilter(name="link.deleted"),
    "a day": AuditFilter(first=_BEGIN + 200 * DAY, last=_BEGIN + 201 * DAY),
    "a word of a name": AuditFilter(q="sale 77"),
    "no event": AuditFilter(origin="agent"),
}


def main() -> None:
    """Fill, read and print for both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="number of events in the log")
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, own_postgres(*FAST_OPTIONS) as postgres:
        over_limit = _measure(f"sqlite:///{Path(name) / 'waypost.db'}", rows)
        over_limit += _measure(f"{postgres.url}/postgres", rows)
    sys.exit(over_limit)


def _measure(url: str, rows: int) -> int:
    """Print the times of each kind of page; return the number of those over the limit."""
    database = Database(url)
    upgrade(database)
    days = set(range(_BEGIN // DAY, _BEGIN // DAY + _DAYS))
    database.write(lambda tx: partitions.ensure(tx, days, ["audit"]))
    for first in range(0, rows, _AT_ONCE):
        database.write(partial(_insert, first=first, end=min(rows, first + _AT_ONCE), rows=rows))
    print(
        f"{'SQLite' if url.startswith('sqlite') else 'PostgreSQL'}, {rows:,} events: median and 95th percentile in ms"
    )
    over_limit = sum(_read(database, label, audit_filter) for label, audit_filter in _PAGES.items())
    database.close()
    return over_limit


def _insert(tx: Connection, *, first: int, end: int, rows: int) -> None:
    form = _SQLITE_NUMBERS if tx.dialect.name == "sqlite" else _POSTGRES_NUMBERS
    numbers = form.format(first=first, end=end)
    values = {"begin": _BEGIN, "seconds": _DAYS * DAY, "rows": rows, "items": _ITEMS, "numbers": numbers}
    tx.execute(text(_INSERT.format(**values)))


def _read(database: Database, label: str, audit_filter: AuditFilter) -> bool:
    """Print the percentiles of one kind of page; return whether they are over the limit."""
    durations = []
    for _ in range(_READINGS + 1):
        started = time.perf_counter()
        page = database.read(lambda tx: log.page(tx, _ACCOUNT, audit_filter, limit=_PAGE))
        durations.append((time.perf_counter() - started) * 1000)
    percentiles = quantiles(durations[1:], n=20)  # the first reads the plan and the file
    is_over = label in _LIMITED and percentiles[18] > _LIMIT_MS
    counts = f"{len(page.entries):3} events"
    print(f"{label:20} {counts} {percentiles[9]:8.1f} {percentiles[18]:8.1f}{'  OVER' if is_over else ''}", flush=True)
    return is_over


if __name__ == "__main__":
    main()
