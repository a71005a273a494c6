"""The dead-link checker: one request per link, sequential per host, complete batches, and only when enabled."""

import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, update

from tests.conftest import BASE
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.dead_links import CLOSED_PORT, NOW, SILENT, SITE, FakeWeb, LinkOwner
from tests.support.fake_internet import PUBLIC, empty, ok
from tests.support.load import add_ana, until
from tests.support.server import at_once, serving
from waypost.core import clock
from waypost.core.metrics import exposition
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import link_checks as table
from waypost.db.schema import links as links_table
from waypost.items.links import dead_links, ops
from waypost.items.links.dead_link_checker import BATCH_SIZE, LEASE_SECONDS
from waypost.items.links.dead_links import DAY, CheckResult

pytestmark = ON_BOTH_DATABASES  # claims of several checkers


def test_concurrent_checkers_request_each_destination_once(
    owner: LinkOwner, web: FakeWeb, database_url: str, time: Any
) -> None:
    paths = {f"/{number}" for number in range(150)}
    for path in paths:
        web.serve(path, ok(b"hello"))
        owner.add(f"http://{SITE}{path}")
    with ExitStack() as stack:
        databases = [Database(database_url) for _ in range(4)]
        for database in databases:
            stack.callback(database.close)
        checkers = [replace(owner, database=database).checker() for database in databases]
        for _ in range(12):
            at_once([checker.step for checker in checkers])
    assert Counter(web.requests) == {("HEAD", path): 1 for path in paths}


def test_requests_are_sequential_per_host_and_concurrent_for_at_most_four_hosts(
    owner: LinkOwner, web: FakeWeb, time: Any
) -> None:
    hosts = [f"host-{number}.example" for number in range(8)]
    lock = threading.Lock()
    open_requests: Counter[str] = Counter()
    peak: Counter[str] = Counter()

    def respond_slowly(host: str) -> list[bytes]:
        with lock:
            open_requests[host] += 1
            peak[host] = max(peak[host], open_requests[host])
            peak["all"] = max(peak["all"], open_requests.total())
        threading.Event().wait(0.01)
        with lock:
            open_requests[host] -= 1
        return [empty(200)]

    for host in hosts:
        web.internet.add_host(host, PUBLIC)
        for number in range(5):
            web.pages[f"/{host}/{number}"] = partial(respond_slowly, host)
            owner.add(f"http://{host}/{host}/{number}")
    owner.check_links()
    assert {peak[host] for host in hosts} == {1}
    assert 1 < peak["all"] <= 4


def test_unreachable_host_is_requested_for_three_links_only(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    web.internet.add_host("silent.example", SILENT)
    web.serve("/", ok(b"hello"))
    unreachable = [owner.add(f"http://silent.example/{number}") for number in range(20)]
    owner.add(f"http://{SITE}/")
    owner.check_links()
    assert {owner.result(link) for link in unreachable} == {CheckResult(NOW, 0, NOW, dead=False)}
    assert web.internet.connections.count(SILENT) == 6  # a HEAD and a GET for each of three links


def test_batch_full_of_unchecked_links_does_not_delay_other_links(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    for _ in range(BATCH_SIZE + 1):
        owner.add(f"http://{SITE}/disabled", status="disabled")
    last = owner.add(f"http://{SITE}/gone")
    owner.check_links()
    assert owner.result(last) == CheckResult(NOW, 404, NOW, dead=False)


def test_link_committed_late_or_after_deletion_of_newest_is_checked(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    first, second = owner.add(f"http://{SITE}/1"), owner.add(f"http://{SITE}/2")
    enrolled = {"account": owner.account, "link": second, "due": NOW + DAY}
    owner.database.write(lambda tx: tx.execute(insert(table), enrolled))
    owner.check_links()
    assert [path for _, path in web.requests] == ["/1", "/1"]
    owner.database.write(lambda tx: ops.remove(tx, owner.account, second))
    third = owner.add(f"http://{SITE}/3")
    time.shift(LEASE_SECONDS)
    owner.check_links()
    assert owner.result(first) is not None
    assert owner.result(third) is not None


def test_results_are_discarded_while_the_network_is_down(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    web.serve("/", ok(b"hello"))
    link = owner.add(f"http://{SITE}/")
    checker = owner.checker()
    while checker.step():
        pass
    address = web.internet.routes[PUBLIC]
    web.internet.routes[PUBLIC] = CLOSED_PORT
    time.shift(8 * DAY)
    assert checker.step()
    assert owner.result(link) == CheckResult(NOW, 200, None, dead=False)
    web.internet.routes[PUBLIC] = address
    time.shift(3600)
    while checker.step():
        pass
    assert owner.result(link) == CheckResult(NOW + 8 * DAY + 3600, 200, None, dead=False)
    web.internet.add_host("silent.example", SILENT)
    unreachable = owner.add("http://silent.example/")
    time.shift(3600)
    assert checker.step()
    assert owner.result(unreachable) == CheckResult(NOW + 8 * DAY + 7200, 0, NOW + 8 * DAY + 7200, dead=False)


def test_checks_are_counted_by_result_in_metrics(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    web.serve("/", ok(b"hello"))
    owner.add(f"http://{SITE}/")
    owner.add(f"http://{SITE}/gone")
    owner.check_links()
    metrics = exposition(owner.settings.metrics_dir, {}).decode()
    assert 'waypost_link_checks_total{result="ok"} 1.0' in metrics
    assert 'waypost_link_checks_total{result="failed"} 1.0' in metrics


@ON_SQLITE
def test_service_checks_links_only_when_enabled(database: Database, database_url: str, tmp_path: Path) -> None:
    database.write(add_ana)

    def add_link(tx: Connection) -> int:
        settings = Settings(data_dir=tmp_path, base_url=BASE)
        link = ops.add(tx, 1, settings=settings, url="http://site.example/").id
        # A private address, so that no request is sent.
        tx.execute(update(links_table).where(links_table.c.id == link).values(url="http://10.0.0.1/"))
        return link

    link = database.write(add_link)

    def result() -> CheckResult | None:
        return database.read(lambda tx: dead_links.get_result(tx, 1, link))

    with serving(tmp_path / "off", database_url=database_url) as node:
        until(lambda: node.call("GET", "/readyz").status_code == 200)
        assert result() is None
    with serving(tmp_path / "on", database_url=database_url, dead_links_days=3, metrics_networks="127.0.0.1") as node:
        until(lambda: result() is not None)
        until(lambda: 'waypost_link_checks_total{result="unknown"} 1.0' in node.call("GET", "/metrics").text)
        assert "waypost_dead_links 0.0" in node.call("GET", "/metrics").text
    checked = result()
    assert checked is not None
    assert (checked.status, checked.failing_since, abs(checked.checked - clock.now()) < 600) == (0, None, True)
