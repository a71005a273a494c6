"""How often: requests per key, exact over every process (decisions 8, 9), and bad keys per address (decision 10)."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import update
from structlog.testing import capture_logs

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.server import at_once, serving
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import accounts
from waypost.items.accounts import ops
from waypost.server.app import build

pytestmark = ON_BOTH_DATABASES  # limits over several nodes
NOON = 1_900_000_000


@pytest.fixture
def travel() -> Iterator[time_machine.Traveller]:
    """A clock that the test moves."""
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


def _limited(person: Person, limit: int | None) -> Person:
    """Return the same person with a new key, whose rate limit is unused."""
    statement = update(accounts).where(accounts.c.id == person.account).values(rate_limit=limit)
    person.write(lambda tx: tx.execute(statement))
    key = person.write(lambda tx: api_keys.add(tx, person.account, name="fresh"))
    return Person(person.account, person.username, key, person.client, person.database)


def _rates(response: Any) -> tuple[int, int, int]:
    limit, remaining, reset = (int(response.headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))
    return limit, remaining, reset


def test_window_starts_with_first_request_for_one_minute(ana: Person, travel: Any) -> None:
    ana = _limited(ana, 3)
    for moment, status, remaining, reset in (
        (0, 200, 2, 60),
        (30, 200, 1, 60),
        (59.9, 200, 0, 60),
        (59.9, 429, 0, 60),
        (59.999, 429, 0, 60),
        (60, 200, 2, 120),  # refused requests have not made the wait longer
        (200.5, 200, 2, 261),  # the next window starts with its first request, not on a grid; whole seconds round up
        (260.4, 200, 1, 261),
        (260.5, 200, 2, 321),
        (-1000, 200, 2, -940),  # a clock that was set back locks no client out
    ):
        travel.move_to(NOON + moment)
        response = ana.call("GET", "/account")
        assert (response.status_code, _rates(response)) == (status, (3, remaining, NOON + reset)), moment


def test_exceeded_limit_returns_retry_after(ana: Person, travel: Any) -> None:
    ana = _limited(ana, 1)
    ana.get("/account")
    for moment, wait in ((0, "60"), (10, "50"), (59, "1"), (59.5, "1")):
        travel.move_to(NOON + moment)
        response = ana.call("POST", "/channel/add", {"name": "A"})
        assert response.status_code == 429
        assert response.headers["retry-after"] == wait
        assert response.json().keys() == {"error", "message", "code"}
        assert (response.json()["error"], response.json()["code"]) == (1, "rate_limited")
    travel.move_to(NOON + 60)
    assert ana.get("/channels")["data"]["channels"] == []


def test_each_key_has_its_own_window(ana: Person, ben: Person) -> None:
    first = _limited(ana, 1)
    second = _limited(ana, 1)
    assert [person.call("GET", "/account").status_code for person in (first, second, first, second)] == [
        200,
        200,
        429,
        429,
    ]
    assert ben.get("/account")


def test_limit_comes_from_account_or_plan(ana: Person) -> None:
    def plus(tx: Any) -> None:
        plan = ops.add_plan(tx, name="plus", status="pro", rate_limit=77, upload_limit=1)
        tx.execute(update(accounts).where(accounts.c.id == ana.account).values(plan=plan.id))

    assert _rates(_limited(ana, None).call("GET", "/account"))[:2] == (30, 29)
    ana.write(plus)
    assert _rates(_limited(ana, None).call("GET", "/account"))[:2] == (77, 76)
    assert _rates(_limited(ana, 5).call("GET", "/account"))[:2] == (5, 4)


def test_key_change_applies_to_next_request(ana: Person, travel: Any) -> None:
    def limit(number: int) -> None:
        statement = update(accounts).where(accounts.c.id == ana.account).values(rate_limit=number)
        ana.write(lambda tx: tx.execute(statement))

    def answer() -> tuple[int, ...]:
        response = ana.call("GET", "/account")
        return (response.status_code, *(_rates(response)[:2] if "x-ratelimit-limit" in response.headers else ()))

    key = ana.write(lambda tx: api_keys.add(tx, ana.account, name="lent", expires=NOON + 5))
    ana = Person(ana.account, ana.username, key, ana.client, ana.database)
    limit(9)
    assert [answer(), answer()] == [(200, 9, 8), (200, 9, 7)]
    limit(4)
    assert answer() == (200, 4, 1)
    limit(3)
    assert answer() == (429, 3, 0)
    limit(5)
    assert answer() == (200, 5, 1)
    travel.move_to(NOON + 5)
    assert answer() == (401,)


@ON_SQLITE
def test_stale_read_replica_counts_as_unavailable(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = ana.database.read(lambda tx: api_keys.find_caller(tx, credentials.digest(ana.key)))
    assert seen is not None
    ana.write(lambda tx: api_keys.revoke(tx, ana.account, seen.key))
    with monkeypatch.context() as patch:
        patch.setattr(api_keys, "find_caller", lambda *_: seen)
        assert ana.call("GET", "/account").status_code == 503
    assert ana.call("GET", "/account").status_code == 401


@ON_SQLITE
def test_rate_limit_headers_are_on_every_response(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(ops, "get", crash)
    ana = _limited(ana, 10)
    requests: tuple[tuple[str, str, bytes, int], ...] = (
        ("POST", "/channel/add", b'{"name": "A"}', 200),
        ("POST", "/campaign/add", b"", 201),
        ("POST", "/channel/add", b"{}", 400),
        ("POST", "/channel/add", b"{", 400),
        ("GET", "/channel/999999", b"", 404),
        ("GET", "/no/such/path", b"", 404),
        ("DELETE", "/account", b"", 405),
        ("POST", "/channel/add", b" " * (8 * 1024 * 1024 + 1), 413),
        ("GET", "/urls?q=%ff", b"", 400),
        ("GET", "/account", b"", 500),
        ("GET", "/account", b"", 429),
        ("POST", "/no/such/path", b"", 429),
    )
    for number, (method, path, body, status) in enumerate(requests, 1):
        with capture_logs():  # a traceback is long
            response = ana.call(method, path, content=body)
        limit, remaining, _ = _rates(response)
        assert (response.status_code, limit, remaining) == (status, 10, max(0, 10 - number)), (method, path)


def test_restart_keeps_window(ana: Person, settings: Settings, travel: Any) -> None:
    ana = _limited(ana, 2)
    ana.get("/account")
    with closing(Database(settings.database)) as again, AsgiClient(build(settings, again)) as client:
        restarted = Person(ana.account, ana.username, ana.key, client, again)
        answers = [restarted.call("GET", "/account") for _ in range(2)]
    assert [response.status_code for response in answers] == [200, 429]
    assert ana.call("GET", "/account").status_code == 429


def test_limit_is_exact_over_two_concurrent_nodes(database: Database, database_url: str, tmp_path: Path) -> None:
    def busy(tx: Any) -> str:
        account = ops.add(tx, email="busy@example.com", username="busy", password=credentials.hash_password("secret"))
        return api_keys.add(tx, account.id, name="first key")

    key = database.write(busy)
    with (
        serving(tmp_path / "a", database_url=database_url) as a,
        serving(tmp_path / "b", database_url=database_url) as b,
    ):
        answers = at_once([lambda node=node: node.call("GET", "/api/account", key=key) for node in (a, b) * 60])  # type: ignore[misc]
    assert Counter(response.status_code for response in answers) == {200: 30, 429: 90}
    let_in = [_rates(response) for response in answers if response.status_code == 200]
    assert sorted(remaining for _, remaining, _ in let_in) == list(range(30))
    assert {reset for _, _, reset in map(_rates, answers)} == {let_in[0][2]}


def _from(app: Any, address: str) -> AsgiClient:
    return AsgiClient(app, address=address)


def _statuses(client: AsgiClient, key: str, times: int, **headers: str) -> list[int]:
    all_headers = {"Authorization": f"Bearer {key}", **headers}
    return [client.get("/api/account", headers=all_headers).status_code for _ in range(times)]


@ON_SQLITE
def test_bad_keys_are_limited_by_address_and_valid_keys_pass(ana: Person, travel: Any) -> None:
    app = ana.client.app
    attacker, neighbour = _from(app, "203.0.113.7"), _from(app, "203.0.113.8")
    assert _statuses(attacker, "wp_wrong", 31) == [401] * 30 + [429]
    response = attacker.get("/api/account", headers={"Authorization": "wp_wrong as well"})
    assert response.status_code == 429
    assert response.headers["retry-after"] == "60"
    assert (response.json()["error"], response.json()["code"]) == (1, "rate_limited")
    assert "x-ratelimit-limit" not in response.headers
    assert _statuses(attacker, ana.key, 1) == [200]
    assert _statuses(neighbour, "wp_wrong", 1) == [401]
    travel.shift(59.9)
    assert _statuses(attacker, "wp_wrong", 1) == [429]
    travel.shift(0.1)
    assert _statuses(attacker, "wp_wrong", 31) == [401] * 30 + [429]


@ON_SQLITE
def test_ipv6_client_is_limited_by_network(ana: Person, travel: Any) -> None:
    app = ana.client.app
    for number in range(30):
        assert _statuses(_from(app, f"2001:db8:1:2:{number:x}::{number:x}"), "wp_wrong", 1) == [401]
    assert _statuses(_from(app, "2001:db8:1:2:ffff:ffff:ffff:ffff"), "wp_wrong", 1) == [429]
    assert _statuses(_from(app, "2001:db8:1:3::1"), "wp_wrong", 1) == [401]
    assert _statuses(_from(app, "::ffff:203.0.113.7"), "wp_wrong", 15) == [401] * 15
    assert _statuses(_from(app, "203.0.113.7"), "wp_wrong", 16) == [401] * 15 + [429]


@ON_SQLITE
@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "last"),
    [
        ("", "203.0.113.7", "198.51.100.{n}", 429),
        ("10.0.0.0/8", "203.0.113.7", "198.51.100.{n}", 429),
        ("10.0.0.0/8", "10.1.1.1", "198.51.100.{n}", 401),
        ("10.0.0.0/8", "10.1.1.1", "198.51.100.{n}, 192.0.2.1", 429),
        ("10.0.0.0/8", "10.1.1.1", "192.0.2.1, 10.2.2.{n}", 429),
    ],
    ids=[
        "no proxy is trusted",
        "the peer is not trusted",
        "the proxy names the client",
        "the client made up its first hop",
        "two proxies",
    ],
)
def test_forwarded_address_is_read_from_trusted_proxy_only(
    trusted: str, peer: str, forwarded: str, last: int, settings: Settings, database: Database
) -> None:
    changed_settings = settings.model_copy(update={"trusted_proxies": trusted})
    with _from(build(changed_settings, database), peer) as client:
        answers = [_statuses(client, "wp_wrong", 1, **{"X-Forwarded-For": forwarded.format(n=n)}) for n in range(31)]
    assert answers == [[401]] * 30 + [[last]]


@ON_SQLITE
def test_rejected_request_does_not_wait_for_write_lock(ana: Person) -> None:
    full = _limited(ana, 1)
    full.get("/account")
    with closing(sqlite3.connect(ana.database.path or "", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        # A write would now wait for ten seconds and return 503.
        assert _statuses(ana.client, "wp_wrong", 1) == [401]
        assert ana.client.get("/api/account").status_code == 401
        assert full.call("GET", "/account").status_code == 429
        other.execute("ROLLBACK")
