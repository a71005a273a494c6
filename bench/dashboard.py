"""Every page of the dashboard in a large account: `python -m bench.dashboard [--links N] [--rounds N]`.

A real server with one process is asked for each page that there is, in turn, as a browser that is signed in asks, and
with the searches and filters of lists besides. Times are of the whole answer on loopback, so a little more than the
server's own. What a page brings with it, such as scripts, is fetched once and counted as the first load. Then Chromium
opens the pages of the menu, and says when it first painted something. Exits with how many pages cost more than the
bars.
"""

import argparse
import gzip
import http.client
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from playwright.sync_api import Page
from sqlalchemy import Connection, insert

from bench.clicks import lines
from bench.filling import LETTERS, ODD, PAIR, Filled, fill
from bench.servers import Server, waypost
from tests.support.browser import HOST, browser
from waypost import clock
from waypost.auth import sessions
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.writer import Journal
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
)
from waypost.routers import DASHBOARD_PAGES
from waypost.settings import Settings

_BAR_MS, _BAR_BYTES, _BAR_PAINT = 30.0, 100_000, 300.0
_CLICKS, _OF = 300_000, 2_000
_EACH = 300  # campaigns, channels and so on: more than most have
_IN_ONE = 20_000  # links of the largest campaign, and on the largest channel
_YEAR = 31_536_000
_WARM = 3
_ITEM = 7
_LISTS = {
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
    () => new Promise((told) => new PerformanceObserver((seen) => {
        const paint = seen.getEntriesByName("first-contentful-paint")[0];
        if (paint) told(paint.startTime);
    }).observe({ type: "paint", buffered: true }))
"""
_BROWSER = {"Accept": "text/html", "Accept-Encoding": "gzip, deflate, br", "Connection": "keep-alive"}


@dataclass
class Window:
    """A signed-in browser's one connection, and the files that it has already."""

    server: Server
    cookie: str
    kept: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def get(self, path: str) -> tuple[int, float, bytes, int]:
        """Status, milliseconds, body as it came, and bytes of head and body."""
        headers = {**_BROWSER, "Host": f"{HOST}:{self.server.port}", "Cookie": f"waypost={self.cookie}"}
        began = time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - began) * 1000
        head = sum(len(name) + len(value) + 4 for name, value in answer.getheaders())
        return answer.status, took, body, head + len(body)

    def fetch_parts(self, page: bytes) -> None:
        """What the page names of our built files, once each, as a browser keeps them."""
        page = gzip.decompress(page) if page.startswith(b"\x1f\x8b") else page
        for path in re.findall(rb'(?:href|src)="(/dashboard/static/[^"]+)"', page):
            name = path.decode()
            if name not in self.kept:
                self.kept[name] = self.get(name)[3]


