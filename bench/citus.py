"""Clicks before, on and after the nodes of Citus: `python -m bench.citus postgresql://…/empty-database`.

The database is an empty one on the coordinator of a cluster, with the extension. Visitors request redirects without a
pause, while the statistics move to the nodes, a node stops and starts again (`--stop` and `--start` are shell
commands), and the statistics move back. Prints the redirects of each phase, how long they took, and how many are
counted; exits with 1 if a click is missing or counted twice.
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import quantiles

from bench.servers import Server, account, call, call_counted, environment, free_port, program, running, status
from tests.support.threads import join

_LINKS, _VISITORS, _PHASE_SECONDS = 20, 4, 10.0


@dataclass
class Visitors:
    """Threads that request redirects. Each answered one has its milliseconds in `times`; `failures` have none."""

    server: Server
    times: list[float] = field(default_factory=list)
    failures: int = 0
    answered: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def visit(self, first: int) -> None:
        """Request one link after the other until the end."""
        link = first
        while not self.ended.is_set():
            link = (link + 1) % _LINKS
            began = time.perf_counter()
            if status(self.server, "", "GET", f"/bench-{link}") == 302:
                self.times.append((time.perf_counter() - began) * 1000)
                self.answered += 1
            else:
                self.failures += 1

    def report(self, phase: str) -> None:
        """Print the redirects since the last report."""
        times, self.times = self.times, []
        p95 = quantiles(times, n=20)[-1]
        print(f"{phase:24} {len(times):8,} redirects, p95 {p95:6.2f} ms, longest {max(times):8.1f} ms", flush=True)


def main() -> None:
    """Run all phases and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("database")
    parser.add_argument("--stop", help="shell command that stops a node of the cluster")
    parser.add_argument("--start", help="shell command that starts it again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        settings = {"database_url": arguments.database, "data_dir": name}
        with _service(Path(name), settings) as (server, key):
            command = partial(_command, environment({**settings, "base_url": server.url}))
            with _visitors(server) as visitors:
                _phases(visitors, command, arguments.stop, arguments.start)
            counted = sum(link["clicks"] for link in call_counted(server, key, f"/urls?limit={_LINKS}")["data"]["urls"])
            print(command("clicks", "verify"), end="")
    print(f"{visitors.answered:,} redirects answered, {counted:,} clicks counted, {visitors.failures} requests failed")
    sys.exit(counted != visitors.answered)


@contextmanager
def _service(folder: Path, settings: dict[str, str]) -> Iterator[tuple[Server, str]]:
    port = free_port()
    own = {**settings, "base_url": f"http://127.0.0.1:{port}"}
    with running([program(), "serve", "--port", str(port)], port, folder, environment(own)) as server:
        key = account(folder, settings=own)
        for link in range(_LINKS):
            call(server, key, "POST", "/url/add", {"url": "https://example.com/", "custom": f"bench-{link}"})
        yield server, key


@contextmanager
def _visitors(server: Server) -> Iterator[Visitors]:
    visitors = Visitors(server)
    threads = [threading.Thread(target=visitors.visit, args=(5 * number,)) for number in range(_VISITORS)]
    for thread in threads:
        thread.start()
    try:
        yield visitors
    finally:
        visitors.ended.set()
        for thread in threads:
            join(thread)


def _phases(visitors: Visitors, command: Callable[..., str], stop: str | None, start: str | None) -> None:
    time.sleep(_PHASE_SECONDS)
    visitors.report("on the coordinator")
    command("distribute", "--yes")
    visitors.report("while they move")
    time.sleep(_PHASE_SECONDS)
    visitors.report("on the nodes")
    if stop and start:
        subprocess.run(stop, shell=True, check=True)  # a command from the command line
        time.sleep(_PHASE_SECONDS)
        visitors.report("while a node is stopped")
        subprocess.run(start, shell=True, check=True)  # as above
        time.sleep(_PHASE_SECONDS)
        visitors.report("after its start")
    command("distribute", "--undo", "--yes")
    visitors.report("while they move back")
    time.sleep(_PHASE_SECONDS)
    visitors.report("on the coordinator again")


def _command(own: dict[str, str], *arguments: str) -> str:
    return subprocess.run([program(), *arguments], env=own, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
