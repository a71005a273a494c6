"""Processor time of every path compared to a bare FastAPI endpoint with one SQLite read: `python -m bench.paths`.

One client sends a request on each of its connections, reads all responses, and starts again. Rounds of all servers are
interleaved, because the speed of a machine varies. The time is that of the process that answers; neither the ingester
nor PostgreSQL is included. Exits with the number of paths above their bar.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import psycopg

from bench import servers
from bench.servers import Server
from tests.support.postgres import own_postgres
from waypost.admin.new_accounts import create_account
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_MAX_IDLE_SECONDS = 2.0  # less than the keep-alive timeout of the servers
_POSTGRESQL_FACTOR = 1.6
_UNLIMITED = 1_000_000_000
_BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36",
    "Accept": "text/html",
}
_BARE = """
import sqlite3
import threading

from fastapi import FastAPI

app = FastAPI()
_local = threading.local()


@app.get("/people/{number}")
def read(number: int) -> dict[str, object]:
    if not hasattr(_local, "connection"):
        _local.connection = sqlite3.connect("people.db")
    query = "SELECT id, name, email FROM people WHERE id = ?"
    row = _local.connection.execute(query, (number,)).fetchone()
    return {"id": row[0], "name": row[1], "email": row[2]}
"""

Request = tuple[str, str, Any]
"""Method, path and JSON body."""


@dataclass
class Site:
    """A server under test: its connection, an account's key, and milliseconds of processor time by path."""

    name: str
    server: Server
    key: str = ""
    bar_factor: float = 1.0
    times: dict[str, list[float]] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    """Created and not yet visited: not in the memory of the server."""
    ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._connections: list[http.client.HTTPConnection] = []
        self._last_sent = 0.0
        self.worker = self.server.answering()

    def send(self, *requests: Request) -> list[tuple[int, bytes]]:
        """Send requests at the same time, each on a connection of its own. Return the statuses and bodies."""
        if time.monotonic() - self._last_sent > _MAX_IDLE_SECONDS:
            for connection in self._connections:
                connection.close()  # the next request opens it again
        self._last_sent = time.monotonic()
        for _ in range(len(requests) - len(self._connections)):
            self._connections.append(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60))
        for connection, request in zip(self._connections, requests, strict=False):
            self._begin(connection, request)
        responses = [connection.getresponse() for connection, _ in zip(self._connections, requests, strict=False)]
        return [(response.status, response.read()) for response in responses]

    def _begin(self, connection: http.client.HTTPConnection, request: Request) -> None:
        method, path, body = request
        headers = dict(_BROWSER)
        if path.startswith("/api/"):
            headers["Authorization"] = f"Bearer {self.key}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, content, headers)

    def create(self, path: str, body: Any) -> Any:
        """Return the JSON of an API request that must succeed."""
        status, content = self.send(("POST", f"/api{path}", body))[0]
        assert status in (200, 201), (path, content)
        return json.loads(content)


@dataclass(frozen=True)
class PathRow:
    """A row of the table. `request` returns the next one; its response must have the status."""

    name: str
    bar: float | None
    """Multiple of the bare endpoint that it may cost on SQLite. `bench.redirect` has the goal of the hot redirect."""
    request: Callable[[Site, int], Request]
    status: int = 200


def _cold(site: Site, _: int) -> Request:
    return "GET", f"/{site.aliases.pop()}", None


