"""Redirects and API requests while other programs need the processor: `python -m bench.neighbor ../other-checkout`.

Each version runs on the first core, completely, and the clients on the second. Busy loops on the first core are the
neighbors: in the scheduling group of the service, as in one container or shell session, and in a group of their own, as
another service has. A session is a group if the kernel's autogroup is on. A redirect is sent every 10 ms, while two
clients use the API. All versions and situations take turns, because the speed of a machine varies. Other checkouts need
their `make .venv/.dev`.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import psycopg

from bench import servers
from bench.servers import Server
from tests.support.postgres import own_postgres
from tests.support.system_packages import require_programs

_PAUSE_SECONDS = 0.01  # between two redirects
_NEIGHBORS = 2
_LINKS = 1000
_UNLIMITED = "1000000000"
_AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
_LOOP = "kill -STOP $$; while :; do :; done"
"""A busy loop that begins when it is continued."""
_SESSION = """#!/bin/sh
exec setsid sh -c '
for n in {numbers}; do sh -c "$1" & echo $! >> {pids}; done
shift
exec {program} "$@"' sh '{loop}' "$@"
"""
"""Runs the service and its neighbors in a session of their own."""
_BODY = json.dumps({"url": "https://example.com/page", "title": "A page"})
_LOADS = {
    "reads": 'request = function() return wrk.format("GET", "/api/urls?limit=1000") end',
    "writes": f"request = function() return wrk.format('POST', '/api/url/add', nil, '{_BODY}') end",
    "visits": 'request = function() return wrk.format("GET", "/a-hot") end',
}
"""The requests of the other two clients. The ingester counts the visits."""
Situation = tuple[int, str]
"""The number of neighbors and their group: "same", "own", or "" for none."""


@dataclass
class Results:
    """Of one version in one situation. Latencies are in milliseconds."""

    redirects: list[float] = field(default_factory=list)
    requests: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        cuts = quantiles(self.redirects, n=100)
        return f"{cuts[49]:9.1f}{cuts[94]:9.1f}{max(self.redirects):9.1f}{self.requests / self.seconds:12.1f}"


@dataclass
class Site:
    """A running version: its link, the key of its account, and the neighbors in its group."""

    server: Server
    key: str
    alias: str
    neighbors: Sequence[int]
    results: dict[Situation, Results] = field(default_factory=dict)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("others", type=Path, nargs="*", help="folders of checkouts to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of each situation in a round (default: %(default)s)")
    parser.add_argument("--load", choices=_LOADS, default="reads", help="requests of two other clients")
    parser.add_argument("--limited", action="store_true", help="follow a link with a click limit, which writes")
    parser.add_argument("--postgresql", action="store_true", help="instead of SQLite")
    parser.add_argument("--api-workers", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--neighbors", type=int, choices=range(_NEIGHBORS + 1), default=_NEIGHBORS, help="at most")
    options = parser.parse_args()
    require_programs("wrk", "taskset", "setsid")
    checkouts = dict.fromkeys([Path.cwd(), *(other.resolve() for other in options.others)])
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        strangers = stack.enter_context(_strangers(folder))
        situations = list(_situations(options.neighbors))
        script = folder / "load.lua"
        script.write_text(_LOADS[options.load])
        urls = stack.enter_context(_databases(len(checkouts))) if options.postgresql else itertools.repeat("")
        sites = {
            checkout: stack.enter_context(_site(checkout, folder / str(number), url, options))
            for number, (checkout, url) in enumerate(zip(checkouts, urls, strict=False))
        }
        os.sched_setaffinity(0, {1})
        for number, situation in itertools.product(range(options.rounds), situations):
            for site in list(sites.values())[:: -1 if number % 2 else 1]:
                with _neighboring([*site.neighbors, *strangers], situation, len(site.neighbors)):
                    _measure(site, situation, script, options.seconds)
        _print_table(sites, situations)


def _situations(most: int) -> Iterator[Situation]:
    """Return the situations that this machine allows."""
    yield 0, ""
    groups = ["same", "own"] if _AUTOGROUP.exists() and _AUTOGROUP.read_text().strip() == "1" else ["same"]
    if len(groups) == 1:
        print("The kernel's autogroup is off: no neighbors in a group of their own.")
    yield from ((count, group) for group in groups for count in range(1, most + 1))


@contextlib.contextmanager
def _databases(count: int) -> Iterator[list[str]]:
    """Run a PostgreSQL server on both cores, with empty databases."""
    with own_postgres() as postgres, psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
        for number in range(count):
            admin.execute(f"CREATE DATABASE waypost{number}".encode())
        yield [f"{postgres.url}/waypost{number}" for number in range(count)]


@contextlib.contextmanager
def _site(checkout: Path, data: Path, url: str, options: argparse.Namespace) -> Iterator[Site]:
    """Run the version of a checkout on the first core, with links, and with stopped neighbors in its session."""
    data.mkdir()
    pids, launcher, program = data / "neighbors", data / "launcher", checkout / ".venv/bin/waypost"
    numbers = " ".join(map(str, range(_NEIGHBORS)))
    launcher.write_text(_SESSION.format(numbers=numbers, pids=pids, program=program, loop=_LOOP))
    launcher.chmod(0o700)
    settings = {"database_url": url, "api_workers": str(options.api_workers), "workers": str(options.workers)}
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: _kill(_lines(pids)))
        server = stack.enter_context(servers.waypost(data, settings, executable=launcher))
        for process in server.processes():
            servers.pin(process, "0")
        key = _create_account(program, data, settings)
        limit = {"clicklimit": int(_UNLIMITED)} if options.limited else {}
        for number in range(_LINKS):
            custom = {"custom": "a-hot"} if number == 0 else {"custom": "a-link", **limit} if number == 1 else {}
            servers.call(server, key, "POST", "/url/add", {"url": "https://example.com/page", **custom})
        yield Site(server, key, "a-link", _lines(pids))


def _create_account(program: Path, data: Path, settings: Mapping[str, str]) -> str:
    """Create an account without a rate limit, by the version's own command. Return its key."""
    command = [str(program), "account", "add", "--email", "ana@example.com", "--username", "ana", "--json"]
    environment = servers.environment({"data_dir": str(data), **settings})
    printed = subprocess.run([*command, "--rate-limit", _UNLIMITED], env=environment, capture_output=True, check=True)
    return str(json.loads(printed.stdout)["apikey"])


