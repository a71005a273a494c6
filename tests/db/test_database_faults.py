"""A PostgreSQL that is away, slow, silent, killed or read-only: what is known goes on, all is counted afterwards."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.support.load import ALIASES, Load, add_ana, check, new_link, until
from tests.support.postgres import FAST, Postgres, own_postgres
from tests.support.server import Server, at_once, processes, serving
from tests.support.tcp_proxy import Relay, relaying
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_CROWD = 200


@dataclass(frozen=True)
class World:
    """A node, the relay between it and its database, and the database's server."""

    node: Server
    relay: Relay
    postgres: Postgres
    key: str

    def add(self, alias: str, **fields: object) -> None:
        """Make a link."""
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        assert self.node.call("POST", "/api/url/add", key=self.key, json=body).status_code == 200

    def visit(self, alias: str) -> int:
        """The status of a visit."""
        return self.node.call("GET", f"/{alias}", follow_redirects=False, headers={"User-Agent": "curl/8"}).status_code

    def works(self) -> bool:
        """Whether a link can be changed."""
        answer = self.node.call("POST", "/api/url/add", key=self.key, json={"url": "https://example.com/"})
        assert answer.status_code in (200, 503), answer.text
        return answer.status_code == 200

    def clicks(self, alias: str) -> int:
        """How many clicks a link has, as soon as the node says a number."""
        answers: list[httpx2.Response] = []

        def says() -> bool:
            answers.append(self.node.call("GET", "/api/urls", key=self.key, params={"short": alias}))
            assert answers[-1].status_code in (200, 503), answers[-1].text
            return answers[-1].status_code == 200

        until(says)
        return int(answers[-1].json()["data"]["clicks"])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One for the module."""
    with own_postgres(*FAST) as postgres, relaying(postgres.port) as relay:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        database = Database(f"{postgres.url}/waypost")
        upgrade(database)
        key = database.write(add_ana)
        database.close()
        url = f"postgresql://postgres@127.0.0.1:{relay.port}/waypost"
        with serving(tmp_path_factory.mktemp("node"), database_url=url) as node:
            yield World(node, relay, postgres, key)
            assert "Traceback" not in node.output()


@pytest.fixture(autouse=True)
def _as_it_was(world: World) -> None:
    """Each test finds it at work, also after one that failed."""
    until(world.works)


def test_what_is_known_goes_on_without_a_database_and_is_counted_afterwards(world: World) -> None:
    world.add("away-hot")
    world.add("away-targeted", geotarget=[{"location": "Germany", "link": "https://example.de/"}])
    world.add("away-limited", clicklimit=5)
    known = ("away-hot", "away-targeted")
    answered = {alias: [world.visit(alias) for _ in range(3)].count(302) for alias in known}
    assert world.visit("away-limited") == 302
    world.relay.cut()
    for _ in range(20):
        for alias in known:
            answered[alias] += world.visit(alias) == 302
    refused = world.node.call("GET", "/api/account", key=world.key)
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
    assert int(refused.headers["retry-after"]) > 0
    # A limit that cannot be asked is not passed, and what nobody has looked up yet nobody knows.
    assert [world.visit(alias) for alias in ("away-limited", "away-never-seen")] == [503, 503]
    health = [world.node.call("GET", path).status_code for path in ("/healthz", "/readyz")]
    told = '{"reason": "connection failed: connection to server at'
    until(lambda: any(line.startswith(told) and "database is not" in line for line in world.node.output().splitlines()))
    assert health == [200, 503]
    world.relay.mend()
    until(world.works)
    assert answered == dict.fromkeys(known, 23)
    assert {alias: world.clicks(alias) for alias in known} == answered
    assert world.clicks("away-limited") == 1


def test_a_reset_of_every_connection_is_not_noticed_by_who_asks_next(world: World) -> None:
    for number in range(5):
        world.add(f"reset-{number}")
        world.relay.reset()
    assert [world.visit(f"reset-{number}") for number in range(5)] == [302] * 5


def test_a_change_is_heard_after_the_connections_fell_silent(world: World) -> None:
    world.add("silent")
    assert world.visit("silent") == 302
    world.relay.silence()
    with psycopg.connect(f"{world.postgres.url}/waypost") as elsewhere:
        elsewhere.execute("UPDATE links SET status = 'disabled' WHERE alias = 'silent'")
        elsewhere.execute("INSERT INTO changes (host, alias, at) VALUES ('', 'silent', 0)")
    until(lambda: world.visit("silent") == 403)
    until(world.works)


def test_a_slow_database_is_waited_for(world: World) -> None:
    world.relay.delay = 0.1
    try:
        world.add("slow")
        assert world.visit("slow") == 302
        assert world.clicks("slow") == 1
    finally:
        world.relay.delay = 0.0


def test_a_crowd_before_a_database_that_stands_still_is_refused_and_visitors_of_known_links_are_not(
    world: World,
) -> None:
    world.add("still")
    assert world.visit("still") == 302
    world.postgres.signal(signal.SIGSTOP)
    try:
        asked = at_once([lambda n=n: world.visit(f"nothing-{n}") for n in range(_CROWD)])  # type: ignore[misc]
        assert set(asked) == {503}
        assert world.visit("still") == 302
    finally:
        world.postgres.signal(signal.SIGCONT)
    until(world.works)
    assert world.visit("nothing-1") == 404
    assert world.clicks("still") == 2


def test_a_standby_is_read_from_and_a_new_first_server_is_found(world: World) -> None:
    world.add("standby")
    world.add("standby-limited", clicklimit=3)
    world.postgres.stop()
    world.postgres.become_standby()
    world.postgres.start()
    until(lambda: world.visit("standby") == 302)
    assert not world.works()
    assert world.visit("standby-limited") == 503
    with psycopg.connect(f"{world.postgres.url}/postgres", autocommit=True) as admin:
        admin.execute("SELECT pg_promote()")
    until(world.works)
    assert world.visit("standby-limited") == 302
    assert [world.clicks(alias) for alias in ("standby", "standby-limited")] == [1, 1]


def test_a_database_server_that_is_killed_costs_no_click_no_write_and_no_limit(world: World) -> None:
    for alias in (*ALIASES, "limited"):
        body = new_link(alias)
        assert world.node.call("POST", "/api/url/add", key=world.key, content=body).status_code == 200
    load = Load(refuses=True)
    with load.on(world.node, world.key):
        for _ in range(2):
            load.wait_for_progress()
            world.postgres.kill()
            load.wait_for_progress()
            world.postgres.start()
            promised = len(load.promised)
            until(lambda: len(load.promised) > promised)  # noqa: B023
    check(world.node, world.key, load)


def test_workers_that_are_replaced_while_the_database_is_away_wait_for_it(world: World, tmp_path: Path) -> None:
    url = f"postgresql://postgres@127.0.0.1:{world.relay.port}/waypost"
    with serving(tmp_path / "node", database_url=url, workers=2) as node:
        world.relay.cut()
        for worker in processes(node)[0]:
            worker.kill()
        until(lambda: _is_ready(node, 503))
        world.relay.mend()
        until(lambda: _is_ready(node, 200))
    until(world.works)


def _is_ready(node: Server, status: int) -> bool:
    with suppress(httpx2.TransportError):  # a worker that was killed has taken the connection
        return node.call("GET", "/readyz").status_code == status
    return False