_NEW_LINK = {"url": "https://example.com/page", "title": "A page"}
_ROWS = (
    PathRow("GET /api/account", 1.5, lambda *_: ("GET", "/api/account", None)),
    PathRow("GET /api/url/:id", 2.5, lambda site, _: ("GET", f"/api/url/{site.ids['link']}", None)),
    PathRow("GET /api/urls?limit=15", 3.0, lambda *_: ("GET", "/api/urls?limit=15", None)),
    PathRow("POST /api/url/add", 4.0, lambda *_: ("POST", "/api/url/add", _NEW_LINK)),
    PathRow(
        "PUT /api/url/:id/update",
        4.0,
        lambda site, n: ("PUT", f"/api/url/{site.ids['link']}/update", {"title": f"Page {n}"}),
    ),
    PathRow("POST /api/qr/add", 5.0, lambda *_: ("POST", "/api/qr/add", {"type": "text", "data": "Hello"})),
    PathRow("redirect, in memory", None, lambda *_: ("GET", "/a-hot", None), 302),
    PathRow("redirect, not in memory", 0.4, _cold, 302),
    PathRow("redirect by device", 0.25, lambda *_: ("GET", "/a-device", None), 302),
    PathRow("redirect by country", 0.25, lambda *_: ("GET", "/a-country", None), 302),
    PathRow("redirect, click limit", 0.8, lambda *_: ("GET", "/a-limit", None), 302),
    PathRow("splash page", 0.6, lambda *_: ("GET", "/a-splash", None)),
    PathRow("bio page", 0.5, lambda *_: ("GET", "/a-bio", None)),
    PathRow("page of a file", 1.5, lambda *_: ("GET", "/a-file", None)),
    PathRow("page of a limited file", 1.5, lambda *_: ("GET", "/a-limited", None)),
    PathRow("file of 1 kB", 1.5, lambda *_: ("GET", "/a-file?download=1", None)),
    PathRow("limited file of 1 kB", 1.5, lambda *_: ("GET", "/a-limited?download=1", None)),
    PathRow("rotator of 10 links", 0.8, lambda *_: ("GET", "/r/a-rotator", None), 302),
    PathRow("unknown name", 0.4, lambda _, n: ("GET", f"/unknown-{n}", None), 404),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=64, help="of each path in a round (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=1, help="requests at the same time (default: %(default)s)")
    parser.add_argument("--only", default="", help="part of the names of the paths to measure")
    options = parser.parse_args()
    rows = [row for row in _ROWS if options.only in row.name]
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        bare = stack.enter_context(_bare_site(Path(name)))
        sites = [stack.enter_context(sqlite_site(Path(name))), stack.enter_context(postgresql_site(Path(name)))]
        for site in sites:
            _fill(site, (options.rounds + 1) * options.requests)
        for _ in range(options.rounds + 1):
            _measure(bare, PathRow("bare", 1, lambda *_: ("GET", "/people/7", None)), options)
            for site, row in itertools.product(sites, rows):
                _measure(site, row, options)
    sys.exit(_print_table(bare, sites, rows))


@contextlib.contextmanager
def _bare_site(folder: Path) -> Iterator[Site]:
    home = folder / "bare"
    home.mkdir()
    (home / "bare.py").write_text(_BARE)
    with contextlib.closing(sqlite3.connect(home / "people.db")) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, email TEXT)")
        rows = [(number, f"name {number}", f"{number}@example.com") for number in range(1000)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    port = servers.free_port()
    command = [sys.executable, "-m", "uvicorn", "bare:app", "--port", str(port), "--no-access-log"]
    with servers.running(["taskset", "-c", "0", *command], port, home, servers.environment({})) as server:
        yield Site("bare", server)


@contextlib.contextmanager
def sqlite_site(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Run waypost on SQLite, with one account."""
    home = folder / "sqlite"
    home.mkdir()
    key = _create_key(Settings(data_dir=home).database)
    with servers.waypost(home, settings) as server:
        yield Site("SQLite", server, key)


@contextlib.contextmanager
def postgresql_site(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Run waypost on a PostgreSQL server of its own, with one account."""
    home = folder / "postgresql"
    home.mkdir()
    with own_postgres() as postgres:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        url = f"{postgres.url}/waypost"
        key = _create_key(url)
        with servers.waypost(home, {"database_url": url, **(settings or {})}) as server:
            yield Site("PostgreSQL", server, key, _POSTGRESQL_FACTOR)


def _create_key(url: str) -> str:
    with contextlib.closing(Database(url)) as database:
        upgrade(database)
        return create_account(database, email="ana@example.com", username="ana", rate_limit=_UNLIMITED).apikey


def _fill(site: Site, cold: int) -> None:
    """Create what the paths need, and links that are visited once."""
    splash = site.create("/splash/add", {"name": "Wait", "title": "Wait", "counter": 5})["id"]
    links: Mapping[str, Mapping[str, Any]] = {
        "link": {},
        "hot": {},
        "device": {"devicetarget": [{"device": "iPhone", "link": "https://example.com/app"}]},
        "country": {"geotarget": [{"location": "France", "link": "https://example.com/fr"}]},
        "limit": {"clicklimit": _UNLIMITED},
        "splash": {"type": str(splash)},
    }
    for name, fields in links.items():
        site.ids[name] = site.create("/url/add", {**_NEW_LINK, "custom": f"a-{name}", **fields})["id"]
    blocks = [{"type": "link", "title": f"Link {n}", "url": "https://example.com/"} for n in range(5)]
    site.create("/bio/add", {"name": "Ana", "alias": "a-bio", "blocks": blocks})
    site.create("/files/upload/a.txt?custom=a-file", b"x" * 1024)
    site.create(f"/files/upload/b.txt?custom=a-limited&maxdownloads={_UNLIMITED}", b"x" * 1024)
    campaign = site.create("/campaign/add", {"name": "Spring", "slug": "a-rotator"})["id"]
    for _ in range(10):
        link = site.create("/url/add", _NEW_LINK)["id"]
        site.create(f"/campaign/{campaign}/assign/{link}", None)
    site.aliases = [site.create("/url/add", _NEW_LINK)["shorturl"].rpartition("/")[2] for _ in range(cold)]


def _measure(site: Site, row: PathRow, options: argparse.Namespace) -> None:
    first = len(site.times.get(row.name, ())) * options.requests
    requests = [row.request(site, number) for number in range(first, first + options.requests)]
    before = servers.processor_nanoseconds(site.worker)
    for start in range(0, len(requests), options.connections):
        for status, content in site.send(*requests[start : start + options.connections]):
            assert status == row.status, (row.name, status, content[:300])
    spent = servers.processor_nanoseconds(site.worker) - before
    site.times.setdefault(row.name, []).append(spent / len(requests) / 1e6)


def _print_table(bare: Site, sites: list[Site], rows: list[PathRow]) -> int:
    """Print medians without the first round, which warms up. Return the number of paths above their bar."""
    unit = median(bare.times["bare"][1:])
    print(f"bare FastAPI endpoint: {unit:.3f} ms of processor time")
    print(f"{'path':26}" + "".join(f"{site.name + ' ms':>15}{'x bare':>8}{'bar':>6}" for site in sites))
    above = 0
    for row in rows:
        line = f"{row.name:26}"
        for site in sites:
            ms, bar = median(site.times[row.name][1:]), row.bar and row.bar * site.bar_factor
            above += bar is not None and ms / unit > bar
            line += f"{ms:15.3f}{ms / unit:8.2f}{'' if bar is None else f'{bar:.2f}':>6}"
        print(line)
    return above


if __name__ == "__main__":
    main()
