"""Two nodes over a PostgreSQL and its synchronous standby: `python -m bench.failover [--rounds N]`.

Under visitors and changes the first server is killed, or stands still, and the standby is promoted two seconds later.
How long until both nodes take changes again, and is everything there afterwards that was answered: every change, every
click, and no click more than the limit allows? One that stood still goes on before that is looked at.
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
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.server.startup import make_account

_AWAY_SECONDS, _AFTERWARDS_SECONDS = 2.0, 5.0
_LIMIT = 200
_numbers = itertools.count()


@dataclass(frozen=True)
class World:
    """Two servers of which the second follows the first, and two nodes that know of both."""

    first: Postgres
    standby: Postgres
    nodes: tuple[Server, Server]
    key: str
    answered: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)

    def visits(self, node: Server, alias: str) -> None:
        """Visit a link once."""
        if status(node, self.key, "GET", f"/{alias}") == 302:
            self.answered.append(alias)

    def writes(self, node: Server) -> bool:
        """Whether a link can be made."""
        alias = f"made-{next(_numbers)}"
        is_made = status(node, self.key, "POST", "/api/url/add", _link(alias)) == 200
        if is_made:
            self.changes.append(alias)
        return is_made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="of each failure")
    given = parser.parse_args()
    for what, failure in (("was killed", signal.SIGKILL), ("stood still", signal.SIGSTOP)):
        told = []
        for _ in range(given.rounds):
            with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, _world(Path(name)) as world:
                told.append(_round(world, failure))
        seconds = f"{median(told):5.2f} s, at most {max(told):5.2f} s of {len(told)}"
        print(f"every node takes changes again after the first server {what}: {seconds} (bar: 5 s)", flush=True)


def _link(alias: str, **more: object) -> bytes:
    return json.dumps({"url": f"https://example.com/{alias}", "custom": alias, **more}).encode()


@contextlib.contextmanager
def _world(folder: Path) -> Iterator[World]:
    with own_postgres() as first, contextlib.ExitStack() as stack:
        _tell(first, "CREATE DATABASE waypost")
        with contextlib.closing(Database(f"{first.url}/waypost")) as database:
            upgrade(database)
            made = make_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
        standby = stack.enter_context(first.followed())
        _tell(first, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        hosts = "&".join(f"host=127.0.0.1:{one.port}" for one in (first, standby))
        url = f"postgresql://postgres@/waypost?{hosts}&target_session_attrs=read-write"
        nodes = []
        for number in range(2):
            home, port = folder / f"node-{number}", free_port()
            home.mkdir()
            given = {"data_dir": str(home), "log_level": "error", "port": str(port), "database_url": url}
            nodes.append(stack.enter_context(running([program(), "serve"], port, home, environment(given))))
        world = World(first, standby, (nodes[0], nodes[1]), made.apikey)
        for body in (_link("spring"), _link("limited", clicklimit=_LIMIT)):
            until(lambda body=body: status(nodes[0], made.apikey, "POST", "/api/url/add", body) == 200)  # type: ignore[misc]
        yield world


def _round(world: World, failure: signal.Signals) -> float:
    """Seconds from the promotion until both nodes take changes. Ends the process when something is missing."""
    over = threading.Event()

    def ask(node: Server) -> None:
        while not over.wait(0.01):
            world.visits(node, "spring")
            world.visits(node, "limited")
            world.writes(node)

    asking = [threading.Thread(target=ask, args=(node,)) for node in world.nodes for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        time.sleep(_AWAY_SECONDS)
        world.first.signal(failure)
        time.sleep(_AWAY_SECONDS)
        _tell(world.standby, "SELECT pg_promote()")
        seconds = until(lambda: all(world.writes(node) for node in world.nodes))
        world.first.signal(signal.SIGCONT)
        time.sleep(_AFTERWARDS_SECONDS)
    finally:
        over.set()
        for thread in asking:
            thread.join()
    _check(world)
    return seconds


def _check(world: World) -> None:
    for node in world.nodes:  # each counts its own
        until(lambda node=node: status(node, world.key, "GET", "/api/urls?short=spring") == 200)  # type: ignore[misc]
    counted = {}
    for alias in ("spring", "limited"):
        counted[alias] = int(call(world.nodes[0], world.key, "GET", f"/urls?short={alias}")["data"]["clicks"])
    missing = [alias for alias in world.changes if status(world.nodes[1], world.key, "GET", f"/{alias}") != 302]
    answered = dict(Counter(world.answered))
    if missing or counted != answered or counted["limited"] > _LIMIT:
        sys.exit(f"answered {answered}, counted {counted}, of {len(world.changes)} changes lost: {missing}")


def _tell(server: Postgres, *statements: str) -> None:
    with psycopg.connect(f"{server.url}/postgres", autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement.encode())


if __name__ == "__main__":
    main()
