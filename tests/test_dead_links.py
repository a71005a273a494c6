"""Whether the targets of links still answer: looked at now and then, politely, and only dead after days."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, insert, update

from tests.conftest import BASE
from tests.load import add_ana, until
from tests.outside import PUBLIC, Outside, moved, ok, server, world
from tests.serving import at_once, serving
from waypost import clock
from waypost.accounts import ops as accounts
from waypost.clicks.classify import agent
from waypost.db import Database
from waypost.links import looks, ops
from waypost.links.looks import DAY, Seen
from waypost.links.selection import Only
from waypost.links.watching import _AT_ONCE, _TURN_SECONDS, Pauses, Watcher
from waypost.metrics import exposition
from waypost.rows import Window
from waypost.schema import accounts as accounts_table
from waypost.schema import links as links_table
from waypost.schema import looks as table
from waypost.settings import Settings

NOW = 1_800_000_000
SITE = "shop.example"
SILENT = "93.184.216.35"
NOBODY = ("127.0.0.1", 9)
_NONE = Pauses(each=0, host=0, more=0, none=0)


def _status(status: int) -> bytes:
    return b"HTTP/1.1 %d So\r\nContent-Length: 0\r\n\r\n" % status


@dataclass
class Web:
    """What stands outside: one server behind every name, which answers by path; `asked` is what it was asked."""

    outside: Outside
    pages: dict[str, Callable[[], Any]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def answer(self, head: bytes) -> Any:
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        self.asked.append((method, path))
        self.agents |= {line for line in lines if line.lower().startswith("user-agent:")}
        return self.pages.get(f"{method} {path}", self.pages.get(path, lambda: [_status(404)]))()

    def has(self, path: str, *pieces: bytes) -> None:
        """From now on this is answered there."""
        self.pages[path] = lambda: pieces


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with world(monkeypatch) as outside:
        outside.has(SITE, PUBLIC)
        known = Web(outside)
        outside.doors[SILENT] = NOBODY
        with server(known.answer) as outside.doors[PUBLIC]:
            yield known


@pytest.fixture
def watched(settings: Settings) -> Settings:
    return settings.model_copy(update={"dead_links_days": 7, "link_schemes": "mailto"})


@pytest.fixture
def account(database: Database) -> int:
    return database.write(lambda tx: accounts.add(tx, email="ana@example.com", username="ana", password="*").id)


@pytest.fixture
def time() -> Iterator[Any]:
    with time_machine.travel(NOW, tick=False) as travelled:
        yield travelled


@dataclass(frozen=True)
class Desk:
    """Somebody with links, and one who looks at their targets."""

    database: Database
    settings: Settings
    account: int

    def add(self, url: str, **fields: Any) -> int:
        return self.database.write(
            lambda tx: ops.add(tx, self.account, settings=self.settings, **{"url": url, **fields}).id
        )

    def watcher(self) -> Watcher:
        return Watcher(self.settings, self.database, threading.Event(), _NONE)

    def look(self) -> None:
        """Until nothing is due any more."""
        watcher = self.watcher()
        while watcher.step():
            pass

    def seen(self, link: int) -> Seen | None:
        return self.database.read(lambda tx: looks.of(tx, self.account, link))

    def dead(self) -> list[int]:
        found = self.database.read(
            lambda tx: ops.page(tx, self.account, Window(limit=100, page=1), only=Only(dead=True))
        )
        return [link.id for link in found.items]


@pytest.fixture
def desk(database: Database, watched: Settings, account: int) -> Desk:
    return Desk(database, watched, account)


def test_a_target_is_dead_when_it_failed_for_two_days_and_not_when_it_answers_again(
    desk: Desk, web: Web, time: Any
) -> None:
    web.has("/works", ok(b"hello"))
    works, fails = desk.add(f"http://{SITE}/works"), desk.add(f"http://{SITE}/gone")
    for day in range(2):
        desk.look()
        assert (desk.dead(), desk.seen(fails)) == ([], Seen(NOW + day * DAY, 404, NOW, dead=False))
        time.shift(DAY)
    desk.look()
    assert (desk.dead(), desk.seen(fails)) == ([fails], Seen(NOW + 2 * DAY, 404, NOW, dead=True))
    assert desk.seen(works) == Seen(NOW, 200, None, dead=False)  # a week has not passed
    web.has("/gone", ok(b"back"))
    time.shift(DAY)
    desk.look()
    assert (desk.dead(), desk.seen(fails)) == ([], Seen(NOW + 3 * DAY, 200, None, dead=False))
    web.pages.clear()
    time.shift(7 * DAY)
    desk.look()
    assert desk.seen(works) == Seen(NOW + 10 * DAY, 404, NOW + 10 * DAY, dead=False)


def test_many_failures_within_two_days_are_no_death(desk: Desk, web: Web, time: Any) -> None:
    link = desk.add(f"http://{SITE}/gone")
    for _ in range(5):
        desk.look()
        desk.database.write(lambda tx: tx.execute(update(table).values(due=0)))
        time.shift(3600)
    assert (desk.dead(), len(web.asked)) == ([], 10)
    seen = desk.seen(link)
    assert seen is not None
    assert seen.failing == NOW


def _endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield bytes(65536)


@pytest.mark.parametrize(
    ("pages", "status", "since"),
    [
        *(({"/": (_status(status),)}, status, None) for status in (200, 204, 304, 401, 403, 405, 429)),
        *(({"/": (_status(status),)}, status, NOW) for status in (400, 404, 410, 500, 503)),
        ({"HEAD /": (_status(405),), "/": (ok(b"hello"),)}, 200, None),
        ({"HEAD /": (_status(500),), "/": (ok(b"hello"),)}, 200, None),
        ({"HEAD /": (b"nonsense",), "/": (ok(b"hello"),)}, 200, None),
        ({"/": (moved(b"/there"),), "/there": (ok(b"hello"),)}, 200, None),
        ({"/": (moved(b"/there"),)}, 404, NOW),
        ({"/": (b"nonsense",)}, 0, NOW),
        ({"/": (moved(b"http://gone.example/"),)}, 0, NOW),
        ({"/": (moved(b"http://inside.example/secret"),)}, 0, None),
        ({"/": (moved(b"http://127.0.0.1/secret"),)}, 0, None),
        ({"/": (moved(b"file:///etc/passwd"),)}, 0, None),
        ({"/": (moved(b"/"),)}, 0, None),
        ({"/": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100_000)}, 0, NOW),
    ],
)
def test_what_an_answer_means(
    desk: Desk, web: Web, pages: dict[str, tuple[bytes, ...]], status: int, since: int | None, time: Any
) -> None:
    web.outside.has("inside.example", "10.0.0.7")
    for path, pieces in pages.items():
        web.has(path, *pieces)
    link = desk.add(f"http://{SITE}/")
    desk.look()
    assert desk.seen(link) == Seen(NOW, status, since, dead=False)
    assert set(web.outside.reached) == {PUBLIC}


def test_an_endless_body_is_not_read(desk: Desk, web: Web, time: Any) -> None:
    web.pages["GET /"] = _endless
    web.has("HEAD /", _status(405))
    link = desk.add(f"http://{SITE}/")
    desk.look()
    assert desk.seen(link) == Seen(NOW, 200, None, dead=False)


def test_a_name_that_is_not_in_the_dns_fails_and_the_one_who_asks_says_who_it_is(
    desk: Desk, web: Web, time: Any
) -> None:
    web.has("/", ok(b"hello"))
    lost = desk.add("http://nowhere.example/")
    desk.add(f"http://{SITE}/")
    desk.look()
    assert desk.seen(lost) == Seen(NOW, 0, NOW, dead=False)
    (said,) = web.agents
    assert BASE in said
    assert agent(said.partition(" ")[2]).kind == "bot"  # among waypost's own, a look is no click


def test_what_nobody_can_follow_and_what_is_no_website_is_left_alone(
    desk: Desk, web: Web, database: Database, time: Any
) -> None:
    quiet = [
        desk.add(f"http://{SITE}/disabled", status="disabled"),
        desk.add(f"http://{SITE}/expired", expiry="2020-01-01"),
        desk.add("mailto:ana@example.com"),
    ]
    ben = database.write(lambda tx: accounts.add(tx, email="ben@example.com", username="ben", password="*").id)
    Desk(database, desk.settings, ben).add(f"http://{SITE}/suspended")
    database.write(
        lambda tx: tx.execute(update(accounts_table).where(accounts_table.c.id == ben).values(suspended=True))
    )
    desk.look()
    assert (web.asked, [desk.seen(link) for link in quiet]) == ([], [None, None, None])


def test_however_many_are_left_alone_the_others_come(desk: Desk, web: Web, time: Any) -> None:
    for _ in range(_AT_ONCE + 1):
        desk.add(f"http://{SITE}/disabled", status="disabled")
    last = desk.add(f"http://{SITE}/gone")
    desk.look()
    assert desk.seen(last) == Seen(NOW, 404, NOW, dead=False)


def test_a_new_target_begins_anew(desk: Desk, web: Web, time: Any) -> None:
    web.has("/works", ok(b"hello"))
    link = desk.add(f"http://{SITE}/gone")
    for _ in range(3):
        desk.look()
        time.shift(DAY)
    assert desk.dead() == [link]
    settings = desk.settings
    desk.database.write(lambda tx: ops.change(tx, desk.account, link, settings=settings, title="Shop"))
    assert desk.dead() == [link]
    url = f"http://{SITE}/works"
    desk.database.write(lambda tx: ops.change(tx, desk.account, link, settings=settings, url=url))
    assert (desk.dead(), desk.seen(link)) == ([], None)
    desk.look()
    assert desk.seen(link) == Seen(NOW + 3 * DAY, 200, None, dead=False)


def test_what_was_seen_of_an_old_target_is_not_held_against_a_new_one(desk: Desk, web: Web, time: Any) -> None:
    link = desk.add(f"http://{SITE}/gone")
    url = f"http://{SITE}/works"

    def change_meanwhile() -> list[bytes]:
        desk.database.write(lambda tx: ops.change(tx, desk.account, link, settings=desk.settings, url=url))
        return [_status(404)]

    web.pages["/gone"] = change_meanwhile
    desk.watcher().step()
    assert desk.seen(link) is None


def test_each_target_is_looked_at_once_however_many_look(
    desk: Desk, web: Web, watched: Settings, database_url: str, time: Any
) -> None:
    paths = {f"/{number}" for number in range(150)}
    for path in paths:
        web.has(path, ok(b"hello"))
        desk.add(f"http://{SITE}{path}")
    with ExitStack() as stack:
        others = [Database(database_url) for _ in range(4)]
        for other in others:
            stack.callback(other.close)
        watchers = [Watcher(watched, other, threading.Event(), _NONE) for other in others]
        for _ in range(12):
            at_once([watcher.step for watcher in watchers])
    assert Counter(web.asked) == {("HEAD", path): 1 for path in paths}


def test_a_host_is_asked_one_thing_at_a_time_and_hosts_a_few_at_a_time(desk: Desk, web: Web, time: Any) -> None:
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
        return [_status(200)]

    for host in hosts:
        web.outside.has(host, PUBLIC)
        for number in range(5):
            web.pages[f"/{host}/{number}"] = partial(slow, host)
            desk.add(f"http://{host}/{host}/{number}")
    desk.look()
    assert {most[host] for host in hosts} == {1}
    assert 1 < most["all"] <= 4


def test_a_host_that_says_nothing_is_not_asked_for_each_of_its_links(desk: Desk, web: Web, time: Any) -> None:
    web.outside.has("silent.example", SILENT)
    web.has("/", ok(b"hello"))
    quiet = [desk.add(f"http://silent.example/{number}") for number in range(20)]
    desk.add(f"http://{SITE}/")
    desk.look()
    assert {desk.seen(link) for link in quiet} == {Seen(NOW, 0, NOW, dead=False)}
    assert web.outside.reached.count(SILENT) == 6  # a HEAD and a GET, three times


def test_nothing_is_noted_while_the_network_is_away(desk: Desk, web: Web, time: Any) -> None:
    web.has("/", ok(b"hello"))
    link = desk.add(f"http://{SITE}/")
    watcher = desk.watcher()
    while watcher.step():
        pass
    there = web.outside.doors[PUBLIC]
    web.outside.doors[PUBLIC] = NOBODY
    time.shift(8 * DAY)
    assert watcher.step()
    assert desk.seen(link) == Seen(NOW, 200, None, dead=False)
    web.outside.doors[PUBLIC] = there
    time.shift(3600)
    while watcher.step():
        pass
    assert desk.seen(link) == Seen(NOW + 8 * DAY + 3600, 200, None, dead=False)
    web.outside.has("silent.example", SILENT)
    other = desk.add("http://silent.example/")
    time.shift(3600)
    assert watcher.step()
    assert desk.seen(other) == Seen(NOW + 8 * DAY + 7200, 0, NOW + 8 * DAY + 7200, dead=False)


def test_the_looks_are_counted_for_prometheus(desk: Desk, web: Web, time: Any) -> None:
    web.has("/", ok(b"hello"))
    desk.add(f"http://{SITE}/")
    desk.add(f"http://{SITE}/gone")
    desk.look()
    told = exposition(desk.settings.metrics_dir, {}).decode()
    assert 'waypost_target_looks_total{result="works"} 1.0' in told
    assert 'waypost_target_looks_total{result="fails"} 1.0' in told


def test_links_made_out_of_order_and_deleted_ones_are_all_found(desk: Desk, web: Web, time: Any) -> None:
    first, second = desk.add(f"http://{SITE}/1"), desk.add(f"http://{SITE}/2")
    later = {"account": desk.account, "link": second, "due": NOW + DAY}
    desk.database.write(lambda tx: tx.execute(insert(table), later))
    desk.look()
    assert [path for _, path in web.asked] == ["/1", "/1"]
    desk.database.write(lambda tx: ops.remove(tx, desk.account, second))
    third = desk.add(f"http://{SITE}/3")
    time.shift(_TURN_SECONDS)
    desk.look()
    assert desk.seen(first) is not None
    assert desk.seen(third) is not None


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
        return database.read(lambda tx: looks.of(tx, 1, link))

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
