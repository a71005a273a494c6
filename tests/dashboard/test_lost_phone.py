"""A lost phone: setup of a new one after a recovery code, and removal of the second factor by an administrator."""

import re
from functools import partial

import pyotp
import time_machine

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.logins import add_factor, service_with_mail
from waypost.auth import api_keys, sessions, two_factor
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database

START = "2026-11-21 12:00:00Z"
PHONE = "/account/factor/phone"


def _sign_in_with_code(browser: Browser, code: str, name: str = "ana") -> str:
    """Sign in with a code. Return the address that the browser is sent to."""
    page = browser.sign_in(name)
    form = {"token": hidden_field(page, "token"), "sealed": hidden_field(page, "sealed"), "code": code}
    response = browser.client.post("/dashboard/signin/code", data=form)
    assert response.status_code == 303
    return str(response.headers["location"])


def _set_up(browser: Browser, **fields: str) -> tuple[int, str, str]:
    """Set up a new phone. Return the status and text of the response, and the new secret."""
    page = browser.get(PHONE)
    match = re.search(r'data-copy="([A-Z2-7]{32})"', page.text)
    assert match is not None
    hidden = {name: hidden_field(page, name) for name in ("token", "sealed")}
    data = {**hidden, "new_code": pyotp.TOTP(match[1]).at(clock.now()), "password": PASSWORD, **fields}
    response = browser.client.post(f"/dashboard{PHONE}", data=data)
    return response.status_code, response.text, match[1]


def test_code_page_says_how_a_lost_phone_is_replaced(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    add_factor(ana)
    page = new_browser(service).sign_in("ana")
    assert "Lost your phone and codes? Ask your administrator." in page.text
    assert "--two-factor" in page.text


def test_recovery_code_opens_the_setup_of_a_new_phone(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    with time_machine.travel(START, tick=False):
        old = add_factor(ana)
        codes = ana.write(lambda tx: two_factor.new_codes(tx, ana.account))
        browser, other = new_browser(service), new_browser(service)
        assert _sign_in_with_code(browser, codes[0]) == f"/dashboard{PHONE}"
        assert "9 codes left. Set up your new phone." in browser.get(PHONE).text
        assert _set_up(browser, password="wrong")[0] == 400
        assert _set_up(browser, new_code="000000")[0] == 400
        status, text, secret = _set_up(browser)
        assert (status, len(re.findall(r"<code>[a-z0-9]{5}-[a-z0-9]{5}</code>", text))) == (200, 10)
        assert browser.get("/links").status_code == 200
        assert dashboard.get("/links").status_code == 303, "other browsers are signed out"
        assert _set_up(browser)[0] == 400, "the recovery code counted once"
    with time_machine.travel("2026-11-21 13:00:00Z", tick=False):
        other.sign_in("ana")
        for code in (codes[1], pyotp.TOTP(old).at(clock.now())):
            page = other.sign_in("ana")
            form = {"token": hidden_field(page, "token"), "sealed": hidden_field(page, "sealed"), "code": code}
            assert other.client.post("/dashboard/signin/code", data=form).status_code == 400
        assert _sign_in_with_code(other, pyotp.TOTP(secret).at(clock.now())) == "/dashboard"


def test_last_recovery_code_is_enough_for_a_new_phone(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(START, tick=False):
        add_factor(ana)
        codes = ana.write(lambda tx: two_factor.new_codes(tx, ana.account))
        for code in codes[1:]:
            assert ana.write(partial(two_factor.accept, person=ana.account, code=code)).is_recovery
        browser = new_browser(service)
        _sign_in_with_code(browser, codes[0])
        assert "0 codes left. Set up your new phone." in browser.get(PHONE).text
        assert _set_up(browser)[0] == 200


def test_new_phone_requires_a_code_of_the_old_one(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(START, tick=False) as world:
        secret = add_factor(ana)
        browser = new_browser(service)
        assert _sign_in_with_code(browser, pyotp.TOTP(secret).at(clock.now())) == "/dashboard"
        assert [_set_up(browser)[0], _set_up(browser, code="000000")[0]] == [400, 400]
        world.shift(60)
        assert _set_up(browser, code=pyotp.TOTP(secret).at(clock.now()))[0] == 200


def test_lost_factor_is_removed_by_an_administrator_with_an_email_to_the_owner(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    with service_with_mail(settings, database) as (client, emails):
        admin, owner, phone = Browser(client), new_browser(client), new_browser(client)
        assert admin.sign_in("ana").status_code == 303
        assert owner.sign_in("ben").status_code == 303
        add_factor(ben)
        path = f"/admin/accounts/{ben.account}"
        assert "Remove two-factor authentication" in admin.get(path).text
        wrong = admin.submit(f"{path}/remove-two-factor", at=path, own_password="wrong")
        assert (wrong.status_code, "Wrong password." in wrong.text) == (400, True)
        assert owner.get("/links").status_code == 200
        done = admin.submit(f"{path}/remove-two-factor", at=path, own_password=PASSWORD)
        assert done.status_code == 303
        assert owner.get("/links").status_code == 303, "all sessions ended"
        assert phone.sign_in("ben").headers["location"] == "/dashboard", "the password is enough"
        assert "Remove two-factor authentication" not in admin.get(path).text
    assert [(email["to"], "administrator removed" in email["text"]) for email in emails] == [("ben@example.com", True)]


def test_administrator_does_not_remove_the_own_factor(ana: Person, dashboard: Browser) -> None:
    add_factor(ana)
    path = f"/admin/accounts/{ana.account}"
    page = dashboard.get(path)
    assert "Remove two-factor authentication" not in page.text
    sent = dashboard.submit(f"{path}/remove-two-factor", at=path, own_password=PASSWORD)
    assert sent.status_code == 400
    assert "Remove your own two-factor authentication on your account page" in sent.text
    response = ana.call("POST", f"/admin/account/{ana.account}/remove-two-factor")
    assert response.status_code == 400
    assert ana.database.read(lambda tx: two_factor.of(tx, ana.account)) is not None


def test_api_removes_the_factor_only_for_administrators(ana: Person, ben: Person, service: AsgiClient) -> None:
    browser = new_browser(service)
    assert browser.sign_in("ben").status_code == 303
    add_factor(ben)
    add_factor(ana)
    path = f"/admin/account/{ben.account}/remove-two-factor"
    assert ben.call("POST", f"/admin/account/{ana.account}/remove-two-factor").status_code == 404
    key = ana.write(lambda tx: api_keys.add(tx, ana.account, name="write"))
    refused = ana.client.post(f"/api{path}", headers={"Authorization": f"Bearer {key}"})
    assert (refused.status_code, refused.json()["code"]) == (403, "account_key_required")
    assert ben.database.read(lambda tx: two_factor.of(tx, ben.account)) is not None
    assert ana.call("POST", path).json() == {"error": 0, "message": "Two-factor authentication was removed."}
    assert ana.call("POST", path).json()["message"] == "The account has no two-factor authentication."
    assert ben.database.read(lambda tx: two_factor.of(tx, ben.account)) is None
    assert ben.database.read(lambda tx: sessions.of(tx, ben.account)) == []
    assert ana.call("POST", "/admin/account/999/remove-two-factor").status_code == 404
