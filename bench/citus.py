"""Clicks before, on and after the nodes of Citus: `python -m bench.citus postgresql://…/empty-database`.

The database is an empty one on the coordinator of a cluster, with the extension. Visitors request redirects without a
pause, while the statistics, or all items (`--everything`), move to the nodes, the calls of the tour run, a node stops
and starts again (`--stop` and `--start` are shell commands), and the tables move back. Prints the redirects of each
phase and how long they took, also the first one of links that are not in memory, and what reads of statistics are
answered; then how many are counted, and what a restored backup contains. Exits with 1 if a click is missing or counted
twice, or if a call of the tour fails.
"""

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import quantiles

from bench.servers import Server, account, call, call_counted, environment, free_port, program, running, status, until
from tests.support.newcomer import shell_blocks
from tests.support.threads import join

_LINKS, _VISITORS, _PHASE_SECONDS = 20, 4, 10.0
_COLD_LINKS = 200
_STATISTICS_SECONDS = 0.1
_TOUR = Path(__file__).parent.parent / "docs" / "tour.md"
_COUNT_CALLS = """curl() { command curl --write-out '%{stderr}\\nstatus %{http_code}\\n' "$@"; }\n"""


@dataclass
class Visitors:
    """Threads that request redirects. Each answered one has its milliseconds in `times`; `failures` have none."""

    server: Server
    key: str
    times: list[float] = field(default_factory=list)
    failed: Counter[int] = field(default_factory=Counter)
    statistics: Counter[int] = field(default_factory=Counter)
    failures: int = 0
    answered: int = 0
    created: Iterator[int] = field(default_factory=count)
    ended: threading.Event = field(default_factory=threading.Event)

    def visit(self, first: int) -> None:
        """Request one link after the other until the end."""
        link = first
        while not self.ended.is_set():
            link = (link + 1) % _LINKS
            began = time.perf_counter()
            answer = status(self.server, "", "GET", f"/bench-{link}")
            if answer == 302:
                self.times.append((time.perf_counter() - began) * 1000)
            self._count(answer)

    def read_statistics(self) -> None:
        """Request the statistics of the account again and again until the end."""
        while not self.ended.wait(_STATISTICS_SECONDS):
            self.statistics[status(self.server, self.key, "GET", "/api/stats")] += 1

    def _create(self, path: str) -> bool:
        """Create a link. Return False if the service is not available."""
        body = json.dumps({"url": "https://example.com/", "custom": path[1:]}).encode()
        answer = status(self.server, self.key, "POST", "/api/url/add", body)
        if answer == 503:
            self._count(answer)
        elif answer != 200:
            sys.exit(f"creation of a link answered {answer}")
        return answer == 200

    def _count(self, answer: int) -> None:
        if answer == 302:
            self.answered += 1
        else:
            self.failures += 1
            self.failed[answer] += 1

    def report(self, phase: str, *, cold: bool = False) -> None:
        """Print the redirects since the last report; with `cold`, also the first ones of new links."""
        times, self.times = self.times, []
        failed, self.failed = self.failed, Counter()
        _print_times(phase, times)
        for answer, number in failed.items():
            print(f"  answered {answer:<15} {number:8,} times", flush=True)
        read, self.statistics = self.statistics, Counter()
        print(f"  statistics{'':14} " + ", ".join(f"{number:8,} answered {answer}" for answer, number in read.items()))
        if cold:
            _print_times("  first ones of new links", [self._first_visit() for _ in range(_COLD_LINKS)])

    def _first_visit(self) -> float:
        """Create a link and return the milliseconds of its first redirect."""
        path = f"/cold-{next(self.created)}"
        until(partial(self._create, path))
        began = time.perf_counter()
        answer = status(self.server, "", "GET", path)
        milliseconds = (time.perf_counter() - began) * 1000
        self._count(answer)
        return milliseconds


def _print_times(phase: str, times: list[float]) -> None:
    p95 = quantiles(times, n=20)[-1]
    print(f"{phase:26} {len(times):8,} redirects, p95 {p95:6.2f} ms, longest {max(times):8.1f} ms", flush=True)


