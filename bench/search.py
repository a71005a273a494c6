"""Searches of an account with a million links on SQLite and PostgreSQL: `python -m bench.search [--links N]`.

Requests the first page of the API's list, which counts all matches, and of the dashboard's, one at a time. Times are of
the whole response over loopback. The exit status is the number of 95th percentiles over the limit: of searches with
matches in up to 1 % of the links, and of all searches of the dashboard. The API's exact count of more matches has no
limit, because it reads each of them.
"""

import argparse
import http.client
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlencode

from sqlalchemy import Connection, select

from bench.seed import EVERY, ODD, PAIR, Filled, fill
from bench.servers import Server, waypost
from tests.support.browser import HOST
from tests.support.postgres import FAST_OPTIONS, own_postgres
from waypost.auth import sessions
from waypost.db.database import Database
from waypost.db.schema import links

_LIMIT_MS = 50.0
_SMALL_SHARE = 0.01
_FREQUENT = "in over 1 % of links"
_TEXT_OF_ALL = "https://www.example/.html?utm_source=newsletter&ref= the of , all about"
_KINDS: dict[str, Callable[[random.Random, Sequence[str]], str]] = {
    "alias": lambda _, fields: fields[2],
    "number in the URL": lambda _, fields: fields[1].rpartition("=")[2],
    "host": lambda _, fields: fields[1].split("/")[2],
    "title": lambda _, fields: fields[0],
    "part of a title": lambda draw, fields: _part(draw, fields[0], 7),
    "part of a description": lambda draw, fields: _part(draw, fields[3], 12),
    "two words": lambda _, __: PAIR,
    "word of 0.1 %": lambda _, __: ODD,
    "4 characters": lambda draw, fields: _part(draw, fields[0], 4),
    "3 characters": lambda draw, fields: _part(draw, fields[0], 3),
    "text of all": lambda _, __: EVERY,
    "no link": lambda draw, _: f"{draw.randrange(1 << 32):08x}-",
}


def main() -> None:
    """Seed, search and print for both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1_000_000, help="number of links in the account")
    parser.add_argument("--searches", type=int, default=40, help="number of searches of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        over_limit = _measure(fill(Path(name) / "sqlite", options.links), None, options.searches)
        with own_postgres(*FAST_OPTIONS, "-c", "shared_buffers=512MB") as postgres:
            url = f"{postgres.url}/postgres"
            over_limit += _measure(fill(Path(name) / "postgresql", options.links, url), url, options.searches)
    sys.exit(over_limit)


def _part(draw: random.Random, text: str, length: int) -> str:
    """Return a random part of the text, if possible one that is not in all links."""
    starts = draw.sample(range(len(text) - length + 1), len(text) - length + 1)
    parts = [text[start : start + length].lower() for start in starts]
    return next((part for part in parts if part not in _TEXT_OF_ALL), parts[0])


def _measure(seeded: Filled, url: str | None, searches: int) -> int:
    """Print the times by kind of search and share of matching links; return the number of those over the limit."""
    database = Database(url or f"sqlite:///{seeded.folder / 'waypost.db'}")
    token = database.write(lambda tx: sessions.begin(tx, seeded.account, agent="Chrome"))
    texts = database.read(lambda tx: _texts(tx, seeded.links, searches))
    database.close()
    settings = {"base_url": f"http://{HOST}", **({"database_url": url} if url else {})}
    draw = random.Random(1)
    times: dict[str, list[float]] = {}
    print(f"{'PostgreSQL' if url else 'SQLite'}, {seeded.links:,} links: median and 95th percentile in ms")
    with waypost(seeded.folder, settings) as server:
        api, cookie = {"Authorization": f"Bearer {seeded.key}"}, {"Cookie": f"waypost={token}"}
        _request(server, "/api/urls", api, "a first search")
        _request(server, "/dashboard/links", cookie, "a first search")
        for kind, choose in _KINDS.items():
            for q in [choose(draw, fields) for fields in texts]:
                seconds, body = _request(server, "/api/urls", api, q)
                share = json.loads(body)["data"]["result"] / seeded.links
                dashboard_seconds, _ = _request(server, "/dashboard/links", cookie, q)
                for name, duration in (("API", seconds), ("dashboard", dashboard_seconds)):
                    times.setdefault(f"{name}, {kind}", []).append(duration)
                    group = "in up to 1 % of links" if share <= _SMALL_SHARE else _FREQUENT
                    times.setdefault(f"{name}, {group}", []).append(duration)
    return sum(_report(label, durations) for label, durations in sorted(times.items()))


def _report(label: str, durations: Sequence[float]) -> bool:
    """Print the percentiles; return whether they are over a limit."""
    percentiles = quantiles(durations, n=20)
    middle, p95 = percentiles[9] * 1000, percentiles[18] * 1000
    has_limit = label.endswith("of links") and label != f"API, {_FREQUENT}"
    is_over = has_limit and p95 > _LIMIT_MS
    print(f"{label:36} {len(durations):5} searches {middle:7.1f} {p95:7.1f}{'  OVER' if is_over else ''}", flush=True)
    return is_over


def _texts(tx: Connection, count: int, searches: int) -> list[Sequence[str]]:
    """Return title, URL, alias and description of random links."""
    ids = random.Random(2).choices(range(1, count + 1), k=searches)
    c = links.c
    return [tx.execute(select(c.title, c.url, c.alias, c.description).where(c.id == link)).one() for link in ids]


def _request(server: Server, path: str, headers: dict[str, str], q: str) -> tuple[float, bytes]:
    """Return the seconds and the body of a response."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    started = time.perf_counter()
    connection.request("GET", f"{path}?{urlencode({'q': q})}", headers={**headers, "Host": f"{HOST}:{server.port}"})
    response = connection.getresponse()
    body = response.read()
    duration = time.perf_counter() - started
    connection.close()
    if response.status != 200:
        sys.exit(f"{path}?q={q}: {response.status}")
    return duration, body


if __name__ == "__main__":
    main()
