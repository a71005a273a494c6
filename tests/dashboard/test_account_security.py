"""Protection of accounts: proof for new keys, notices and confirmation by e-mail."""

import re

import pyotp
import pytest
import time_machine

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.logins import add_factor, service_with_mail
from waypost.auth import api_keys, two_factor
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

NEW = "another password"
START = "2026-11-21 12:00:00Z"


def _link(text: str) -> str:
    match = re.search(r"http://go\.localhost:8000/dashboard(/\S+)", text)
    assert match is not None
    return match[1]


def test_new_api_key_requires_the_password(ana: Person, dashboard: Browser) -> None:
    for password in ("", "wrong"):
        page = dashboard.submit("/account/keys", name="thief", scope="account", expires="", password=password)
        assert (page.status_code, "wp_" in page.text.partition("highlight")[2]) == (400, False)
    assert len(ana.database.read(lambda tx: api_keys.of(tx, ana.account))) == 1


def test_new_api_key_requires_a_code_of_the_factor(ana: Person, dashboard: Browser) -> None:
    with time_machine.travel(START, tick=False):
        secret = add_factor(ana)
        fields = {"name": "script", "scope": "write", "expires": "", "password": PASSWORD}
        for code in ("", "000000"):
            assert dashboard.submit("/account/keys", code=code, **fields).status_code == 400
        code = pyotp.TOTP(secret).at(clock.now())
        assert "Your new key" in dashboard.submit("/account/keys", code=code, **fields).text
        assert dashboard.submit("/account/keys", code=code, **fields).status_code == 400, "each code works once"


@pytest.mark.parametrize("path", ["/account/factor/off", "/account/factor/codes"])
def test_factor_change_requires_a_code(ana: Person, dashboard: Browser, path: str) -> None:
    add_factor(ana)
    assert dashboard.submit(path, at="/account/factor", password=PASSWORD, code="000000").status_code == 400
    assert ana.database.read(lambda tx: two_factor.of(tx, ana.account)) is not None


def test_key_without_scope_account_cannot_change_login(ana: Person) -> None:
    key = ana.write(lambda tx: api_keys.add(tx, ana.account, name="further"))
    headers = {"Authorization": f"Bearer {key}"}
    for body in ({"email": "eve@example.com"}, {"password": NEW}):
        response = ana.client.put("/api/account/update", headers=headers, json=body)
        assert (response.status_code, response.json()["code"]) == (403, "account_key_required")
    assert ana.client.post("/api/url/add", headers=headers, json={"url": "https://example.com/"}).status_code == 200
    assert ana.get("/account")["data"]["email"] == "ana@example.com"
    ana.put("/account/update", {"password": NEW})


@pytest.mark.parametrize(
    ("path", "at", "fields"),
    [
        ("/account/sessions/end", "/account/sessions", {}),
        ("/account/password", "/account", {"old": PASSWORD, "new": NEW}),
    ],
)
def test_ending_sessions_can_revoke_keys(
    ana: Person, ben: Person, dashboard: Browser, path: str, at: str, fields: dict[str, str]
) -> None:
    assert 'name="revoke"' in dashboard.get(at).text
    assert dashboard.submit(path, at=at, revoke="on", **fields).status_code == 303
    assert ana.call("GET", "/account").status_code == 401
    assert ben.get("/account")


@ON_SQLITE
def test_new_email_is_used_after_confirmation(ana: Person, settings: Settings, database: Database) -> None:
    headers = {"Authorization": f"Bearer {ana.key}"}
    with service_with_mail(settings, database) as (client, emails):
        response = client.put("/api/account/update", headers=headers, json={"email": "new@example.com"})
        assert (response.status_code, response.json().keys()) == (200, {"error", "message"})
        assert ana.get("/account")["data"]["email"] == "ana@example.com"
    assert [email["to"] for email in emails] == ["new@example.com", "ana@example.com"]
    link = _link(emails[0]["text"])
    with service_with_mail(settings, database) as (client, emails):
        browser = Browser(client)
        assert browser.get(link).status_code == 200
        assert ana.get("/account")["data"]["email"] == "ana@example.com", "a link preview changes nothing"
        token = link.partition("=")[2]
        assert browser.submit("/confirm", at=link, **{"pass": token}).status_code == 303
        assert browser.get(link).status_code == 400, "the link works once"
    assert ana.get("/account")["data"]["email"] == "new@example.com"
    assert {email["to"] for email in emails} == {"ana@example.com", "new@example.com"}


@ON_SQLITE
def test_new_password_ends_confirmation_link_and_sends_email(
    ana: Person, settings: Settings, database: Database
) -> None:
    with service_with_mail(settings, database) as (client, emails):
        headers = {"Authorization": f"Bearer {ana.key}"}
        client.put("/api/account/update", headers=headers, json={"email": "new@example.com"})
        client.put("/api/account/update", headers=headers, json={"password": NEW})
    assert (emails[-1]["to"], "password" in emails[-1]["subject"]) == ("ana@example.com", True)
    with AsgiClient(build(settings, database)) as client:
        assert Browser(client).get(_link(emails[0]["text"])).status_code == 400


def test_new_api_key_sends_email_to_owner(ana: Person, settings: Settings, database: Database) -> None:
    fields = {"name": "nightly export", "scope": "write", "expires": ""}
    with service_with_mail(settings, database) as (client, emails):
        browser = Browser(client)
        browser.sign_in("ana")
        assert browser.submit("/account/keys", password="wrong", **fields).status_code == 400
        assert "Your new key" in browser.submit("/account/keys", password=PASSWORD, **fields).text
    (email,) = emails
    assert (email["to"], email["subject"]) == ("ana@example.com", "A new API key was created")
    assert "“nightly export”" in email["text"]
    assert "wp_" not in email["text"], "the key itself is not sent"


def test_password_reset_sends_email_to_owner(ana: Person, settings: Settings, database: Database) -> None:
    with service_with_mail(settings, database) as (client, emails):
        assert Browser(client).submit("/forgot", name="ana").status_code == 200
    link = _link(emails[0]["text"])
    fields = {"pass": link.partition("=")[2]}
    with service_with_mail(settings, database) as (client, emails):
        browser = Browser(client)
        assert browser.submit("/reset", at=link, **fields, password="short").status_code == 400
        assert browser.submit("/reset", at=link, **fields, password=NEW).status_code == 303
    assert [(email["to"], "password" in email["subject"]) for email in emails] == [("ana@example.com", True)]
