"""Response times of every dashboard page in a large account: `python -m bench.dashboard [--links N] [--rounds N]`.

Starts a real server with one process and requests each page in turn as a signed-in browser does, with the searches and
filters of the lists. Times are of the whole response over loopback. Scripts and style sheets are fetched once and
reported as the first load. Then Chromium opens the pages of the menu and reports the first paint. The exit status is
the number of pages over the limits.
"""

import argparse
import http.client
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import brotli
from playwright.sync_api import Page
from sqlalchemy import Connection, insert

from bench.clicks import lines
from bench.seed import LETTERS, ODD, PAIR, Filled, fill
from bench.servers import Server, waypost
from tests.support.browser import HOST, browser
from waypost.auth import sessions
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import page_counters
from waypost.db.database import Database
from waypost.db.schema import (
    campaigns,
    channel_items,
    channels,
    domains,
    link_checks,
    links,
    overlays,
    pixels,
    splashes,
    utm_templates,
)
from waypost.server.routers import DASHBOARD_PAGES

_LIMIT_MS, _LIMIT_BYTES, _LIMIT_PAINT_MS = 30.0, 100_000, 300.0
_CLICKS, _CLICKED_LINKS = 300_000, 2_000
_ROWS = 300  # of campaigns, channels and so on: more than most accounts have
_MEMBERS = 20_000  # links in the largest campaign and in the largest channel
_YEAR = 31_536_000
_WARM_UP_ROUNDS = 3
_ITEM_ID = 7
_QUERIES = {
    "/dashboard/links": (
        *("page=4000", "page=2000", "order=click", "order=click&page=2000", f"q={ODD}", f"q={PAIR.replace(' ', '+')}"),
        *(f"q={LETTERS}", "q=https", "q=ab", "status=public", "status=disabled", "campaign=1", "channel=1"),
        *(
            "status=dead",
            "status=dead&order=click",
            "status=dead&campaign=1",
            "status=dead&q=https",
            f"status=dead&q={ODD}",
        ),
        *("campaign=1&order=click", f"campaign=1&q={ODD}", "q=https&order=click", "status=public&order=click"),
    ),
    "/dashboard": ("days=365", "days=7", "from=2016-12-01&interval=month"),
    "/dashboard/links/{id:int}/stats": ("days=365", "format=csv"),
}
_MENU = (
    *("/dashboard", "/dashboard/links", "/dashboard/links/7", "/dashboard/links/7/stats", "/dashboard/files"),
    *("/dashboard/qr/new", "/dashboard/bios", "/dashboard/campaigns", "/dashboard/channels", "/dashboard/account"),
)
_PAINTS = 5
_FIRST_PAINT = """
    () => new Promise((resolve) => new PerformanceObserver((entries) => {
        const paint = entries.getEntriesByName("first-contentful-paint")[0];
        if (paint) resolve(paint.startTime);
    }).observe({ type: "paint", buffered: true }))
"""
_HEADERS = {"Accept": "text/html", "Accept-Encoding": "gzip, deflate, br", "Connection": "keep-alive"}


@dataclass
class BrowserSession:
    """The connection of a signed-in browser, and the sizes of the files in its cache."""

    server: Server
    cookie: str
    cached: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def get(self, path: str) -> tuple[int, float, bytes, int]:
        """Return the status, milliseconds, the decoded body, and the bytes of head and body as sent."""
        headers = {**_HEADERS, "Host": f"{HOST}:{self.server.port}", "Cookie": f"waypost={self.cookie}"}
        started = time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        response = self._connection.getresponse()
        body = response.read()
        duration = (time.perf_counter() - started) * 1000
        head = sum(len(name) + len(value) + 4 for name, value in response.getheaders())
        decoded = brotli.decompress(body) if response.getheader("Content-Encoding") == "br" else body
        return response.status, duration, decoded, head + len(body)

    def fetch_static_files(self, page: bytes) -> None:
        """Fetch each static file that the page refers to once, as a browser with a cache does."""
        for path in re.findall(rb'(?:href|src)="(/dashboard/static/[^"]+)"', page):
            name = path.decode()
            if name not in self.cached:
                self.cached[name] = self.get(name)[3]


