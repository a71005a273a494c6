"""Filtered statistics of an account with many visits: `python -m bench.statistics [--visits N] [--postgresql]`.

Stores N visits of the last 30 days with mixed labels, writes the blocks of columns as the ingester does, and measures
the counts of each filter and the whole page that shows them, in process. Without filter, the page reads totals instead
of visits. The exit status is the number of filters whose median of the page is over the limit.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import Connection, delete, func, select

from bench.seed import fill
from tests.conftest import BASE
from tests.support.asgi_client import AsgiClient
from tests.support.postgres import FAST_OPTIONS, own_postgres
from waypost.auth import sessions
from waypost.clicks.blocks import compaction
from waypost.clicks.blocks.filtered_counts import count
from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY, QUARTER
from waypost.clicks.ingest.bulk_upsert import insert, transpose
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import events, leases, visit_blocks
from waypost.server.app import build

_LIMIT_MS = 300.0
_DAYS = 30
_READS = 7
_AT_ONCE = 50_000
_NAMES = (
    *("account", "kind", "item", "at_ms", "sort", "first"),
    *("country", "referrer", "browser", "os", "device", "language", "source"),
)
_AGENTS = [
    (browser, system, device)
    for browser in ("Chrome", "Safari", "Firefox", "Edge", "Samsung Internet", "Opera")
    for system, device in (("Windows", "Desktop"), ("macOS", "Desktop"), ("Android", "Mobile"), ("iOS", "Mobile"))
]
_FILTERS = {
    "country of 20 %": VisitFilter(labels={"country": "Country 0"}),
    "country of 1 %": VisitFilter(labels={"country": "Country 9"}),
    "device of 50 %": VisitFilter(labels={"device": "Mobile"}),
    "source of 80 %": VisitFilter(labels={"source": "link"}),
    "device and country": VisitFilter(labels={"device": "Mobile", "country": "Country 1"}),
    "link": VisitFilter(kind="link", item=1),
    "referrer and browser": VisitFilter(labels={"referrer": "site3.example", "browser": "Chrome"}),
    "no match": VisitFilter(labels={"country": "Atlantis"}),
}


def main() -> None:
    """Seed, compact, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=10_000_000, help="number of visits in the account")
    parser.add_argument("--links", type=int, default=2_000, help="number of visited links")
    parser.add_argument("--postgresql", action="store_true", help="measure PostgreSQL too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        over_limit = _measure(fill(Path(name) / "sqlite", options.links).folder, None, options.visits, options.links)
        if options.postgresql:
            with own_postgres(*FAST_OPTIONS, "-c", "shared_buffers=512MB") as postgres:
                url = f"{postgres.url}/postgres"
                folder = fill(Path(name) / "postgresql", options.links, url).folder
                over_limit += _measure(folder, url, options.visits, options.links)
    sys.exit(over_limit)


def _measure(folder: Path, url: str | None, visits: int, links: int) -> int:
    database = Database(url or f"sqlite:///{folder / 'waypost.db'}")
    now, account = clock.now() // QUARTER * QUARTER, 1
    began = time.perf_counter()
    for columns in _visits(account, visits, links, now):
        days = {ms // 1000 // DAY for ms in columns["at_ms"]}
        database.write(lambda tx: partitions.ensure(tx, days))  # noqa: B023  # called at once
        database.write(lambda tx: insert(tx, events, columns))  # noqa: B023  # called at once
    stored = time.perf_counter()
    while compaction.compact(database, events_days=_DAYS + 1, now=now):
        database.write(lambda tx: tx.execute(delete(leases)))
    compacted = time.perf_counter()
    size = database.read(lambda tx: tx.execute(select(func.sum(func.length(visit_blocks.c.content)))).scalar()) or 0
    print(f"{'PostgreSQL' if url else 'SQLite'}, {visits:,} visits in {_DAYS} days, {links:,} links")
    print(f"stored in {stored - began:.0f} s, compacted in {compacted - stored:.0f} s, {size / visits:.1f} B a visit")
    with AsgiClient(build(Settings(data_dir=folder, base_url=BASE, database_url=url or ""), database)) as client:
        client.cookies["waypost"] = database.write(lambda tx: sessions.begin(tx, account, agent="Chrome"))
        over_limit = sum(_measure_filter(database, client, label, account, now) for label in _FILTERS)
    database.close()
    return over_limit


def _measure_filter(database: Database, client: AsgiClient, label: str, account: int, now: int) -> bool:
    """Print the times of a filter. Return whether the page is over the limit."""
    visit_filter, count_times, page_times = _FILTERS[label], [], []
    item = {} if visit_filter.item is None else {"visited": f"{visit_filter.kind}-{visit_filter.item}"}
    query = {"period": str(_DAYS), **visit_filter.labels, **item}
    for _ in range(_READS):
        began = time.perf_counter()
        clicks = database.read(lambda tx: _clicks(tx, account, visit_filter, now))
        counted = time.perf_counter()
        response = client.get("/dashboard/statistics", params=query)
        count_times.append((counted - began) * 1000)
        page_times.append((time.perf_counter() - counted) * 1000)
        assert response.status_code == 200, response.text
        assert "active-filters" in response.text, query
    is_over = median(page_times) > _LIMIT_MS
    times = f"counts {median(count_times):5.0f} ms, page {median(page_times):5.0f}, at most {max(page_times):.0f}"
    print(f"{label:24} {clicks:12,} clicks {times}{'  OVER' if is_over else ''}", flush=True)
    return is_over


def _clicks(tx: Connection, account: int, visit_filter: VisitFilter, now: int) -> int:
    counts = count(tx, account, visit_filter, now - _DAYS * DAY, now)
    return sum(row[0] for row in counts.times.values())


def _visits(account: int, visits: int, links: int, now: int) -> Iterator[dict[str, Any]]:
    """Yield the visits in portions, oldest first; the labels have the skew of real ones."""
    draw = random.Random(2026)
    countries = [f"Country {n}" for n in range(60)]
    referrers = ["Direct", "Direct", *(f"site{n}.example" for n in range(150))]
    languages = [f"l{n}" for n in range(30)]
    span = _DAYS * DAY * 1000
    for start in range(0, visits, _AT_ONCE):
        rows = []
        for n in range(start, min(start + _AT_ONCE, visits)):
            at = now * 1000 - span + n * span // visits
            skewed = min(int(draw.expovariate(0.2)), 59)
            browser, system, device = draw.choice(_AGENTS)
            sort = "click" if draw.random() < 0.9 else "bot"
            item = 1 + min(int(draw.expovariate(20 / links)), links - 1)
            first = sort == "click" and draw.random() < 0.6
            labels = (countries[skewed], draw.choice(referrers), browser, system, device)
            source = "link" if draw.random() < 0.8 else "qr"
            rows.append((account, "link", item, at, sort, first, *labels, languages[skewed // 2], source))
        yield dict(transpose(_NAMES, rows))


if __name__ == "__main__":
    main()
