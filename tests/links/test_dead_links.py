"""Dead links: which responses count as failures, when a link is marked dead, and which links are not checked."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.dead_links import NOW, SITE, FakeWeb, LinkOwner
from tests.support.fake_internet import PUBLIC, empty, moved, ok
from waypost.clicks.classify.classifier import agent
from waypost.db.database import Database
from waypost.db.schema import accounts as accounts_table
from waypost.db.schema import link_checks as table
from waypost.items.accounts import ops as accounts
from waypost.items.links import bulk, ops
from waypost.items.links.dead_links import DAY, CheckResult


def test_link_is_dead_after_failing_for_two_days_and_alive_after_one_success(
    owner: LinkOwner, web: FakeWeb, time: Any
) -> None:
    web.serve("/works", ok(b"hello"))
    works, fails = owner.add(f"http://{SITE}/works"), owner.add(f"http://{SITE}/gone")
    for day in range(2):
        owner.check_links()
        assert (owner.dead_links(), owner.result(fails)) == ([], CheckResult(NOW + day * DAY, 404, NOW, dead=False))
        time.shift(DAY)
    owner.check_links()
    assert (owner.dead_links(), owner.result(fails)) == ([fails], CheckResult(NOW + 2 * DAY, 404, NOW, dead=True))
    assert owner.result(works) == CheckResult(NOW, 200, None, dead=False)  # not due for a week
    web.serve("/gone", ok(b"back"))
    time.shift(DAY)
    owner.check_links()
    assert (owner.dead_links(), owner.result(fails)) == ([], CheckResult(NOW + 3 * DAY, 200, None, dead=False))
    web.pages.clear()
    time.shift(7 * DAY)
    owner.check_links()
    assert owner.result(works) == CheckResult(NOW + 10 * DAY, 404, NOW + 10 * DAY, dead=False)


def test_many_failures_within_two_days_do_not_mark_link_dead(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    link = owner.add(f"http://{SITE}/gone")
    for _ in range(5):
        owner.check_links()
        owner.database.write(lambda tx: tx.execute(update(table).values(due=0)))
        time.shift(3600)
    assert (owner.dead_links(), len(web.requests)) == ([], 10)
    check_result = owner.result(link)
    assert check_result is not None
    assert check_result.failing_since == NOW


def _endless_body() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield bytes(65536)


@pytest.mark.parametrize(
    ("pages", "status", "since"),
    [
        *(({"/": (empty(status),)}, status, None) for status in (200, 204, 304)),
        *(({"/": (empty(status),)}, 0, None) for status in (400, 401, 403, 405, 406, 418, 429, 451, 600, 999)),
        *(({"/": (empty(status),)}, status, NOW) for status in (404, 410, 500, 503, 520)),
        ({"HEAD /": (empty(405),), "/": (ok(b"hello"),)}, 200, None),
        ({"HEAD /": (empty(500),), "/": (ok(b"hello"),)}, 200, None),
        ({"HEAD /": (b"nonsense",), "/": (ok(b"hello"),)}, 200, None),
        ({"/": (moved(b"/there"),), "/there": (ok(b"hello"),)}, 200, None),
        ({"/": (moved(b"/there"),)}, 404, NOW),
        ({"/": (b"nonsense",)}, 0, None),
        ({"/": (moved(b"http://gone.example/"),)}, 0, NOW),
        ({"/": (moved(b"http://inside.example/secret"),)}, 0, None),
        ({"/": (moved(b"http://127.0.0.1/secret"),)}, 0, None),
        ({"/": (moved(b"file:///etc/passwd"),)}, 0, None),
        ({"/": (moved(b"/"),)}, 0, None),
        ({"/": (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100_000)}, 0, None),
    ],
)
def test_response_decides_status_and_failure(
    owner: LinkOwner, web: FakeWeb, pages: dict[str, tuple[bytes, ...]], status: int, since: int | None, time: Any
) -> None:
    web.internet.add_host("inside.example", "10.0.0.7")
    for path, pieces in pages.items():
        web.serve(path, *pieces)
    link = owner.add(f"http://{SITE}/")
    owner.check_links()
    assert owner.result(link) == CheckResult(NOW, status, since, dead=False)
    assert set(web.internet.connections) == {PUBLIC}


def test_endless_response_body_is_not_read(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    web.pages["GET /"] = _endless_body
    web.serve("HEAD /", empty(405))
    link = owner.add(f"http://{SITE}/")
    owner.check_links()
    assert owner.result(link) == CheckResult(NOW, 200, None, dead=False)


@pytest.mark.parametrize("status", [401, 429, 999])
def test_check_without_result_changes_nothing(owner: LinkOwner, web: FakeWeb, time: Any, status: int) -> None:
    web.serve("/works", ok(b"hello"))
    works, fails = owner.add(f"http://{SITE}/works"), owner.add(f"http://{SITE}/gone")
    for _ in range(3):
        owner.check_links()
        time.shift(DAY)
    assert owner.dead_links() == [fails]
    for path in ("/works", "/gone"):
        web.serve(path, empty(status))
    time.shift(7 * DAY)
    owner.check_links()
    assert owner.dead_links() == [fails]
    assert owner.result(fails) == CheckResult(NOW + 10 * DAY, 404, NOW, dead=True)
    assert owner.result(works) == CheckResult(NOW + 10 * DAY, 200, None, dead=False)


def test_server_without_tls_counts_as_failure(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    link = owner.add(f"https://{SITE}/")
    owner.check_links()
    assert owner.result(link) == CheckResult(NOW, 0, NOW, dead=False)


def test_unresolvable_host_counts_as_failure(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    unresolvable = owner.add("http://nowhere.example/")
    owner.check_links()
    assert owner.result(unresolvable) == CheckResult(NOW, 0, NOW, dead=False)


def test_checker_identifies_itself_as_bot(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    web.serve("/", ok(b"hello"))
    owner.add(f"http://{SITE}/")
    owner.check_links()
    (header,) = web.agents
    assert BASE in header
    assert agent(header.partition(" ")[2]).kind == "bot"  # a check by another waypost does not count as a click


@ON_BOTH_DATABASES
def test_links_without_visitors_and_other_schemes_are_not_checked(
    owner: LinkOwner, web: FakeWeb, database: Database, time: Any
) -> None:
    unchecked = [
        owner.add(f"http://{SITE}/disabled", status="disabled"),
        owner.add(f"http://{SITE}/expired", expiry="2020-01-01"),
        owner.add("mailto:ana@example.com"),
    ]
    ben = database.write(lambda tx: accounts.add(tx, email="ben@example.com", username="ben", password="*").id)
    LinkOwner(database, owner.settings, ben).add(f"http://{SITE}/suspended")
    database.write(
        lambda tx: tx.execute(update(accounts_table).where(accounts_table.c.id == ben).values(suspended=True))
    )
    owner.check_links()
    assert (web.requests, [owner.result(link) for link in unchecked]) == ([], [None, None, None])


@pytest.mark.parametrize("others", [0, 1])
def test_new_destination_clears_the_result(owner: LinkOwner, web: FakeWeb, time: Any, others: int) -> None:
    """Of a link that changes alone, or together with another one."""

    def change(**fields: Any) -> None:
        each: Any = [(link, fields), *((other, {}) for other in [unchanged][:others])]
        owner.database.write(lambda tx: bulk.change_each(tx, owner.account, each, settings=owner.settings))

    web.serve("/works", ok(b"hello"))
    link, unchanged = owner.add(f"http://{SITE}/gone"), owner.add(f"http://{SITE}/works")
    for _ in range(3):
        owner.check_links()
        time.shift(DAY)
    assert owner.dead_links() == [link]
    change(title="Shop")
    assert owner.dead_links() == [link]
    change(url=f"http://{SITE}/works")
    assert (owner.dead_links(), owner.result(link)) == ([], None)
    owner.check_links()
    assert owner.result(link) == CheckResult(NOW + 3 * DAY, 200, None, dead=False)


@ON_BOTH_DATABASES
def test_result_is_discarded_when_destination_changes_during_check(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    link = owner.add(f"http://{SITE}/gone")
    url = f"http://{SITE}/works"

    def change_destination() -> list[bytes]:
        owner.database.write(lambda tx: ops.change(tx, owner.account, link, settings=owner.settings, url=url))
        return [empty(404)]

    web.pages["/gone"] = change_destination
    owner.checker().step()
    assert owner.result(link) is None


@ON_BOTH_DATABASES
def test_check_with_a_time_of_a_clock_that_was_ahead_is_made(owner: LinkOwner, web: FakeWeb, time: Any) -> None:
    link = owner.add(f"http://{SITE}/gone")
    owner.check_links()
    owner.database.write(lambda tx: tx.execute(update(table).values(due=NOW + 365 * DAY)))
    time.shift(DAY)
    owner.check_links()
    result = owner.result(link)
    assert result is not None
    assert result.checked == NOW + DAY
