"""Recovery of two nodes from faults of PostgreSQL: `python -m bench.fault_recovery [--rounds N] [--outage SECONDS]`.

1. Time until a change on one node applies on the other: with working, reset and unresponsive connections.
2. Time until every node accepts writes after PostgreSQL was killed and restarted, or stopped and resumed.
3. An outage: responses to visitors and API clients while the database is down, and the clicks counted afterwards.

Servers, database and load share the machine's cores.
"""

import argparse
import contextlib
import json
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psycopg

from bench.servers import Server, call, call_counted, environment, free_port, program, running, status, until
from tests.support.postgres import Postgres, own_postgres
from tests.support.tcp_proxy import TcpProxy, running_proxy
from tests.support.threads import join
from waypost.admin.new_accounts import create_account
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_CHANGE_LIMIT, _RECOVERY_LIMIT = 1.0, 5.0
_FAULT_SECONDS = 3.0
_LINK = json.dumps({"url": "https://example.com/page"}).encode()


@dataclass(frozen=True)
class Cluster:
    """Two nodes, the second connected through a TCP proxy; an API key, and the id of the link `spring`."""

    postgres: Postgres
    proxy: TcpProxy
    nodes: tuple[Server, Server]
    key: str
    link: int

    def status(self, node: Server, method: str, path: str, body: bytes | None = None) -> int:
        """Return the status of a response; 0 without one."""
        return status(node, self.key, method, path, body)

    def can_write(self, node: Server) -> bool:
        """Return whether a link can be created."""
        return self.status(node, "POST", "/api/url/add", _LINK) == 200

    def clicks(self) -> int:
        """Return the clicks counted by the second node, which answered all visits."""
        return int(call_counted(self.nodes[1], self.key, f"/url/{self.link}")["data"]["clicks"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each change; half as many failures")
    parser.add_argument("--outage", type=int, default=30, help="seconds that the database is down")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, _running_cluster(Path(name)) as cluster:
        for condition, inject_fault in (
            ("working connections", lambda: None),
            ("reset connections", cluster.proxy.reset),
            ("unresponsive connections", cluster.proxy.blackhole),
        ):
            seconds = [_change(cluster, n, inject_fault) for n in range(arguments.rounds)]
            _print(f"change applied on the other node, {condition}", seconds, _CHANGE_LIMIT)
        failures = max(1, arguments.rounds // 2)
        for fault, fail in (("was killed", _kill), (f"was stopped for {_FAULT_SECONDS:.0f} s", _pause)):
            seconds = [_recovery(cluster, fail) for _ in range(failures)]
            _print(f"every node accepts writes after PostgreSQL {fault}", seconds, _RECOVERY_LIMIT)
        _outage(cluster, arguments.outage)


def _print(label: str, seconds: list[float], limit: float) -> None:
    times = f"{median(seconds):5.2f} s, at most {max(seconds):5.2f} s of {len(seconds)}"
    print(f"{label}: {times} (limit: {limit:.0f} s)", flush=True)


@contextlib.contextmanager
def _running_cluster(folder: Path) -> Iterator[Cluster]:
    with own_postgres() as postgres, running_proxy(postgres.port) as proxy, contextlib.ExitStack() as stack:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        with contextlib.closing(Database(f"{postgres.url}/waypost")) as database:
            upgrade(database)
            owner = create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
        nodes = []
        for port in (postgres.port, proxy.port):
            home, own_port = folder / f"node-{port}", free_port()
            home.mkdir()
            settings = {"data_dir": str(home), "log_level": "error", "port": str(own_port)}
            settings["database_url"] = f"postgresql://postgres@127.0.0.1:{port}/waypost"
            nodes.append(stack.enter_context(running([program(), "serve"], own_port, home, environment(settings))))
        link = call(nodes[0], owner.apikey, "POST", "/url/add", {"url": "https://example.com/", "custom": "spring"})
        yield Cluster(postgres, proxy, (nodes[0], nodes[1]), owner.apikey, int(link["id"]))


def _change(cluster: Cluster, number: int, inject_fault: Callable[[], None]) -> float:
    """Return the seconds from the first node's response until the second one applies the change."""
    until(lambda: cluster.status(cluster.nodes[1], "GET", "/spring") in (302, 403))
    is_open = cluster.status(cluster.nodes[1], "GET", "/spring") == 302
    new_status, expected = ("disabled", 403) if is_open else ("public", 302)
    time.sleep(0.1 + 0.037 * (number % 11))  # at varying moments between two polls
    inject_fault()
    call(cluster.nodes[0], cluster.key, "PUT", f"/url/{cluster.link}/update", {"status": new_status})
    seconds = until(lambda: cluster.status(cluster.nodes[1], "GET", "/spring") == expected)
    until(lambda: cluster.can_write(cluster.nodes[1]))
    return seconds


def _recovery(cluster: Cluster, fail: Callable[[Cluster], None]) -> float:
    """Return the seconds from PostgreSQL's recovery until both nodes accept writes under load."""
    stop = threading.Event()

    def send_requests() -> None:
        while not stop.wait(0.01):
            for node in cluster.nodes:
                cluster.can_write(node)

    threads = [threading.Thread(target=send_requests) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)
        fail(cluster)
        return until(lambda: all(cluster.can_write(node) for node in cluster.nodes))
    finally:
        stop.set()
        join(*threads)


def _kill(cluster: Cluster) -> None:
    cluster.postgres.kill()
    time.sleep(_FAULT_SECONDS)
    cluster.postgres.start()


def _pause(cluster: Cluster) -> None:
    cluster.postgres.signal(signal.SIGSTOP)
    time.sleep(_FAULT_SECONDS)
    cluster.postgres.signal(signal.SIGCONT)


def _outage(cluster: Cluster, seconds: int) -> None:
    """Print the responses during an outage of the database, and the clicks counted afterwards."""
    node = cluster.nodes[1]
    call(cluster.nodes[0], cluster.key, "PUT", f"/url/{cluster.link}/update", {"status": "public"})
    time.sleep(2)  # until no cache invalidation is pending
    until(lambda: cluster.status(node, "GET", "/spring") == 302)
    clicks_before = cluster.clicks()
    slowest, redirects, responses = 0.0, Counter[int](), Counter[int]()
    stop = threading.Event()

    def send_requests() -> None:
        while not stop.wait(0.05):
            responses[cluster.status(node, "GET", "/api/account")] += 1

    thread = threading.Thread(target=send_requests)
    cluster.proxy.cut()
    deadline = time.perf_counter() + seconds
    thread.start()
    while (started := time.perf_counter()) < deadline:
        redirects[cluster.status(node, "GET", "/spring")] += 1
        slowest = max(slowest, time.perf_counter() - started)
        time.sleep(0.001)
    stop.set()
    join(thread)
    cluster.proxy.restore()
    write_seconds = until(lambda: cluster.can_write(node))
    read_seconds = write_seconds + until(lambda: cluster.status(node, "GET", f"/api/url/{cluster.link}") == 200)
    print(f"database down for {seconds} s: redirects {_counts(redirects)}, at most {slowest * 1000:.0f} ms each;")
    print(
        f"  the API {_counts(responses)}; writes accepted after {write_seconds:.2f} s,"
        f" counts readable after {read_seconds:.2f} s:"
    )
    print(f"  {cluster.clicks() - clicks_before:,} clicks counted of {redirects[302]:,} redirects", flush=True)


def _counts(statuses: Counter[int]) -> str:
    return ", ".join(f"{n:,} times {status}" for status, n in sorted(statuses.items()))


if __name__ == "__main__":
    main()
