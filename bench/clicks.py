"""Counting clicks: `python -m bench.clicks [--clicks N]`.

First how many clicks a second one core counts from the journal into SQLite, by how many links they fall on; visitors,
browsers, referrers and languages are mixed. Then what the statistics of one link cost at 10,000 clicks and at N.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, select

from bench.seed import fill
from waypost.clicks import journal
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Span
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.server import background

_LINKS = 20_000
_AT_ONCE = 50_000
_FEW = 10_000
_READS = 60
_DAYS = 30
_SPAN_MS = (_DAYS - 1) * 86_400_000
_BAR, _BAR_MS = 60_000, 10.0
_AGENTS = [
    f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 {ending}"
    for system, ending in (
        ("Windows NT 10.0; Win64; x64", "Safari/537.36"),
        ("Macintosh; Intel Mac OS X 10_15_7", "Safari/537.36"),
        ("Linux; Android 10; K", "Mobile Safari/537.36"),
        ("X11; Linux x86_64", "Safari/537.36"),
    )
    for version in range(100, 140)
]
_REFERRERS = ["", "", "https://www.google.com/", "https://t.co/x", "https://l.facebook.com/l.php?u=x"]
_REFERRERS += [f"https://site{n}.example/page/{n}" for n in range(200)]
_LANGUAGES = ["en-US,en;q=0.9", "de-DE,de;q=0.8", "fr", "es-ES,es;q=0.9", "ja", ""]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=10_000_000, help="of the link with many")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        filled = fill(Path(name) / "data", _LINKS)
        settings = Settings(data_dir=filled.folder, events_days=0)
        database = Database(settings.database)
        for items in (1, 1_000, _LINKS):
            _counting(settings, database, filled.account, items, 400_000)
        _counting(Settings(data_dir=filled.folder), database, filled.account, 1_000, 400_000)
        _reading(settings, database, filled.account, arguments.clicks)
        database.close()


def _counting(settings: Settings, database: Database, account: int, items: int, clicks: int) -> None:
    """Print how fast clicks are counted; half of them fall on a hundredth of the links, as they do."""
    rates, ingester = [], Ingester(settings, database, readers=background.visit_readers(settings))
    for lines_of_batch in lines(account, items, clicks):
        _write(settings, lines_of_batch)
        began = time.process_time()
        while ingester.step():
            pass
        rates.append(_AT_ONCE / (time.process_time() - began))
    single = f", single visits kept for {settings.events_days} days" if settings.events_days else ""
    target = "" if items > 1_000 or single else f" (bar: {_BAR:,})"
    print(f"counted a second of processor time over {items:,} links{single}: {median(rates):,.0f}{target}", flush=True)


def _write(settings: Settings, content: bytes) -> None:
    journal = Journal(settings.journal_dir)
    if not journal.write(content):
        sys.exit("the journal could not be written")
    journal.close()


def _reading(settings: Settings, database: Database, account: int, clicks: int) -> None:
    """Print what the statistics block and the report of one link cost, with few and with many clicks."""
    few, many = 1, 2
    ingester = Ingester(settings, database)
    for item, expected in ((few, _FEW), (many, clicks)):
        for entries in lines(account, 1, expected, first=item):
            _write(settings, entries)
            while ingester.step():
                pass
    today = date.fromisoformat(clock.day(clock.now()))
    span = Span(today - timedelta(days=_DAYS - 1), today, "day", ZoneInfo("UTC"))
    for what, read in (
        ("block", partial(_block, account=account)),
        ("report of 30 days", partial(_report, account=account, span=span)),
    ):
        times: dict[int, list[float]] = {few: [], many: []}
        for _ in range(_READS):
            for item, expected in ((few, _FEW), (many, clicks)):
                began = time.perf_counter()
                counted = database.read(partial(read, item=item))
                times[item].append((time.perf_counter() - began) * 1000)
                if counted < expected:
                    sys.exit(f"{counted} clicks of link {item} where {expected} were written")
        a, b = median(times[few]), median(times[many])
        print(
            f"statistics of one link, {what}: {a:.2f} ms at {_FEW:,} clicks, {b:.2f} ms at {clicks:,}"
            f" (bar: {_BAR_MS:.0f} ms and the same)"
        )


def _block(tx: Connection, item: int, account: int) -> int:
    row = tx.execute(select(links.c.clicks, links.c.uniqueclicks).where(links.c.id == item)).one()
    return reports.block(tx, account, "link", item, clicks=row.clicks, uniques=row.uniqueclicks).clicks


def _report(tx: Connection, item: int, account: int, span: Span) -> int:
    return reports.report(tx, account, "link", item, span).total.clicks


def lines(account: int, items: int, clicks: int, *, first: int = 1, at_once: int = _AT_ONCE) -> Iterator[bytes]:
    """Journal lines for `items` links, in portions of `at_once`, their times spread over the last days."""
    chance = random.Random(2026)
    ends, often = clock.now_ms(), range(first, first + max(1, items // 100))
    for start in range(0, clicks, at_once):
        # A portion is a moment of the span, as the journal of a server is.
        at = ends - (clicks - start) * _SPAN_MS // clicks
        yield b"".join(
            journal.format_line(
                journal.item_fields(
                    account, "link", chance.choice(often) if n % 2 else first + chance.randrange(items)
                ),
                at + n,
                b"",
                b"8.%d.%d.%d" % (chance.randrange(16), chance.randrange(256), chance.randrange(256)),
                b"",
                (
                    chance.choice(_AGENTS).encode(),
                    chance.choice(_REFERRERS).encode(),
                    chance.choice(_LANGUAGES).encode(),
                ),
            )
            for n in range(min(at_once, clicks - start))
        )


if __name__ == "__main__":
    main()