def main() -> None:
    """Fill, serve, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=100_000, help="in the account")
    parser.add_argument("--rounds", type=int, default=20, help="of all pages")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        filled = fill(Path(name) / "data", max(1000, given.links))
        token = _furnish(filled)
        with waypost(filled.folder, {"base_url": f"http://{HOST}", "dead_links_days": "7"}) as server:
            missed = _measure(Window(server, token), given.rounds) + _paint(server, token)
    sys.exit(missed)


def _furnish(filled: Filled) -> str:
    """Everything but links: what they are connected with, clicks, and a session, whose token is the answer."""
    settings = Settings(data_dir=filled.folder)
    database = Database(settings.database)
    token = database.write(lambda tx: _connect(tx, filled))
    ingester = Ingester(settings, database)
    for entries in lines(filled.account, min(_OF, filled.links), _CLICKS):
        kept = Journal(settings.journal_dir)
        kept.write(entries)
        kept.close()
        while ingester.step():
            pass
    database.close()
    return token


def _connect(tx: Connection, filled: Filled) -> str:
    now, mine = clock.now(), {"account": filled.account}
    for table, more in (
        (campaigns, {}),
        (channels, {}),
        (pixels, {"type": "tagmanagerpixel", "tag": "GTM-1"}),
        (splashes, {"title": "Wait", "message": "Words"}),
        (overlays, {"type": "contact", "message": "Words"}),
        (domains, {"scheme": "https"}),
    ):
        for n in range(1, _EACH + 1):
            named = {"host": f"brand-{n}.example"} if table is domains else {"name": f"The {table.name} number {n}"}
            item = tx.execute(insert(table).values({**mine, **more, **named, "created": now}).returning(table.c.id))
            page_counters.shift(tx, filled.account, table.name, item.scalar_one(), 1)
    tx.execute(links.update().where(links.c.id <= _IN_ONE).values(campaign=1))
    tx.execute(links.update().where(links.c.id % 50 == 0).values(status="disabled"))
    on = [
        {"account": filled.account, "channel": 1, "link": n, "assigned": now}
        for n in range(1, min(_IN_ONE, filled.links) + 1)
    ]
    tx.execute(insert(channel_items), on)
    # The target of every link was looked at, some are dead, and none is due while this runs: nobody is asked.
    seen = {**mine, "due": now + _YEAR, "checked": now, "status": 404, "failing": now, "failures": 3}
    tx.execute(insert(link_checks), [{**seen, "link": n, "dead": n % 50 == 1} for n in range(1, filled.links + 1)])
    return sessions.begin(tx, filled.account, agent="Chrome")


def _paths() -> list[str]:
    """Every page that can be asked for, and the lists in all the ways that cost."""
    found = []
    for page in DASHBOARD_PAGES:
        if page.method == "GET":
            path = page.path.replace("{id:int}", str(_ITEM))
            found += [path, *(f"{path}?{query}" for query in _LISTS.get(page.path, ()))]
    return found


def _measure(window: Window, rounds: int) -> int:
    missed, paths = 0, _paths()
    times: dict[str, list[float]] = {path: [] for path in paths}
    sizes: dict[str, tuple[int, int]] = {}
    for turn in range(rounds + _WARM):
        for path in paths:
            status, took, body, size = window.get(path)
            if turn == 0:
                window.fetch_parts(body)
            if turn >= _WARM:
                times[path].append(took)
            sizes[path] = status, size
    print(f"{'median ms':>10} {'bytes':>9}  page (bars: {_BAR_MS:.0f} ms, {_BAR_BYTES:,} bytes)")
    for path in paths:
        ms, (status, size) = median(times[path]), sizes[path]
        is_over = ms > _BAR_MS or (size > _BAR_BYTES and "format=csv" not in path)
        missed += is_over
        told = "" if status == 200 else f" answered {status}"
        print(f"{ms:>10.1f} {size:>9,}  {path}{told}{'  OVER' if is_over else ''}")
    print(f"first load besides: {sum(window.kept.values()):,} bytes of {len(window.kept)} files")
    return missed


def _paint(server: Server, token: str) -> int:
    """When Chromium paints first after it was sent to a page: as somebody who comes for the first time, and after."""
    missed, address = 0, f"http://{HOST}:{server.port}"
    with browser() as chrome:
        for path in _MENU:
            first, again = [], []
            for _ in range(_PAINTS):
                with chrome.new_context() as context:
                    context.add_cookies([{"name": "waypost", "value": token, "url": address}])
                    page = context.new_page()
                    first.append(_painted(page, address + path))
                    again.append(_painted(page, address + path))
            is_over = max(median(first), median(again)) > _BAR_PAINT
            missed += is_over
            told = f"{median(first):>7.0f} ms, then {median(again):>4.0f} ms"
            print(f"first paint (bar: {_BAR_PAINT:.0f} ms): {told}  {path}{'  OVER' if is_over else ''}", flush=True)
    return missed


def _painted(page: Page, address: str) -> float:
    answer = page.goto(address)
    if answer is None or not answer.ok or page.url != address:
        sys.exit(f"{address} is not to be seen")
    return float(page.evaluate(_FIRST_PAINT))


if __name__ == "__main__":
    main()
