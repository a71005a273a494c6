"""Which targets of links are dead: what an answer means, how many days it takes, and what is left alone."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE
from tests.support.dead_links import NOW, SITE, Desk, Web
from tests.support.fake_internet import PUBLIC, empty, moved, ok
from waypost.accounts import ops as accounts
from waypost.clicks.classify.classifier import agent
from waypost.db.database import Database
from waypost.db.schema import accounts as accounts_table
from waypost.db.schema import link_checks as table
from waypost.links import ops
from waypost.links.dead_links import DAY, Seen


def test_a_target_is_dead_when_it_failed_for_two_days_and_not_when_it_answers_again(
    context: Desk, web: Web, time: Any
) -> None:
    web.has("/works", ok(b"hello"))
    works, fails = context.add(f"http://{SITE}/works"), context.add(f"http://{SITE}/gone")
    for day in range(2):
        context.look()
        assert (context.dead(), context.seen(fails)) == ([], Seen(NOW + day * DAY, 404, NOW, dead=False))
        time.shift(DAY)
    context.look()
    assert (context.dead(), context.seen(fails)) == ([fails], Seen(NOW + 2 * DAY, 404, NOW, dead=True))
    assert context.seen(works) == Seen(NOW, 200, None, dead=False)  # a week has not passed
    web.has("/gone", ok(b"back"))
    time.shift(DAY)
    context.look()
    assert (context.dead(), context.seen(fails)) == ([], Seen(NOW + 3 * DAY, 200, None, dead=False))
    web.pages.clear()
    time.shift(7 * DAY)
    context.look()
    assert context.seen(works) == Seen(NOW + 10 * DAY, 404, NOW + 10 * DAY, dead=False)


def test_many_failures_within_two_days_are_no_death(context: Desk, web: Web, time: Any) -> None:
    link = context.add(f"http://{SITE}/gone")
    for _ in range(5):
        context.look()
        context.database.write(lambda tx: tx.execute(update(table).values(due=0)))
        time.shift(3600)
    assert (context.dead(), len(web.asked)) == ([], 10)
    seen = context.seen(link)
    assert seen is not None
    assert seen.failing == NOW


def _endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield bytes(65536)


@pytest.mark.parametrize(
    ("pages", "status", "since"),
    [
        *(({"/": (empty(status),)}, status, None) for status in (200, 204, 304, 401, 403, 405, 429)),
        *(({"/": (empty(status),)}, status, NOW) for status in (400, 404, 410, 500, 503)),
        ({"HEAD /": (empty(405),), "/": (ok(b"hello"),)}, 200, None),
        ({"HEAD /": (empty(500),), "/": (ok(b"hello"),)}, 200, None),
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
    context: Desk, web: Web, pages: dict[str, tuple[bytes, ...]], status: int, since: int | None, time: Any
) -> None:
    web.outside.has("inside.example", "10.0.0.7")
    for path, pieces in pages.items():
        web.has(path, *pieces)
    link = context.add(f"http://{SITE}/")
    context.look()
    assert context.seen(link) == Seen(NOW, status, since, dead=False)
    assert set(web.outside.reached) == {PUBLIC}


def test_an_endless_body_is_not_read(context: Desk, web: Web, time: Any) -> None:
    web.pages["GET /"] = _endless
    web.has("HEAD /", empty(405))
    link = context.add(f"http://{SITE}/")
    context.look()
    assert context.seen(link) == Seen(NOW, 200, None, dead=False)


def test_a_name_that_is_not_in_the_dns_fails_and_the_one_who_asks_says_who_it_is(
    context: Desk, web: Web, time: Any
) -> None:
    web.has("/", ok(b"hello"))
    lost = context.add("http://nowhere.example/")
    context.add(f"http://{SITE}/")
    context.look()
    assert context.seen(lost) == Seen(NOW, 0, NOW, dead=False)
    (said,) = web.agents
    assert BASE in said
    assert agent(said.partition(" ")[2]).kind == "bot"  # among waypost's own, a look is no click


def test_what_nobody_can_follow_and_what_is_no_website_is_left_alone(
    context: Desk, web: Web, database: Database, time: Any
) -> None:
    quiet = [
        context.add(f"http://{SITE}/disabled", status="disabled"),
        context.add(f"http://{SITE}/expired", expiry="2020-01-01"),
        context.add("mailto:ana@example.com"),
    ]
    ben = database.write(lambda tx: accounts.add(tx, email="ben@example.com", username="ben", password="*").id)
    Desk(database, context.settings, ben).add(f"http://{SITE}/suspended")
    database.write(
        lambda tx: tx.execute(update(accounts_table).where(accounts_table.c.id == ben).values(suspended=True))
    )
    context.look()
    assert (web.asked, [context.seen(link) for link in quiet]) == ([], [None, None, None])


def test_a_new_target_begins_anew(context: Desk, web: Web, time: Any) -> None:
    web.has("/works", ok(b"hello"))
    link = context.add(f"http://{SITE}/gone")
    for _ in range(3):
        context.look()
        time.shift(DAY)
    assert context.dead() == [link]
    settings = context.settings
    context.database.write(lambda tx: ops.change(tx, context.account, link, settings=settings, title="Shop"))
    assert context.dead() == [link]
    url = f"http://{SITE}/works"
    context.database.write(lambda tx: ops.change(tx, context.account, link, settings=settings, url=url))
    assert (context.dead(), context.seen(link)) == ([], None)
    context.look()
    assert context.seen(link) == Seen(NOW + 3 * DAY, 200, None, dead=False)


def test_what_was_seen_of_an_old_target_is_not_held_against_a_new_one(context: Desk, web: Web, time: Any) -> None:
    link = context.add(f"http://{SITE}/gone")
    url = f"http://{SITE}/works"

    def change_meanwhile() -> list[bytes]:
        context.database.write(lambda tx: ops.change(tx, context.account, link, settings=context.settings, url=url))
        return [empty(404)]

    web.pages["/gone"] = change_meanwhile
    context.watcher().step()
    assert context.seen(link) is None
