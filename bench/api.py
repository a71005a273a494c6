"""Times the link API with 1,000 and with 1,000,000 links in an account: `make bench`, `python -m bench.api --links N`.

Two real servers are asked in turn, round by round, because machines have moods; every answer is checked.
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
IDLE_SECONDS = 2.0  # the server gives up a silent connection after five


@dataclass(frozen=True)
class Ask:
    """A request to time. A list must answer `result` and `ids`, anything else the link `ids[0]`."""

    name: str
    path: str
    ids: Sequence[int]
    result: int | None = None
    rounds: int = ROUNDS


@dataclass
class Site:
    """A server under test, the one connection to it, and the milliseconds that each ask took."""

    filled: Filled
    connection: http.client.HTTPConnection
    times: dict[str, list[float]] = field(default_factory=dict)
    last: float = 0

    def call(self, name: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON of a call that must succeed."""
        headers = {"Authorization": f"Bearer {self.filled.key}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body).encode()
        if time.perf_counter() - self.last > IDLE_SECONDS:
            self.connection.close()
            self.connection.connect()
        began = time.perf_counter()
        self.connection.request(method, f"/api{path}", sent, headers)
        response = self.connection.getresponse()
        received = response.read()
        self.last = time.perf_counter()
        self.times.setdefault(name, []).append((self.last - began) * 1000)
        assert response.status == 200, (method, path, received)
        return json.loads(received)


def main() -> None:
    """Fill, serve, measure, print; clean up whatever happens."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=LARGE, help="links in the large account (default: %(default)s)")
    large = max(SMALL, parser.parse_args().links)
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.alarm(LONGEST_SECONDS)
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        filled = [_filled(Path(name, kind), size) for kind, size in (("small", SMALL), ("large", large))]
        sites = [Site(one, stack.enter_context(_served(one.folder))) for one in filled]
        _measure(sites)
    print(f"{'median of the answer, ms':32}{SMALL:>11,}{large:>11,}{'ratio':>8}  bars")
    for ask in sites[0].times:
        print(_line(ask, *(median(site.times[ask]) for site in sites)))


def _stop(number: int, _frame: object) -> None:
    """End by way of every `finally`."""
    sys.exit(f"stopped by {signal.Signals(number).name}")


def _filled(folder: Path, size: int) -> Filled:
    began = time.perf_counter()
    filled = fill(folder, size)
    took, space = time.perf_counter() - began, (folder / "waypost.db").stat().st_size / 2**20
    print(f"{size:,} links made in {took:.0f} s, {space:,.0f} MiB", file=sys.stderr)
    return filled


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to `waypost serve` over that folder, one process, which is ended by its own id."""
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
            process.wait()


def _is_ready(connection: http.client.HTTPConnection) -> bool:
    try:
        connection.request("GET", "/readyz")
        return b'"ok"' in connection.getresponse().read()
    except OSError:
        connection.close()
        return False


def _asks(filled: Filled) -> list[Ask]:
    """Everything that is read, with what must come back."""

    def page(name: str, number: int, limit: int = PER_PAGE) -> Ask:
        newest = filled.links - (number - 1) * limit
        ids = range(newest, max(0, newest - limit), -1)
        return Ask(name, f"/urls?limit={limit}&page={number}", ids, filled.links)

    def by_clicks(name: str, number: int) -> Ask:
        ids = filled.by_clicks[(number - 1) * PER_PAGE : number * PER_PAGE]
        return Ask(name, f"/urls?order=click&page={number}", ids, filled.links)

    def search(name: str, q: str, rounds: int = ROUNDS) -> Ask:
        return Ask(name, f"/urls?q={quote(q)}", filled.newest[q], filled.found[q], rounds)

    one = filled.links // 3
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
        Ask("read", f"/url/{one}", [one]),
        Ask("read by alias", f"/urls?short={alias(one)}", [one]),
    ]


def _measure(sites: Sequence[Site]) -> None:
    """Every ask, round by round, now the one site first and now the other."""
    asked = [(site, _asks(site.filled)) for site in sites]
    for turn in range(-WARM_ROUNDS, ROUNDS):
        if turn == 0:
            for site in sites:
                site.times.clear()
        ordered = asked if turn % 2 else asked[::-1]
        for number, ask in enumerate(asked[0][1]):
            if turn % (ROUNDS // ask.rounds) == 0:
                for site, asks in ordered:
                    _read(site, asks[number])
        for site, _ in ordered:
            _write(site)


def _read(site: Site, ask: Ask) -> None:
    answer = site.call(ask.name, "GET", ask.path)
    if ask.result is None:
        assert answer["details"]["id"] == ask.ids[0], ask
        return
    data = answer["data"]
    assert (data["result"], [link["id"] for link in data["urls"]]) == (ask.result, list(ask.ids)), (ask, data)


def _write(site: Site) -> None:
    """Make a link, change it, see that it is changed, delete it: the lists are as before."""
    target = "https://www.winter-market.example/tickets/family.html?utm_source=poster"
    new = {"url": target, "title": "Winter market", "description": "Where to buy tickets, and when."}
    link = site.call("create", "POST", "/url/add", new)["id"]
    assert link > site.filled.links
    site.call("update", "PUT", f"/url/{link}/update", {"title": "Summer market"})
    assert site.call("read, just made", "GET", f"/url/{link}")["details"]["title"] == "Summer market"
    site.call("delete", "DELETE", f"/url/{link}/delete")


def _line(ask: str, small: float, large: float) -> str:
    """A row of the table: the time has a bar for lists, read and create, the ratio one for lists."""
    ratio, is_list = large / small, ask.startswith("list")
    bars = []
    if is_list or ask.startswith(("read", "create")):
        bars.append(f"{BAR_MS:g} ms {'kept' if large < BAR_MS else 'BROKEN'}")
    if is_list:
        bars.append(f"{BAR_RATIO:g} x {'kept' if ratio <= BAR_RATIO else 'BROKEN'}")
    return f"{ask:32}{small:>11.2f}{large:>11.2f}{ratio:>8.2f}  {', '.join(bars)}"


if __name__ == "__main__":
    main()
