"""Faults of PostgreSQL (down, slow, unresponsive, killed, read-only): cached links work, no click is lost."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.support.load import ALIASES, Load, add_ana, check, new_link, until
from tests.support.postgres import FAST_OPTIONS, Postgres, own_postgres
from tests.support.server import Server, at_once, processes, serving
from tests.support.tcp_proxy import TcpProxy, running_proxy
from waypost.db.database import Database
from waypost.db.upgrade import upgrade

_REQUESTS = 200


@dataclass(frozen=True)
class Installation:
    """A node, the TCP proxy between it and its database, and the database server."""

    node: Server
    proxy: TcpProxy
    postgres: Postgres
    key: str

    def add(self, alias: str, **fields: object) -> None:
        """Create a link."""
        body = {"url": f"https://example.com/{alias}", "custom": alias, **fields}
        assert self.node.call("POST", "/api/url/add", key=self.key, json=body).status_code == 200

    def visit(self, alias: str) -> int:
        """Return the status of a visit."""
        return self.node.call("GET", f"/{alias}", follow_redirects=False, headers={"User-Agent": "curl/8"}).status_code

    def can_write(self) -> bool:
        """Return whether a link can be created."""
        response = self.node.call("POST", "/api/url/add", key=self.key, json={"url": "https://example.com/"})
        assert response.status_code in (200, 503), response.text
        return response.status_code == 200

    def clicks(self, alias: str) -> int:
        """Wait until the node has counted; return the clicks of a link."""
        answers: list[httpx2.Response] = []

        def is_answered() -> bool:
            answers.append(self.node.call("GET", "/api/urls", key=self.key, params={"short": alias}))
            assert answers[-1].status_code in (200, 503), answers[-1].text
            return answers[-1].status_code == 200 and "x-statistics-age" not in answers[-1].headers

        until(is_answered)
        return int(answers[-1].json()["data"]["clicks"])


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Shared by the module."""
    with own_postgres(*FAST_OPTIONS) as postgres, running_proxy(postgres.port) as proxy:
        with psycopg.connect(f"{postgres.url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE waypost")
        database = Database(f"{postgres.url}/waypost")
        upgrade(database)
        key = database.write(add_ana)
        database.close()
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/waypost"
        with serving(tmp_path_factory.mktemp("node"), database_url=url) as node:
            yield Installation(node, proxy, postgres, key)
            assert "Traceback" not in node.output(), node.output().partition("Traceback")[2]


@pytest.fixture(autouse=True)
def _writable(installation: Installation) -> None:
    """Start each test with a working service, also after a failed test."""
    until(installation.can_write)


def test_cached_links_redirect_without_database_and_clicks_are_counted_later(installation: Installation) -> None:
    installation.add("away-hot")
    installation.add("away-targeted", geotarget=[{"location": "Germany", "link": "https://example.de/"}])
    installation.add("away-limited", clicklimit=5)
    cached = ("away-hot", "away-targeted")
    redirects = {alias: [installation.visit(alias) for _ in range(3)].count(302) for alias in cached}
    assert installation.visit("away-limited") == 302
    installation.proxy.cut()
    for _ in range(20):
        for alias in cached:
            redirects[alias] += installation.visit(alias) == 302
    response = installation.node.call("GET", "/api/account", key=installation.key)
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert int(response.headers["retry-after"]) > 0
    # Click limits and aliases that are not cached need the database.
    assert [installation.visit(alias) for alias in ("away-limited", "away-never-seen")] == [503, 503]
    health = [installation.node.call("GET", path).status_code for path in ("/healthz", "/readyz")]
    metrics = installation.node.call("GET", "/metrics").text
    assert "waypost_database_up 0.0" in metrics
    assert "waypost_journal_lag_bytes" not in metrics
    log_start = '{"reason": "connection failed: connection to server at'
    until(
        lambda: any(
            line.startswith(log_start) and "database is not" in line for line in installation.node.output().splitlines()
        )
    )
    assert health == [200, 503]
    installation.proxy.restore()
    until(installation.can_write)
    until(lambda: "waypost_database_up 1.0" in installation.node.call("GET", "/metrics").text)
    assert redirects == dict.fromkeys(cached, 23)
    assert {alias: installation.clicks(alias) for alias in cached} == redirects
    assert installation.clicks("away-limited") == 1


