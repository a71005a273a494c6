"""How targets of links are looked at: each once, a host at a time, none forgotten, and only where it is wanted."""

import threading
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, update

from tests.conftest import BASE
from tests.support.dead_links import NOBODY, NOW, SILENT, SITE, Desk, Web
from tests.support.fake_internet import PUBLIC, empty, ok
from tests.support.load import add_ana, until
from tests.support.server import at_once, serving
from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import link_checks as table
from waypost.db.schema import links as links_table
from waypost.links import dead_links, ops
from waypost.links.dead_link_checker import _AT_ONCE, _TURN_SECONDS
from waypost.links.dead_links import DAY, Seen
from waypost.observability.metrics import exposition
from waypost.settings import Settings


def test_each_target_is_looked_at_once_however_many_look(context: Desk, web: Web, database_url: str, time: Any) -> None:
    paths = {f"/{number}" for number in range(150)}
    for path in paths:
        web.has(path, ok(b"hello"))
        context.add(f"http://{SITE}{path}")
    with ExitStack() as stack:
        others = [Database(database_url) for _ in range(4)]
        for other in others:
            stack.callback(other.close)
        watchers = [replace(context, database=other).watcher() for other in others]
        for _ in range(12):
            at_once([watcher.step for watcher in watchers])
    assert Counter(web.asked) == {("HEAD", path): 1 for path in paths}


def test_a_host_is_asked_one_thing_at_a_time_and_hosts_a_few_at_a_time(context: Desk, web: Web, time: Any) -> None:
    hosts = [f"host-{number}.example" for number in range(8)]
    lock = threading.Lock()
    under_way: Counter[str] = Counter()
    most: Counter[str] = Counter()

    def slow(host: str) -> list[bytes]:
        with lock:
            under_way[host] += 1
            most[host] = max(most[host], under_way[host])
            most["all"] = max(most["all"], under_way.total())
        threading.Event().wait(0.01)
        with lock:
            under_way[host] -= 1
        return [empty(200)]

    for host in hosts:
        web.outside.has(host, PUBLIC)
        for number in range(5):
            web.pages[f"/{host}/{number}"] = partial(slow, host)
            context.add(f"http://{host}/{host}/{number}")
    context.look()
    assert {most[host] for host in hosts} == {1}
    assert 1 < most["all"] <= 4


def test_a_host_that_says_nothing_is_not_asked_for_each_of_its_links(context: Desk, web: Web, time: Any) -> None:
    web.outside.has("silent.example", SILENT)
    web.has("/", ok(b"hello"))
    quiet = [context.add(f"http://silent.example/{number}") for number in range(20)]
    context.add(f"http://{SITE}/")
    context.look()
    assert {context.seen(link) for link in quiet} == {Seen(NOW, 0, NOW, dead=False)}
    assert web.outside.reached.count(SILENT) == 6  # a HEAD and a GET, three times


def test_however_many_are_left_alone_the_others_come(context: Desk, web: Web, time: Any) -> None:
    for _ in range(_AT_ONCE + 1):
        context.add(f"http://{SITE}/disabled", status="disabled")
    last = context.add(f"http://{SITE}/gone")
    context.look()
    assert context.seen(last) == Seen(NOW, 404, NOW, dead=False)


def test_links_made_out_of_order_and_deleted_ones_are_all_found(context: Desk, web: Web, time: Any) -> None:
    first, second = context.add(f"http://{SITE}/1"), context.add(f"http://{SITE}/2")
    later = {"account": context.account, "link": second, "due": NOW + DAY}
    context.database.write(lambda tx: tx.execute(insert(table), later))
    context.look()
    assert [path for _, path in web.asked] == ["/1", "/1"]
    context.database.write(lambda tx: ops.remove(tx, context.account, second))
    third = context.add(f"http://{SITE}/3")
    time.shift(_TURN_SECONDS)
    context.look()
    assert context.seen(first) is not None
    assert context.seen(third) is not None


def test_nothing_is_noted_while_the_network_is_away(context: Desk, web: Web, time: Any) -> None:
    web.has("/", ok(b"hello"))
    link = context.add(f"http://{SITE}/")
    watcher = context.watcher()
    while watcher.step():
        pass
    there = web.outside.doors[PUBLIC]
    web.outside.doors[PUBLIC] = NOBODY
    time.shift(8 * DAY)
    assert watcher.step()
    assert context.seen(link) == Seen(NOW, 200, None, dead=False)
    web.outside.doors[PUBLIC] = there
    time.shift(3600)
    while watcher.step():
        pass
    assert context.seen(link) == Seen(NOW + 8 * DAY + 3600, 200, None, dead=False)
    web.outside.has("silent.example", SILENT)
    other = context.add("http://silent.example/")
    time.shift(3600)
    assert watcher.step()
    assert context.seen(other) == Seen(NOW + 8 * DAY + 7200, 0, NOW + 8 * DAY + 7200, dead=False)


def test_the_looks_are_counted_for_prometheus(context: Desk, web: Web, time: Any) -> None:
    web.has("/", ok(b"hello"))
    context.add(f"http://{SITE}/")
    context.add(f"http://{SITE}/gone")
    context.look()
    told = exposition(context.settings.metrics_dir, {}).decode()
    assert 'waypost_target_looks_total{result="works"} 1.0' in told
    assert 'waypost_target_looks_total{result="fails"} 1.0' in told


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_service_looks_when_the_operator_says_so_and_not_otherwise(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    database.write(add_ana)

    def inside(tx: Connection) -> int:
        settings = Settings(data_dir=tmp_path, base_url=BASE)
        link = ops.add(tx, 1, settings=settings, url="http://site.example/").id
        # An address of the house, so that nobody is asked.
        tx.execute(update(links_table).where(links_table.c.id == link).values(url="http://10.0.0.1/"))
        return link

    link = database.write(inside)

    def seen() -> Seen | None:
        return database.read(lambda tx: dead_links.of(tx, 1, link))

    with serving(tmp_path / "off", database_url=database_url) as node:
        until(lambda: node.call("GET", "/readyz").status_code == 200)
        assert seen() is None
    with serving(tmp_path / "on", database_url=database_url, dead_links_days=3, metrics_networks="127.0.0.1") as node:
        until(lambda: seen() is not None)
        until(lambda: 'waypost_target_looks_total{result="unknown"} 1.0' in node.call("GET", "/metrics").text)
        assert "waypost_dead_links 0.0" in node.call("GET", "/metrics").text
    found = seen()
    assert found is not None
    assert (found.status, found.failing, abs(found.checked - clock.now()) < 600) == (0, None, True)