def main() -> None:
    """Run all phases and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("--everything", action="store_true", help="distribute all items, not only statistics")
    parser.add_argument("--local", action="store_true", help="move no table; the database may be without Citus")
    parser.add_argument("--stop", help="shell command that stops a node of the cluster")
    parser.add_argument("--start", help="shell command that starts it again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        settings = {"database_url": arguments.database, "data_dir": name, "domain_check": "off"}
        with _service(Path(name), settings) as (server, key):
            own = environment({**settings, "base_url": server.url})
            command = partial(_command, own)
            with _visitors(server, key) as visitors:
                failed = _phases(visitors, own, arguments)
            counted = _clicks(server, key)
            print(command("clicks", "verify"), end="")
            restored = _restored_clicks(command, Path(name))
    print(f"{visitors.answered:,} redirects answered, {counted:,} clicks counted, {visitors.failures} requests failed")
    print(f"{restored:,} clicks in the restored backup")
    sys.exit(bool(failed) or {counted, restored} != {visitors.answered})


@contextmanager
def _service(folder: Path, settings: dict[str, str]) -> Iterator[tuple[Server, str]]:
    port = free_port()
    own = {**settings, "base_url": f"http://127.0.0.1:{port}"}
    with running([program(), "serve", "--port", str(port)], port, folder, environment(own)) as server:
        key = account(folder, "--rate-limit", "1000000", settings=own)
        for link in range(_LINKS):
            call(server, key, "POST", "/url/add", {"url": "https://example.com/", "custom": f"bench-{link}"})
        yield server, key


@contextmanager
def _visitors(server: Server, key: str) -> Iterator[Visitors]:
    visitors = Visitors(server, key)
    threads = [threading.Thread(target=visitors.visit, args=(5 * number,)) for number in range(_VISITORS)]
    threads.append(threading.Thread(target=visitors.read_statistics))
    for thread in threads:
        thread.start()
    try:
        yield visitors
    finally:
        visitors.ended.set()
        for thread in threads:
            join(thread)


def _phases(visitors: Visitors, own: dict[str, str], arguments: argparse.Namespace) -> int:
    """Run all phases. Return how many calls of the tour failed."""
    command = partial(_command, own)
    time.sleep(_PHASE_SECONDS)
    visitors.report("on one server", cold=True)
    if arguments.local:
        failed = _tour(visitors.server, own)
        visitors.report("during the tour")
        return failed
    command("distribute", "--yes", *(["--everything"] if arguments.everything else []))
    visitors.report("while they move")
    time.sleep(_PHASE_SECONDS)
    visitors.report("on the nodes", cold=True)
    failed = _tour(visitors.server, own)
    visitors.report("during the tour")
    if arguments.stop and arguments.start:
        subprocess.run(arguments.stop, shell=True, check=True)  # a command from the command line
        time.sleep(_PHASE_SECONDS)
        visitors.report("while a node is stopped")
        subprocess.run(arguments.start, shell=True, check=True)  # as above
        time.sleep(_PHASE_SECONDS)
        visitors.report("after its start", cold=True)
    command("distribute", "--undo", "--yes")
    visitors.report("while they move back")
    time.sleep(_PHASE_SECONDS)
    visitors.report("on one server again", cold=True)
    return failed


def _tour(server: Server, own: dict[str, str]) -> int:
    """Run the blocks of the tour; print how many calls succeeded, and return how many failed."""
    script = _COUNT_CALLS + "\n".join(shell_blocks(_TOUR)).replace("http://localhost:8000", server.url)
    path = f"{Path(program()).parent}:{own['PATH']}"
    with tempfile.TemporaryDirectory(prefix="waypost-tour-") as folder:
        command = ["bash", "-c", script]
        done = subprocess.run(
            command, cwd=folder, env={**own, "PATH": path}, capture_output=True, text=True, check=False
        )
    statuses = re.findall(r"^status (\d+)$", done.stderr, re.MULTILINE)
    failed = [number for number in statuses if not number.startswith(("2", "3"))]
    print(f"{'the tour':26} {len(statuses):8,} calls, {len(failed)} failed {failed or ''}", flush=True)
    return len(failed) + (not statuses)


def _clicks(server: Server, key: str) -> int:
    """Return the clicks of all links of the account."""
    listed = call_counted(server, key, "/urls?limit=100")["data"]
    pages = range(2, listed["maxpage"] + 1)
    rest = [call_counted(server, key, f"/urls?limit=100&page={page}")["data"] for page in pages]
    return sum(link["clicks"] for data in (listed, *rest) for link in data["urls"])


def _restored_clicks(command: Callable[..., str], folder: Path) -> int:
    """Make a backup, restore it on SQLite, and return the clicks of the links of the account there."""
    archive, data = folder / "backup.waypost", folder / "restored"
    command("backup", str(archive))
    own = environment({"data_dir": str(data), "base_url": "http://127.0.0.1:1"})
    print(_command(own, "restore", str(archive)).strip().splitlines()[-1])
    print(_command(own, "clicks", "verify"), end="")
    with closing(sqlite3.connect(data / "waypost.db")) as connection:
        query = "SELECT sum(clicks) FROM links JOIN accounts ON accounts.id = account WHERE username = 'ana'"
        (clicks,) = connection.execute(query).fetchone()
    return int(clicks)


def _command(own: dict[str, str], *arguments: str) -> str:
    return subprocess.run([program(), *arguments], env=own, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