def test_reset_connections_are_replaced_without_error(installation: Installation) -> None:
    for number in range(5):
        installation.add(f"reset-{number}")
        installation.proxy.reset()
    assert [installation.visit(f"reset-{number}") for number in range(5)] == [302] * 5


def test_change_is_applied_after_connections_stop_responding(installation: Installation) -> None:
    installation.add("silent")
    assert installation.visit("silent") == 302
    installation.proxy.blackhole()
    with psycopg.connect(f"{installation.postgres.url}/waypost") as other:
        other.execute("UPDATE links SET status = 'disabled' WHERE alias = 'silent'")
        other.execute("INSERT INTO changes (host, alias, at) VALUES ('', 'silent', 0)")
    until(lambda: installation.visit("silent") == 403)
    until(installation.can_write)


def test_slow_database_is_waited_for(installation: Installation) -> None:
    installation.proxy.delay = 0.1
    try:
        installation.add("slow")
        assert installation.visit("slow") == 302
        assert installation.clicks("slow") == 1
    finally:
        installation.proxy.delay = 0.0


def test_unresponsive_database_sheds_load_but_cached_links_redirect(
    installation: Installation,
) -> None:
    installation.add("still")
    assert installation.visit("still") == 302
    installation.postgres.signal(signal.SIGSTOP)
    try:
        statuses = at_once([lambda n=n: installation.visit(f"nothing-{n}") for n in range(_REQUESTS)])  # type: ignore[misc]
        assert set(statuses) == {503}
        assert installation.visit("still") == 302
    finally:
        installation.postgres.signal(signal.SIGCONT)
    until(installation.can_write)
    assert installation.visit("nothing-1") == 404
    assert installation.clicks("still") == 2


def test_standby_serves_reads_and_promotion_allows_writes(installation: Installation) -> None:
    installation.add("standby")
    installation.add("standby-limited", clicklimit=3)
    installation.postgres.stop()
    installation.postgres.become_standby()
    installation.postgres.start()
    until(lambda: installation.visit("standby") == 302)
    assert not installation.can_write()
    assert installation.visit("standby-limited") == 503
    with psycopg.connect(f"{installation.postgres.url}/postgres", autocommit=True) as admin:
        admin.execute("SELECT pg_promote()")
    until(installation.can_write)
    assert installation.visit("standby-limited") == 302
    assert [installation.clicks(alias) for alias in ("standby", "standby-limited")] == [1, 1]


def test_killed_database_server_loses_no_click_write_or_limit(installation: Installation) -> None:
    for alias in (*ALIASES, "limited"):
        body = new_link(alias)
        assert installation.node.call("POST", "/api/url/add", key=installation.key, content=body).status_code == 200
    load = Load(refuses=True)
    with load.on(installation.node, installation.key):
        for _ in range(2):
            load.wait_for_progress()
            installation.postgres.kill()
            load.wait_for_progress()
            installation.postgres.start()
            created = len(load.created)
            until(lambda: len(load.created) > created)  # noqa: B023
    check(installation.node, installation.key, load)


def test_workers_restarted_without_database_wait_for_it(installation: Installation, tmp_path: Path) -> None:
    url = f"postgresql://postgres@127.0.0.1:{installation.proxy.port}/waypost"
    with serving(tmp_path / "node", database_url=url, workers=2) as node:
        installation.proxy.cut()
        for worker in processes(node)[0]:
            worker.kill()
        until(lambda: _is_ready(node, 503))
        installation.proxy.restore()
        until(lambda: _is_ready(node, 200))
    until(installation.can_write)


def _is_ready(node: Server, status: int) -> bool:
    with suppress(httpx2.TransportError):  # a killed worker had accepted the connection
        return node.call("GET", "/readyz").status_code == status
    return False
