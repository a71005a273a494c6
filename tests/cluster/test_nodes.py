"""Two nodes with one PostgreSQL: limits, counters and leases are exact across nodes."""

import base64
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import Connection, func, select

from tests.support.databases import ON_POSTGRESQL
from tests.support.load import until
from tests.support.nodes import Nodes, two_nodes
from tests.support.server import Server, at_once
from tests.support.threads import join
from waypost.auth import api_keys
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal, format_line, item_fields
from waypost.core.settings import Settings
from waypost.db import leases, notifications
from waypost.db.database import Database
from waypost.db.notifications import Wakeup
from waypost.db.schema import links
from waypost.items.accounts import ops

_HOST = {"Host": "go.localhost:8000"}
_REQUESTS = 60
_LINES = 2500


@pytest.fixture(scope="module")
def nodes(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Two nodes, shared by the module."""
    with two_nodes(tmp_path_factory.mktemp("nodes"), postgres) as pair:
        yield pair
        assert "Traceback" not in pair.first.output() + pair.second.output()


def _visit(node: Server, path: str, **headers: str) -> int:
    headers_sent = {**_HOST, "User-Agent": "curl/8", **headers}
    return node.call("GET", f"/{path}", follow_redirects=False, headers=headers_sent).status_code


def _spread(nodes: Nodes, work: Callable[[Server, int], int]) -> Counter[int]:
    """Send concurrent requests to both nodes alternately; count the statuses."""
    pair = (nodes.first, nodes.second)
    return Counter(at_once([lambda n=n: work(pair[n % 2], n) for n in range(_REQUESTS)]))  # type: ignore[misc]


def test_change_on_one_node_applies_on_other(nodes: Nodes) -> None:
    link = nodes.add("changing")
    until(lambda: _spread(nodes, lambda node, _n: _visit(node, "changing")) == {302: _REQUESTS})
    body = {"status": "disabled"}
    assert nodes.first.call("PUT", f"/api/url/{link}/update", key=nodes.key, json=body).status_code == 200
    until(lambda: _spread(nodes, lambda node, _n: _visit(node, "changing")) == {403: _REQUESTS})
    assert nodes.second.call("DELETE", f"/api/url/{link}/delete", key=nodes.key).status_code == 200
    until(lambda: _spread(nodes, lambda node, _n: _visit(node, "changing")) == {404: _REQUESTS})


def test_change_of_rotator_on_one_node_applies_on_other(nodes: Nodes) -> None:
    body = {"name": "Turn", "slug": "turning"}
    campaign = nodes.first.call("POST", "/api/campaign/add", key=nodes.key, json=body).json()["id"]
    for alias, weight in (("never", 0), ("always", 1)):
        path = f"/api/campaign/{campaign}/assign/{nodes.add(alias)}"
        assert nodes.first.call("POST", path, key=nodes.key, json={"weight": weight}).status_code == 200

    def is_never(node: Server, _n: int) -> int:
        response = node.call("GET", "/r/turning", follow_redirects=False, headers={**_HOST, "User-Agent": "curl/8"})
        assert response.status_code == 302
        return int(response.headers["location"].endswith("never"))

    assert _spread(nodes, is_never).keys() == {0, 1}
    update = {"name": "Turn", "rotation": "weighted"}
    assert nodes.first.call("PUT", f"/api/campaign/{campaign}/update", key=nodes.key, json=update).status_code == 200
    assert [is_never(nodes.first, 0) for _ in range(10)] == [0] * 10
    until(lambda: _spread(nodes, is_never) == {0: _REQUESTS})


def test_click_limit_is_exact_across_nodes(nodes: Nodes) -> None:
    nodes.add("limited", clicklimit=17)
    assert _spread(nodes, lambda node, _n: _visit(node, "limited")) == {302: 17, 410: _REQUESTS - 17}


def test_download_limit_is_exact_across_nodes(nodes: Nodes) -> None:
    path = "/api/files/upload/a.txt?custom=shared&maxdownloads=13"
    assert nodes.first.call("POST", path, key=nodes.key, content=b"shared").status_code == 200
    assert _spread(nodes, lambda node, _n: _visit(node, "shared")) == {200: 13, 410: _REQUESTS - 13}


def test_alias_is_assigned_once_across_nodes(nodes: Nodes) -> None:
    def add(node: Server, n: int) -> int:
        body = {"url": f"https://example.com/{n}", "custom": "contested"}
        return node.call("POST", "/api/url/add", key=nodes.key, json=body).status_code

    assert _spread(nodes, add) == {200: 1, 400: _REQUESTS - 1}


def test_rate_limit_of_key_is_exact_across_nodes(nodes: Nodes) -> None:
    key = _on(nodes, _add_ben)
    statuses = _spread(nodes, lambda node, _n: node.call("GET", "/api/account", key=key).status_code)
    assert statuses == {200: 25, 429: _REQUESTS - 25}


def test_account_limit_is_exceeded_at_most_by_requests_at_once_across_nodes(nodes: Nodes) -> None:
    """Requests with different keys do not wait for each other, and each can see the account one below its limit."""
    limit, at_once_most = 3, 6

    def add_keys(tx: Connection) -> list[str]:
        cleo = ops.add(tx, email="cleo@example.com", username="cleo", password="*", rate_limit=limit)
        return [api_keys.add(tx, cleo.id, name=str(n)) for n in range(api_keys.MAX_KEYS)]

    with closing(Database(nodes.database_url)) as database:
        keys = database.write(add_keys)

    def call(n: int) -> int:
        node = (nodes.first, nodes.second)[n % 2]
        return node.call("GET", "/api/account", key=keys[n % len(keys)]).status_code

    with ThreadPoolExecutor(at_once_most) as pool:
        statuses = Counter(pool.map(call, range(limit * len(keys))))
    most = limit * api_keys.ACCOUNT_FACTOR
    assert statuses.keys() == {200, 429}
    assert most <= statuses[200] < most + at_once_most
    assert {call(n) for n in range(len(keys))} == {429}


def _add_ben(tx: Connection) -> str:
    made = ops.add(tx, email="ben@example.com", username="ben", password="*", rate_limit=25)
    return api_keys.add(tx, made.id, name="first key")


def _on(nodes: Nodes, work: Callable[[Connection], str]) -> str:
    database = Database(nodes.database_url)
    try:
        return database.write(work)
    finally:
        database.close()


def test_password_attempts_are_limited_across_nodes(nodes: Nodes) -> None:
    nodes.add("locked", password="a long password")
    wrong = "Basic " + base64.b64encode(b":wrong").decode()
    right = "Basic " + base64.b64encode(b":a long password").decode()
    statuses = _spread(nodes, lambda node, _n: _visit(node, "locked", Authorization=wrong))
    assert statuses == {401: 10, 429: _REQUESTS - 10}
    assert {_visit(node, "locked", Authorization=right) for node in (nodes.first, nodes.second)} == {429}


def test_invalid_keys_are_limited_across_nodes_and_valid_key_passes(nodes: Nodes) -> None:
    statuses = _spread(nodes, lambda node, _n: node.call("GET", "/api/account", key="wp_wrong").status_code)
    assert statuses == {401: 30, 429: _REQUESTS - 30}
    assert nodes.second.call("GET", "/api/account", key=nodes.key).status_code == 200


def test_clicks_of_all_nodes_add_up(nodes: Nodes) -> None:
    link = nodes.add("counted")
    until(lambda: _visit(nodes.second, "counted+") == 200)  # not a click; the second node knows the link from now on
    visits = _spread(nodes, lambda node, _n: _visit(node, "counted"))
    assert visits == {302: _REQUESTS}

    def clicks() -> int:
        response = nodes.first.call("GET", f"/api/url/{link}", key=nodes.key)
        return int(response.json()["data"]["clicks"])

    until(lambda: clicks() >= _REQUESTS)
    assert clicks() == _REQUESTS


# The tests below need no running node.


@ON_POSTGRESQL
def test_notification_wakes_waiting_process(database: Database, database_url: str) -> None:
    other = Database(database_url)
    waiting = threading.Thread(target=notifications.wait_for_notification, args=(database, 600, Wakeup()))
    waiting.start()
    while waiting.is_alive():  # repeated, because it may not listen yet
        notifications.notify(other)
        waiting.join(0.05)
    other.close()


def test_wakeup_ends_wait_for_notification(database: Database) -> None:
    wakeup = Wakeup()
    waiting = threading.Thread(target=notifications.wait_for_notification, args=(database, 600, wakeup))
    waiting.start()
    wakeup.set()
    join(waiting)
    notifications.wait_for_notification(database, 600, wakeup)  # returns at once from now on


def test_lease_is_acquired_by_one_process_at_a_time(database: Database, database_url: str) -> None:
    others = [Database(database_url) for _ in range(6)]

    def take(other: Database) -> bool:
        return other.write(lambda tx: leases.acquire(tx, "tidy", every=600))

    try:
        assert sum(at_once([lambda other=other: take(other) for other in others])) == 1  # type: ignore[misc]
        assert not any(take(other) for other in others)
        database.write(lambda tx: leases.release(tx, "tidy"))
        assert [take(other) for other in others] == [True] + [False] * 5
    finally:
        for other in others:
            other.close()


def test_lease_is_kept_despite_clock_that_is_behind(database: Database) -> None:
    def take() -> bool:
        return database.write(lambda tx: leases.acquire(tx, "tidy", every=600))

    with time_machine.travel(1_800_000_000, tick=False) as clock:
        assert take()
        clock.shift(-1)  # another node's clock, or one that was read before waiting for the lease
        assert not take()
        clock.shift(-3600)  # the clock was set back permanently
        assert take()


def test_lease_of_failed_transaction_is_not_taken(database: Database) -> None:
    class ProcessDied(Exception):
        """The process ended inside the transaction."""

    def die(tx: Connection) -> None:
        assert leases.acquire(tx, "tidy", every=600)
        raise ProcessDied

    with pytest.raises(ProcessDied):
        database.write(die)
    assert database.write(lambda tx: leases.acquire(tx, "tidy", every=600))


@ON_POSTGRESQL
def test_concurrent_ingesters_do_not_deadlock(database: Database, database_url: str, tmp_path: Path) -> None:
    """Each journal has clicks of the same links in a different order."""
    account = database.write(
        lambda tx: ops.add(tx, email="ana@example.com", username="ana", password="*", rate_limit=1).id
    )
    rows = [{"id": n, "account": account, "alias": f"link-{n}", "url": "https://example.com/"} for n in range(1, 41)]
    database.write(lambda tx: tx.execute(links.insert(), [{**row, "created": 0} for row in rows]))
    ingesters = []
    for number in range(4):
        settings = Settings(data_dir=tmp_path / str(number), base_url="http://x", database_url=database_url)
        _write(settings, account, number)
        ingesters.append(Ingester(settings, Database(database_url)))

    def count(ingester: Ingester) -> None:
        while ingester.step():
            pass
        ingester._database.close()

    at_once([lambda ingester=ingester: count(ingester) for ingester in ingesters])  # type: ignore[misc]
    total = database.read(lambda tx: tx.execute(select(func.sum(links.c.clicks))).scalar_one())
    assert total == 4 * _LINES


def _write(settings: Settings, account: int, seed: int) -> None:
    journal = Journal(settings.journal_dir)
    for n in range(_LINES):
        header_values = (f"Mozilla/5.0 (X11; Linux x86_64) Firefox/{n % 50}.0".encode(), b"", b"de")
        item = 1 + (n * (seed * 2 + 1)) % 40
        at = time.time_ns() // 1_000_000
        assert journal.write(
            format_line(item_fields(account, "link", item), at, b"", b"203.0.113.%d" % (n % 200), b"", header_values)
        )
    journal.close()