def main() -> None:
    """Seed an account, start a server, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=100_000, help="number of links in the account")
    parser.add_argument("--rounds", type=int, default=20, help="number of requests per page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        seeded = fill(Path(name) / "data", max(1000, arguments.links))
        token = _seed_resources(seeded)
        with waypost(seeded.folder, {"base_url": f"http://{HOST}", "dead_links_days": "7"}) as server:
            over_limit = _measure(BrowserSession(server, token), arguments.rounds) + _measure_paint(server, token)
    sys.exit(over_limit)


def _seed_resources(seeded: Filled) -> str:
    """Add related resources and clicks; return the token of a new session."""
    settings = Settings(data_dir=seeded.folder)
    database = Database(settings.database)
    token = database.write(lambda tx: _insert_resources(tx, seeded))
    ingester = Ingester(settings, database)
    for entries in lines(seeded.account, min(_CLICKED_LINKS, seeded.links), _CLICKS):
        journal = Journal(settings.journal_dir)
        journal.write(entries)
        journal.close()
        while ingester.step():
            pass
    database.close()
    return token


def _insert_resources(tx: Connection, seeded: Filled) -> str:
    now, owned_by = clock.now(), {"account": seeded.account}
    for table, values in (
        (campaigns, {}),
        (channels, {}),
        (pixels, {"type": "tagmanagerpixel", "tag": "GTM-1"}),
        (splashes, {"title": "Wait", "message": "Words"}),
        (overlays, {"type": "contact", "message": "Words"}),
        (utm_templates, {"utm_source": "newsletter"}),
        (domains, {"scheme": "https"}),
    ):
        for n in range(1, _ROWS + 1):
            name = {"host": f"brand-{n}.example"} if table is domains else {"name": f"The {table.name} number {n}"}
            item = tx.execute(
                insert(table).values({**owned_by, **values, **name, "created": now}).returning(table.c.id)
            )
            page_counters.increment(tx, seeded.account, table.name, item.scalar_one(), 1)
    tx.execute(links.update().where(links.c.id <= _MEMBERS).values(campaign=1))
    tx.execute(links.update().where(links.c.id % 50 == 0).values(status="disabled"))
    items = [
        {"account": seeded.account, "channel": 1, "link": n, "assigned": now}
        for n in range(1, min(_MEMBERS, seeded.links) + 1)
    ]
    tx.execute(insert(channel_items), items)
    # Every link is checked, some are dead, and no check is due, so the server sends no requests.
    check_result = {**owned_by, "due": now + _YEAR, "checked": now, "status": 404, "failing_since": now, "failures": 3}
    tx.execute(
        insert(link_checks), [{**check_result, "link": n, "dead": n % 50 == 1} for n in range(1, seeded.links + 1)]
    )
    return sessions.begin(tx, seeded.account, agent="Chrome")


def _paths() -> list[str]:
    """Return the paths of all pages, and of the lists with their expensive queries."""
    paths = []
    for page in DASHBOARD_PAGES:
        if page.method == "GET" and not page.path.endswith("/live"):  # its response never ends
            path = page.path.replace("{id:int}", str(_ITEM_ID))
            paths += [path, *(f"{path}?{query}" for query in _QUERIES.get(page.path, ()))]
    return paths


def _measure(session: BrowserSession, rounds: int) -> int:
    over_limit, paths = 0, _paths()
    times: dict[str, list[float]] = {path: [] for path in paths}
    sizes: dict[str, tuple[int, int]] = {}
    for turn in range(rounds + _WARM_UP_ROUNDS):
        for path in paths:
            status, duration, body, size = session.get(path)
            if turn == 0:
                session.fetch_static_files(body)
            if turn >= _WARM_UP_ROUNDS:
                times[path].append(duration)
            sizes[path] = status, size
    print(f"{'median ms':>10} {'bytes':>9}  page (limits: {_LIMIT_MS:.0f} ms, {_LIMIT_BYTES:,} bytes)")
    for path in paths:
        ms, (status, size) = median(times[path]), sizes[path]
        is_over = ms > _LIMIT_MS or (size > _LIMIT_BYTES and "format=csv" not in path)
        over_limit += is_over
        failure = "" if status == 200 else f" status {status}"
        print(f"{ms:>10.1f} {size:>9,}  {path}{failure}{'  OVER' if is_over else ''}")
    print(f"first load: {sum(session.cached.values()):,} bytes of {len(session.cached)} files")
    return over_limit


def _measure_paint(server: Server, token: str) -> int:
    """Measure the first paint in Chromium, with an empty and with a warm cache."""
    over_limit, address = 0, f"http://{HOST}:{server.port}"
    with browser() as chrome:
        for path in _MENU:
            first, again = [], []
            for _ in range(_PAINTS):
                with chrome.new_context() as context:
                    context.add_cookies([{"name": "waypost", "value": token, "url": address}])
                    page = context.new_page()
                    first.append(_first_paint(page, address + path))
                    again.append(_first_paint(page, address + path))
            is_over = max(median(first), median(again)) > _LIMIT_PAINT_MS
            over_limit += is_over
            times = f"{median(first):>7.0f} ms, then {median(again):>4.0f} ms"
            print(
                f"first paint (limit: {_LIMIT_PAINT_MS:.0f} ms): {times}  {path}{'  OVER' if is_over else ''}",
                flush=True,
            )
    return over_limit


def _first_paint(page: Page, address: str) -> float:
    response = page.goto(address)
    if response is None or not response.ok or page.url != address:
        sys.exit(f"{address} is not available")
    return float(page.evaluate(_FIRST_PAINT))


if __name__ == "__main__":
    main()
