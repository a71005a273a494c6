"""Measure the link API with 1,000 and with 1,000,000 links in an account: `python -m bench.api --links N`.

Requests alternate between two real servers in rounds, because the speed of a machine varies. Responses are checked.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from bench.seed import EVERY, LETTERS, ODD, PAIR, PER_PAGE, Filled, alias, fill

SMALL, LARGE = 1_000, 1_000_000
ROUNDS, SLOW_ROUNDS, WARM_ROUNDS = 60, 10, 2
BAR_MS, BAR_RATIO = 20.0, 2.0
LONGEST_SECONDS = 345
IDLE_SECONDS = 2.0  # the server closes an idle connection after five


@dataclass(frozen=True)
class TimedRequest:
    """A request to measure. A list must return `result` and `ids`, other requests the link `ids[0]`."""

    name: str
    path: str
    ids: Sequence[int]
    result: int | None = None
    rounds: int = ROUNDS


@dataclass
class Site:
    """A server under test, its connection, and the milliseconds of each request."""

    filled: Filled
    connection: http.client.HTTPConnection
    times: dict[str, list[float]] = field(default_factory=dict)
    last: float = 0

    def call(self, name: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of a request, which must succeed."""
        headers = {"Authorization": f"Bearer {self.filled.key}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        if time.perf_counter() - self.last > IDLE_SECONDS:
            self.connection.close()
            self.connection.connect()
        start = time.perf_counter()
        self.connection.request(method, f"/api{path}", content, headers)
        response = self.connection.getresponse()
        received = response.read()
        self.last = time.perf_counter()
        self.times.setdefault(name, []).append((self.last - start) * 1000)
        assert response.status == 200, (method, path, received)
        return json.loads(received)


def main() -> None:
    """Seed, serve, measure, print. Always clean up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=LARGE, help="links in the large account (default: %(default)s)")
    large = max(SMALL, parser.parse_args().links)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.alarm(LONGEST_SECONDS)
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        filled = [_filled_installation(Path(name, kind), size) for kind, size in (("small", SMALL), ("large", large))]
        sites = [Site(seeded, stack.enter_context(_served(seeded.folder))) for seeded in filled]
        _measure(sites)
    print(f"{'median of the answer, ms':32}{SMALL:>11,}{large:>11,}{'ratio':>8}  bars")
    for request in sites[0].times:
        print(_line(request, *(median(site.times[request]) for site in sites)))


def _stop(number: int, _frame: object) -> None:
    """Exit, so that every `finally` runs."""
    sys.exit(f"stopped by {signal.Signals(number).name}")


def _filled_installation(folder: Path, size: int) -> Filled:
    start = time.perf_counter()
    filled = fill(folder, size)
    took, space = time.perf_counter() - start, (folder / "waypost.db").stat().st_size / 2**20
    print(f"{size:,} links created in {took:.0f} s, {space:,.0f} MiB", file=sys.stderr)
    return filled


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[http.client.HTTPConnection]:
    """Run `waypost serve` with one worker in the folder; yield a connection."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    environment |= {"WAYPOST_DATA_DIR": str(folder), "WAYPOST_PORT": str(port)}
    environment |= {"WAYPOST_LOG_LEVEL": "warning", "WAYPOST_WORKERS": "1"}
    command = [str(Path(sys.executable).parent / "waypost"), "serve"]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 30
        while not _is_ready(connection):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ChildProcessError((folder / "log").read_text())
            time.sleep(0.1)
        yield connection
    finally:
        connection.close()
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(30)


def _is_ready(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/readyz")
        return b'"ok"' in connection.getresponse().read()
    except OSError:
        connection.close()
        return False


def _requests(filled: Filled) -> list[TimedRequest]:
    """Return all read requests with the expected results."""

    def page(name: str, number: int, limit: int = PER_PAGE) -> TimedRequest:
        newest = filled.links - (number - 1) * limit
        ids = range(newest, max(0, newest - limit), -1)
        return TimedRequest(name, f"/urls?limit={limit}&page={number}", ids, filled.links)

    def by_clicks(name: str, number: int) -> TimedRequest:
        ids = filled.by_clicks[(number - 1) * PER_PAGE : number * PER_PAGE]
        return TimedRequest(name, f"/urls?order=click&page={number}", ids, filled.links)

    def search(name: str, q: str, rounds: int = ROUNDS) -> TimedRequest:
        return TimedRequest(name, f"/urls?q={quote(q)}", filled.newest[q], filled.matches[q], rounds)

    middle = filled.links // 3
    return [
        page("list, first page", 1),
        page("list, middle page", filled.pages // 2),
        page("list, page 1000 or last", min(1000, filled.pages)),
        page("list, last page", filled.pages),
        page("list, first page of 100", 1, 100),
        by_clicks("list by clicks, first page", 1),
        by_clicks("list by clicks, middle page", filled.pages // 2),
        by_clicks("list by clicks, last page", filled.pages),
        search("list, q of one link", filled.rare),
        search("list, q of 1,000 links", ODD),
        search("list, q of two usual words", PAIR),
        search("list, q of two letters", LETTERS, SLOW_ROUNDS),
        search("list, q of every link", EVERY, SLOW_ROUNDS),
        TimedRequest("read", f"/url/{middle}", [middle]),
        TimedRequest("read by alias", f"/urls?short={alias(middle)}", [middle]),
    ]


def _measure(sites: Sequence[Site]) -> None:
    """Send every request in rounds, alternating which site is first."""
    requested = [(site, _requests(site.filled)) for site in sites]
    for turn in range(-WARM_ROUNDS, ROUNDS):
        if turn == 0:
            for site in sites:
                site.times.clear()
        ordered = requested if turn % 2 else requested[::-1]
        for number, request in enumerate(requested[0][1]):
            if turn % (ROUNDS // request.rounds) == 0:
                for site, requests in ordered:
                    _read(site, requests[number])
        for site, _ in ordered:
            _write(site)


def _read(site: Site, request: TimedRequest) -> None:
    body = site.call(request.name, "GET", request.path)
    if request.result is None:
        assert body["details"]["id"] == request.ids[0], request
        return
    data = body["data"]
    assert (data["result"], [link["id"] for link in data["urls"]]) == (request.result, list(request.ids)), (
        request,
        data,
    )


def _write(site: Site) -> None:
    """Create, update, read and delete a link, so that the lists stay the same."""
    destination = "https://www.winter-market.example/tickets/family.html?utm_source=poster"
    new = {"url": destination, "title": "Winter market", "description": "Where to buy tickets, and when."}
    link = site.call("create", "POST", "/url/add", new)["id"]
    assert link > site.filled.links
    site.call("update", "PUT", f"/url/{link}/update", {"title": "Summer market"})
    assert site.call("read, just created", "GET", f"/url/{link}")["details"]["title"] == "Summer market"
    site.call("delete", "DELETE", f"/url/{link}/delete")


def _line(request: str, small: float, large: float) -> str:
    """Return a table row. Times have a limit for lists, read and create, ratios only for lists."""
    ratio, is_list = large / small, request.startswith("list")
    bars = []
    if is_list or request.startswith(("read", "create")):
        bars.append(f"{BAR_MS:g} ms {'kept' if large < BAR_MS else 'BROKEN'}")
    if is_list:
        bars.append(f"{BAR_RATIO:g} x {'kept' if ratio <= BAR_RATIO else 'BROKEN'}")
    return f"{request:32}{small:>11.2f}{large:>11.2f}{ratio:>8.2f}  {', '.join(bars)}"


if __name__ == "__main__":
    main()
