"""Failover of two nodes to PostgreSQL's synchronous standby: `python -m bench.failover [--rounds N]`.

Under load the primary is killed or stopped, and the standby is promoted two seconds later. Measures the time until both
nodes accept writes, and checks that every acknowledged write and click is present and that no click limit is exceeded.
A stopped primary resumes before the check.
"""

import argparse
import contextlib
import itertools
import json
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from bench.servers import Server, call, environment, free_port, program, running, status, until
from tests.support.postgres import Postgres, own_postgres
from tests.support.threads import join
from waypost.admin.new_accounts import create_account
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_OUTAGE_SECONDS, _SETTLE_SECONDS = 2.0, 5.0
_LIMIT = 200
_numbers = itertools.count()


@dataclass(frozen=True)
class Cluster:
    """A primary, its standby, and two nodes whose database URL names both."""

    primary: Postgres
    standby: Postgres
    nodes: tuple[Server, Server]
    key: str
    redirects: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)

    def visits(self, node: Server, alias: str) -> None:
        """Visit a link once."""
        if status(node, self.key, "GET", f"/{alias}") == 302:
            self.redirects.append(alias)

    def can_write(self, node: Server) -> bool:
        """Return whether a link can be created."""
        alias = f"created-{next(_numbers)}"
        is_created = status(node, self.key, "POST", "/api/url/add", _link(alias)) == 200
        if is_created:
            self.created.append(alias)
        return is_created


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each failure")
    arguments = parser.parse_args()
    for fault, failure in (("was killed", signal.SIGKILL), ("was stopped", signal.SIGSTOP)):
        times = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, _running_cluster(Path(name)) as cluster:
                times.append(_round(cluster, failure))
        seconds = f"{median(times):5.2f} s, at most {max(times):5.2f} s of {len(times)}"
        print(f"every node accepts writes after the primary {fault}: {seconds} (limit: 5 s)", flush=True)


def _link(alias: str, **fields: object) -> bytes:
    return json.dumps({"url": f"https://example.com/{alias}", "custom": alias, **fields}).encode()


@contextlib.contextmanager
def _running_cluster(folder: Path) -> Iterator[Cluster]:
    with own_postgres() as primary, contextlib.ExitStack() as stack:
        _execute(primary, "CREATE DATABASE waypost")
        with contextlib.closing(Database(f"{primary.url}/waypost")) as database:
            upgrade(database)
            owner = create_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
        standby = stack.enter_context(primary.running_standby())
        _execute(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        hosts = "&".join(f"host=127.0.0.1:{server.port}" for server in (primary, standby))
        url = f"postgresql://postgres@/waypost?{hosts}&target_session_attrs=read-write"
        nodes = []
        for number in range(2):
            home, port = folder / f"node-{number}", free_port()
            home.mkdir()
            settings = {"data_dir": str(home), "log_level": "error", "port": str(port), "database_url": url}
            nodes.append(stack.enter_context(running([program(), "serve"], port, home, environment(settings))))
        cluster = Cluster(primary, standby, (nodes[0], nodes[1]), owner.apikey)
        for body in (_link("spring"), _link("limited", clicklimit=_LIMIT)):
            until(lambda body=body: status(nodes[0], owner.apikey, "POST", "/api/url/add", body) == 200)  # type: ignore[misc]
        yield cluster


def _round(cluster: Cluster, failure: signal.Signals) -> float:
    """Return the seconds from the promotion until both nodes accept writes. Exits if anything is lost."""
    stop = threading.Event()

    def send_requests(node: Server) -> None:
        while not stop.wait(0.01):
            cluster.visits(node, "spring")
            cluster.visits(node, "limited")
            cluster.can_write(node)

    threads = [threading.Thread(target=send_requests, args=(node,)) for node in cluster.nodes for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(_OUTAGE_SECONDS)
        cluster.primary.signal(failure)
        time.sleep(_OUTAGE_SECONDS)
        _execute(cluster.standby, "SELECT pg_promote()")
        seconds = until(lambda: all(cluster.can_write(node) for node in cluster.nodes))
        cluster.primary.signal(signal.SIGCONT)
        time.sleep(_SETTLE_SECONDS)
    finally:
        stop.set()
        join(*threads)
    _check(cluster)
    return seconds


def _check(cluster: Cluster) -> None:
    for node in cluster.nodes:  # each node counts its own clicks
        until(lambda node=node: status(node, cluster.key, "GET", "/api/urls?short=spring") == 200)  # type: ignore[misc]
    counted = {}
    for alias in ("spring", "limited"):
        counted[alias] = int(call(cluster.nodes[0], cluster.key, "GET", f"/urls?short={alias}")["data"]["clicks"])
    missing = [alias for alias in cluster.created if status(cluster.nodes[1], cluster.key, "GET", f"/{alias}") != 302]
    redirects = dict(Counter(cluster.redirects))
    if missing or counted != redirects or counted["limited"] > _LIMIT:
        sys.exit(f"redirects {redirects}, clicks {counted}; of {len(cluster.created)} created links lost: {missing}")


def _execute(server: Postgres, *statements: str) -> None:
    with psycopg.connect(f"{server.url}/postgres", autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement.encode())


if __name__ == "__main__":
    main()
