"""Two nodes over one PostgreSQL that fails: `python -m bench.recovery [--rounds N] [--away SECONDS]`.

First how long after its answer a change on one node is in force on the other, with every connection of that one well,
reset, or fallen silent a moment before. Then how long after PostgreSQL was killed and answers again, or stood still and
goes on, every node takes changes again. Last, a database that is away for a while: what visitors and the API are told
meanwhile, and whether all is counted afterwards. Servers, database and load share the machine's cores.
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

from bench.servers import Server, call, environment, free_port, program, running, status, until
from tests.support.postgres import Postgres, own_postgres
from tests.support.tcp_proxy import Relay, relaying
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.server.startup import make_account

_BAR_CHANGE, _BAR_RECOVERY = 1.0, 5.0
_STILL = 3.0
_LINK = json.dumps({"url": "https://example.com/page"}).encode()


@dataclass(frozen=True)
class World:
    """Two nodes, the second behind a relay to the database; the key of an account, and the id of the link `spring`."""

    postgres: Postgres
    relay: Relay
    nodes: tuple[Server, Server]
    key: str
    link: int

    def status(self, node: Server, method: str, path: str, body: bytes | None = None) -> int:
        """The status of an answer, 0 without one."""
        return status(node, self.key, method, path, body)

    def writes(self, node: Server) -> bool:
        """Whether a link can be made."""
        return self.status(node, "POST", "/api/url/add", _LINK) == 200

    def clicks(self) -> int:
        """As the second node says, which has answered all."""
        return int(call(self.nodes[1], self.key, "GET", f"/url/{self.link}")["data"]["clicks"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="of each change; half as many failures")
    parser.add_argument("--away", type=int, default=30, help="seconds that the database is away")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name, _world(Path(name)) as world:
        for what, before in (
            ("all is well", lambda: None),
            ("its connections were reset", world.relay.reset),
            ("its connections fell silent", world.relay.silence),
        ):
            told = [_change(world, n, before) for n in range(given.rounds)]
            _print(f"a change in force on the other node, {what}", told, _BAR_CHANGE)
        failures = max(1, given.rounds // 2)
        for what, fail in (("was killed", _killed), (f"stood still for {_STILL:.0f} s", _stopped)):
            told = [_recovery(world, fail) for _ in range(failures)]
            _print(f"every node takes changes again after PostgreSQL {what}", told, _BAR_RECOVERY)
        _away(world, given.away)


def _print(what: str, seconds: list[float], bar: float) -> None:
    told = f"{median(seconds):5.2f} s, at most {max(seconds):5.2f} s of {len(seconds)}"
    print(f"{what}: {told} (bar: {bar:.0f} s)", flush=True)


@contextlib.contextmanager
def _world(folder: Path) -> Iterator[World]:
    with own_postgres() as postgres, relaying(postgres.port) as relay, contextlib.ExitStack() as stack:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        with contextlib.closing(Database(f"{postgres.url}/waypost")) as database:
            upgrade(database)
            made = make_account(database, email="ana@example.com", username="ana", rate_limit=1_000_000_000)
        nodes = []
        for port in (postgres.port, relay.port):
            home, own = folder / f"node-{port}", free_port()
            home.mkdir()
            given = {"data_dir": str(home), "log_level": "error", "port": str(own)}
            given["database_url"] = f"postgresql://postgres@127.0.0.1:{port}/waypost"
            nodes.append(stack.enter_context(running([program(), "serve"], own, home, environment(given))))
        link = call(nodes[0], made.apikey, "POST", "/url/add", {"url": "https://example.com/", "custom": "spring"})
        yield World(postgres, relay, (nodes[0], nodes[1]), made.apikey, int(link["id"]))


def _change(world: World, number: int, before: Callable[[], None]) -> float:
    """Seconds from the answer of the first node until the second one answers otherwise."""
    until(lambda: world.status(world.nodes[1], "GET", "/spring") in (302, 403))
    is_open = world.status(world.nodes[1], "GET", "/spring") == 302
    state, wanted = ("disabled", 403) if is_open else ("public", 302)
    time.sleep(0.1 + 0.037 * (number % 11))  # at any moment between two looks
    before()
    call(world.nodes[0], world.key, "PUT", f"/url/{world.link}/update", {"status": state})
    seconds = until(lambda: world.status(world.nodes[1], "GET", "/spring") == wanted)
    until(lambda: world.writes(world.nodes[1]))
    return seconds


def _recovery(world: World, fail: Callable[[World], None]) -> float:
    """Seconds from when PostgreSQL answers again until both nodes take changes, while many ask."""
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.01):
            for node in world.nodes:
                world.writes(node)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    try:
        time.sleep(1)
        fail(world)
        return until(lambda: all(world.writes(node) for node in world.nodes))
    finally:
        over.set()
        for thread in asking:
            thread.join()


def _killed(world: World) -> None:
    world.postgres.kill()
    time.sleep(_STILL)
    world.postgres.start()


def _stopped(world: World) -> None:
    world.postgres.signal(signal.SIGSTOP)
    time.sleep(_STILL)
    world.postgres.signal(signal.SIGCONT)


def _away(world: World, seconds: int) -> None:
    """Print what visitors and the API are told while the database is away, and what is counted afterwards."""
    node = world.nodes[1]
    call(world.nodes[0], world.key, "PUT", f"/url/{world.link}/update", {"status": "public"})
    time.sleep(2)  # until nothing is forgotten any more
    until(lambda: world.status(node, "GET", "/spring") == 302)
    known = world.clicks()
    slowest, redirects, answers = 0.0, Counter[int](), Counter[int]()
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.05):
            answers[world.status(node, "GET", "/api/account")] += 1

    asking = threading.Thread(target=ask)
    world.relay.cut()
    ends = time.perf_counter() + seconds
    asking.start()
    while (began := time.perf_counter()) < ends:
        redirects[world.status(node, "GET", "/spring")] += 1
        slowest = max(slowest, time.perf_counter() - began)
        time.sleep(0.001)
    over.set()
    asking.join()
    world.relay.mend()
    again = until(lambda: world.writes(node))
    counted = again + until(lambda: world.status(node, "GET", f"/api/url/{world.link}") == 200)
    print(f"the database away for {seconds} s: redirects {_told(redirects)}, at most {slowest * 1000:.0f} ms each;")
    print(
        f"  the API {_told(answers)}; changes are taken again after {again:.2f} s, numbers told after {counted:.2f} s:"
    )
    print(f"  {world.clicks() - known:,} clicks counted of {redirects[302]:,} answered", flush=True)


def _told(answers: Counter[int]) -> str:
    return ", ".join(f"{n:,} times {status}" for status, n in sorted(answers.items()))


if __name__ == "__main__":
    main()
