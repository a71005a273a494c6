"""Limits of logins, codes of the second factor and e-mails, exact over two nodes; what reveals an account.

Two nodes with PostgreSQL, two processes of one node with SQLite.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import argon2
import pyotp
import pytest
import time_machine
from sqlalchemy import Engine, event, update

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.logins import add_factor, two_services
from tests.support.server import at_once
from waypost.auth import two_factor
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import totp_secrets

pytestmark = ON_BOTH_DATABASES

START = "2026-11-21 12:00:00Z"
_TABLES = ("accounts", "api_keys", "attempt_limits", "sessions", "totp_secrets")


def test_recipient_gets_three_emails_an_hour_from_both_nodes(
    ana: Person, settings: Settings, database_url: str
) -> None:
    def ask(clients: list[AsgiClient]) -> set[int]:
        browsers = [Browser(client) for client in clients]
        names = ("ana", "ANA@example.com", "ana", "ana")
        answers = [browser.submit("/forgot", name=name) for name in names for browser in browsers]
        answers += [browser.submit("/register", email="ana@example.com") for browser in browsers]
        return {response.status_code for response in answers}

    with time_machine.travel(START, tick=False) as world:
        for _ in range(2):
            with two_services(settings, database_url) as (clients, emails):
                assert ask(clients) == {200}
            assert [email["to"] for email in emails] == ["ana@example.com"] * 3
            world.shift(3601)


def test_wrong_codes_double_the_wait_up_to_fifty_a_day(ana: Person) -> None:
    with time_machine.travel(START, tick=False) as world:
        secret = add_factor(ana)

        def enter(code: str, *, is_known_browser: bool = False) -> two_factor.Outcome:
            outcome: two_factor.Outcome = ana.write(
                lambda tx: two_factor.accept(tx, ana.account, code, is_known_browser=is_known_browser)
            )
            return outcome

        def right() -> str:
            return pyotp.TOTP(secret).at(clock.now())

        waits: list[int] = []
        for _ in range(14):
            enter("000000")
            waits.append(enter("000000").wait if waits[8:] or len(waits) == 9 else 0)
            world.shift(waits[-1])
        assert waits == [0] * 9 + [30, 60, 120, 240, 480]
        enter("000000")
        assert enter(right()).wait == 960, "a right code is not checked either"
        assert enter(right(), is_known_browser=True).is_right
        assert enter("000000").wait == 0, "a right code ends the row"


def test_fifty_wrong_codes_a_day_are_checked(ana: Person, database: Database) -> None:
    with time_machine.travel(START, tick=False) as world:
        add_factor(ana)
        checked = 0
        for _ in range(60):
            outcome = ana.write(lambda tx: two_factor.accept(tx, ana.account, "000000"))
            checked += not outcome.wait
            # as after a right code
            ana.write(lambda tx: tx.execute(update(totp_secrets).values(failures=0)))
        assert checked == 50
        world.shift(86_401)
        assert not ana.write(lambda tx: two_factor.accept(tx, ana.account, "000000")).wait


def test_parallel_wrong_codes_are_counted_exactly(ana: Person) -> None:
    with time_machine.travel(START, tick=False):
        add_factor(ana)
        guess = partial(ana.write, lambda tx: two_factor.accept(tx, ana.account, "000000"))
        outcomes = at_once([guess] * 30)
    assert sum(not outcome.wait for outcome in outcomes) == 10
    assert sum(outcome.warns for outcome in outcomes) == 1


def test_ten_wrong_codes_at_both_nodes_send_one_email(ana: Person, settings: Settings, database_url: str) -> None:
    with time_machine.travel(START, tick=False) as world:
        secret = add_factor(ana)
        with two_services(settings, database_url) as (clients, emails):
            forms = []
            for client in clients:
                page = Browser(client).sign_in("ana")
                forms.append({name: hidden_field(page, name) for name in ("token", "sealed")})

            def enter(n: int, code: str = "000000") -> int:
                client, form = clients[n % 2], forms[n % 2]
                headers = {"X-Forwarded-For": f"203.0.113.{n}"}
                data = {**form, "code": code}
                return int(client.post("/dashboard/signin/code", data=data, headers=headers).status_code)

            assert [enter(n) for n in range(10)] == [400] * 10
            world.shift(29)
            assert [enter(n, pyotp.TOTP(secret).at(clock.now())) for n in (10, 11)] == [429] * 2
            world.shift(1)
            assert [enter(n) for n in (12, 13)] == [400, 429], "the eleventh wrong code doubles the wait for both"
            world.shift(60)
            assert enter(14, pyotp.TOTP(secret).at(clock.now())) == 303
    assert [(email["to"], "codes" in email["subject"]) for email in emails] == [("ana@example.com", True)]


def _guess(browser: Browser, network: str, password: str = "a wrong guess") -> int:
    page = browser.get("/signin")
    form = {"token": hidden_field(page, "token"), "name": "ana", "password": password}
    headers = {"X-Forwarded-For": network}
    return int(browser.client.post("/dashboard/signin", data=form, headers=headers).status_code)


def test_failures_of_other_networks_do_not_lock_the_owner_out(
    ana: Person, settings: Settings, database_url: str
) -> None:
    with time_machine.travel(START, tick=False), two_services(settings, database_url) as (clients, _):
        known = Browser(clients[0].another())
        assert _guess(known, "203.0.113.99", PASSWORD) == 303
        known.client.cookies.delete("waypost")
        attackers = [Browser(client.another()) for client in clients]
        statuses = [_guess(attackers[n // 10 % 2], f"203.0.113.{n % 10}") for n in range(100)]
        assert statuses == [400] * 100
        assert [_guess(attacker, "203.0.113.1") for attacker in attackers] == [429] * 2
        slow = [_guess(attackers[n % 2], "203.0.113.20") for n in range(7)]
        assert slow == [400] * 5 + [429] * 2, "five tries of each further network remain"
        assert _guess(Browser(clients[1].another()), "198.51.100.7", PASSWORD) == 303
        assert _guess(known, "203.0.113.1", PASSWORD) == 303, "a known browser, even in the attacker's network"


def test_networks_of_one_ipv6_customer_share_a_limit(ana: Person, settings: Settings, database_url: str) -> None:
    with time_machine.travel(START, tick=False), two_services(settings, database_url) as (clients, _):
        statuses = [_guess(Browser(clients[n % 2]), f"2001:db8:1:{n % 16:x}::1") for n in range(30)]
        assert statuses == [400] * 20 + [429] * 10
        assert _guess(Browser(clients[0]), "2001:db8:2::1") == 400


@contextmanager
def _recorded_work(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[list[str], list[str]]]:
    """Record the work of requests, which is statements and password hashes, and that of the mail thread."""
    of_requests: list[str] = []
    of_mail: list[str] = []

    def record(step: str) -> None:
        (of_mail if threading.current_thread().name.startswith("mail") else of_requests).append(step)

    def on_statement(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if any(f" {table}" in statement for table in _TABLES):  # others are read in the background, at any time
            record(statement)

    def recorded(name: str) -> Any:
        work = getattr(argon2.PasswordHasher, name)

        def run(hasher: argon2.PasswordHasher, *values: str) -> Any:
            record(f"{name} {hasher.time_cost} {hasher.memory_cost} {hasher.parallelism}")
            return work(hasher, *values)

        return run

    for name in ("hash", "verify"):
        monkeypatch.setattr(argon2.PasswordHasher, name, recorded(name))
    event.listen(Engine, "before_cursor_execute", on_statement)
    try:
        yield of_requests, of_mail
    finally:
        event.remove(Engine, "before_cursor_execute", on_statement)


@pytest.mark.parametrize(
    ("path", "known", "unknown"),
    [
        ("/forgot", {"name": "ana"}, {"name": "zyx"}),
        ("/forgot", {"name": "ana@example.com"}, {"name": "zyx@example.com"}),
        ("/register", {"email": "ana@example.com"}, {"email": "zyx@example.com"}),
        ("/signin", {"name": "ana", "password": "wrong"}, {"name": "zyx", "password": "wrong"}),
    ],
)
def test_known_and_unknown_accounts_get_the_same_response_for_the_same_work(
    path: str,
    known: dict[str, str],
    unknown: dict[str, str],
    ana: Person,
    settings: Settings,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work: list[tuple[int, str, list[str]]] = []
    with _recorded_work(monkeypatch) as (of_requests, of_mail), two_services(settings, database_url) as (clients, _):
        browser = Browser(clients[0])
        token = hidden_field(browser.get(path), "token")
        for fields in ({"name": "warm", "email": "up@example.com", "password": "wrong"}, known, unknown):
            of_requests.clear()
            response = browser.client.post(f"/dashboard{path}", data={"token": token, **fields})
            work.append((response.status_code, re.sub('value="[^"]*"|zyx|ana', "", response.text), list(of_requests)))
    assert work[1] == work[2]
    assert work[1][2]
    assert bool(of_mail) == (path != "/signin"), "the account is looked up in the mail thread"