@contextlib.contextmanager
def _strangers(folder: Path) -> Iterator[list[int]]:
    """Start stopped neighbors on the first core, in a session of their own."""
    pids = folder / "strangers"
    loops = f"for n in {' '.join(map(str, range(_NEIGHBORS)))}; do sh -c '{_LOOP}' & echo $! >> {pids}; done"
    subprocess.run(["taskset", "-c", "0", "sh", "-c", loops], start_new_session=True, check=True)
    try:
        yield _lines(pids)
    finally:
        _kill(_lines(pids))


def _lines(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def _kill(processes: Sequence[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def _neighboring(neighbors: Sequence[int], situation: Situation, own_group_starts: int) -> Iterator[None]:
    """Let the neighbors of a situation run."""
    count, group = situation
    busy = neighbors[own_group_starts if group == "own" else 0 :][:count]
    for process in busy:
        os.kill(process, signal.SIGCONT)
    try:
        yield
    finally:
        for process in busy:
            os.kill(process, signal.SIGSTOP)


def _measure(site: Site, situation: Situation, script: Path, seconds: int) -> None:
    results = site.results.setdefault(situation, Results())
    command = ["nice", "wrk", "-t1", "-c2", f"-d{seconds}s", "--timeout", "30s", "-s", str(script)]
    command += ["-H", f"Authorization: Bearer {site.key}", "-H", "Content-Type: application/json", site.server.url]
    with ThreadPoolExecutor(1) as threads:
        client = threads.submit(_follow, site, seconds)
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        results.redirects += client.result()
    match = re.search(r"(\d+) requests in ([\d.]+)s", text)
    if match is None or "Non-2xx" in text:
        sys.exit(f"unexpected output of wrk:\n{text}")
    results.requests += int(match[1])
    results.seconds += float(match[2])


def _follow(site: Site, seconds: int) -> list[float]:
    """Follow the link and return the milliseconds of each redirect."""
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=60)
    end = time.monotonic() + seconds
    times = []
    with contextlib.closing(connection):
        while time.monotonic() < end:
            began = time.perf_counter()
            connection.request("GET", f"/{site.alias}")
            response = connection.getresponse()
            response.read()
            times.append((time.perf_counter() - began) * 1000)
            assert response.status == 302, response.status
            time.sleep(_PAUSE_SECONDS)
    return times


def _print_table(sites: Mapping[Path, Site], situations: Sequence[Situation]) -> None:
    print(f"{'busy loops, group':20}{'redirects ms: p50':>17}{'p95':>9}{'max':>9}{'API per s':>12}")
    for (count, group), (checkout, site) in itertools.product(situations, sites.items()):
        print(f"{count} {group:18}{'':8}{site.results[count, group]}  {checkout.name}")


if __name__ == "__main__":
    main()
