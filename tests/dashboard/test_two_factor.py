"""Two-factor authentication: codes, recovery codes, and the sessions that a change of it ends."""

import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pyotp
import pytest
import time_machine
from sqlalchemy import Connection, select

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from waypost.auth import sessions, two_factor
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db import account_rows
from waypost.db.schema import sessions as table
from waypost.db.schema import totp_secrets


def _enable_two_factor(dashboard: Browser) -> tuple[str, list[str]]:
    """Enable two-factor authentication. Return the secret and the recovery codes."""
    page = dashboard.get("/account/factor")
    match = re.search(r'data-copy="([A-Z2-7]{32})"', page.text)
    assert match is not None
    assert re.search(rf"<code[^>]*>{' '.join(re.findall('....', match[1]))}</code>", page.text), "groups of four"
    form = {name: hidden_field(page, name) for name in ("token", "sealed")}
    wrong = dashboard.client.post("/dashboard/account/factor", data={**form, "code": "000000", "password": PASSWORD})
    assert "Wrong code." in wrong.text
    code = pyotp.TOTP(match[1]).at(clock.now())
    response = dashboard.client.post("/dashboard/account/factor", data={**form, "code": code, "password": PASSWORD})
    assert "Two-factor authentication was enabled. Other browsers were signed out." in response.text
    return match[1], re.findall(r"<code>([a-z0-9]{5}-[a-z0-9]{5})</code>", response.text)


def test_enabled_two_factor_is_not_replaced_without_its_code(ana: Person, dashboard: Browser) -> None:
    page = dashboard.get("/account/factor")
    sealed = hidden_field(page, "sealed")
    match = re.search(r'data-copy="([A-Z2-7]{32})"', page.text)
    assert match is not None
    _enable_two_factor(dashboard)
    before = ana.database.read(lambda tx: tx.execute(select(totp_secrets)).all())
    form = {"sealed": sealed, "token": hidden_field(dashboard.get("/account/factor"), "token"), "password": PASSWORD}
    code = pyotp.TOTP(match[1]).at(clock.now())
    response = dashboard.client.post("/dashboard/account/factor", data={**form, "code": code})
    assert response.status_code == 400
    with pytest.raises(Problem, match="already enabled"):
        ana.write(lambda tx: two_factor.enable(tx, ana.account, secret=two_factor.new_secret(), step=0))
    assert ana.database.read(lambda tx: tx.execute(select(totp_secrets)).all()) == before


def test_change_of_two_factor_ends_other_sessions_and_renews_this_one(
    ana: Person, ben: Person, dashboard: Browser, service: AsgiClient
) -> None:
    def sign_in(name: str) -> Browser:
        browser = new_browser(service)
        assert browser.sign_in(name).status_code == 303
        return browser

    def is_signed_in(browser: Browser) -> bool:
        return int(browser.get("/links").status_code) == 200

    other, foreign = sign_in("ana"), sign_in("ben")
    wrong = {"password": "wrong", "code": "000000"}
    assert dashboard.submit("/account/factor", at="/account/factor", **wrong).status_code == 400
    assert is_signed_in(other), "a rejected change ends no session"
    cookies = [dashboard.cookie]
    _, codes = _enable_two_factor(dashboard)
    cookies.append(dashboard.cookie)
    assert [is_signed_in(browser) for browser in (dashboard, other, foreign)] == [True, False, True]

    page = other.sign_in("ana")
    form = {name: hidden_field(page, name) for name in ("token", "sealed")}
    assert other.client.post("/dashboard/signin/code", data={**form, "code": codes[0]}).status_code == 303
    assert is_signed_in(other)
    off = {"password": PASSWORD, "code": codes[1]}
    assert dashboard.submit("/account/factor/off", at="/account/factor", **off).status_code == 303
    cookies.append(dashboard.cookie)
    assert [is_signed_in(browser) for browser in (dashboard, other, foreign)] == [True, False, True]
    assert len(set(cookies)) == 3
    valid = [ana.database.read(partial(sessions.find, token=cookie)) is not None for cookie in cookies]
    assert valid == [False, False, True]


def test_two_factor_code_is_accepted_once(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    with time_machine.travel("2026-11-21 12:00:00Z", tick=False) as world:
        secret, codes = _enable_two_factor(dashboard)
        assert len(set(codes)) == 10
        other = new_browser(service)

        def enter(code: str) -> int:
            page = other.sign_in("ana")
            assert other.get("").status_code == 303, "the password alone is not enough"
            form = {"token": hidden_field(page, "token"), "sealed": hidden_field(page, "sealed"), "code": code}
            status = int(other.client.post("/dashboard/signin/code", data=form).status_code)
            other.client.cookies.clear()
            return status

        assert enter(pyotp.TOTP(secret).at(clock.now())) == 400, "the code enabled it"
        assert enter("12345") == 400
        world.shift(120)
        code = pyotp.TOTP(secret).at(clock.now())
        assert [enter(code), enter(code)] == [303, 400]
        assert [enter(codes[0].upper()), enter(codes[0])] == [303, 400]
        world.shift(120)
        assert "Recovery codes left: 9" in dashboard.get("/account/factor").text
        assert (
            dashboard.submit_for_message("/account/factor/off", at="/account/factor", password=PASSWORD, code=codes[1])
            == "Two-factor authentication was disabled. Other browsers were signed out."
        )
        other.client.cookies.clear()
        assert other.sign_in("ana").headers["location"] == "/dashboard"


@ON_SQLITE
def test_code_form_from_another_browser_is_rejected(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    secret, _ = _enable_two_factor(dashboard)
    first, second = new_browser(service), new_browser(service)
    sealed = hidden_field(first.sign_in("ana"), "sealed")
    with time_machine.travel(clock.now() + 60):
        form = {
            "sealed": sealed,
            "code": pyotp.TOTP(secret).at(clock.now()),
            "token": hidden_field(second.get("/signin"), "token"),
        }
        assert second.client.post("/dashboard/signin/code", data=form).headers["location"] == "/dashboard/signin"
        assert second.get("").status_code == 303


def test_sign_in_ends_if_password_was_changed_before_the_code(
    ana: Person, dashboard: Browser, service: AsgiClient
) -> None:
    _, codes = _enable_two_factor(dashboard)
    thief = new_browser(service)
    page = thief.sign_in("ana")
    form = {name: hidden_field(page, name) for name in ("token", "sealed")}
    new = "another long password"
    assert dashboard.submit("/account/password", at="/account", old=PASSWORD, new=new).status_code == 303
    response = thief.client.post("/dashboard/signin/code", data={**form, "code": codes[0]})
    assert response.headers["location"] == "/dashboard/signin"
    assert thief.get("").headers["location"] == "/dashboard/signin"


@ON_BOTH_DATABASES
def test_sign_in_ends_if_two_factor_was_enabled_after_the_password(ana: Person, service: AsgiClient) -> None:
    browser = new_browser(service)
    browser.get("/signin")

    def enable(tx: Connection) -> "Future[Any]":
        account_rows.lock(tx, ana.account)
        signing_in = pool.submit(browser.sign_in, "ana")  # checks the password, and waits for this transaction
        time.sleep(1)
        two_factor.enable(tx, ana.account, secret=two_factor.new_secret(), step=0)
        return signing_in

    with ThreadPoolExecutor(1) as pool:
        response = ana.database.write(enable).result(timeout=30)
    assert response.headers.get("location") == "/dashboard/signin"
    assert ana.database.read(lambda tx: tx.execute(select(table)).all()) == []
