"""Accounts in the dashboard: registration, password reset, changes by the owner and API keys."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.mailbox import mailbox
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import email_links, ops
from waypost.server.app import build

NEW = "another password"
_REFUSED = "This username or e-mail address cannot be used. Please try another."


@pytest.fixture
def registration_browser(settings: Settings, database: Database, ingester: None) -> Iterator[Browser]:
    opened = settings.model_copy(update={"registration": "on"})
    with AsgiClient(build(opened, database)) as client:
        yield Browser(client)


def test_registration_when_disabled_returns_404(browser: Browser) -> None:
    assert "Create account" not in browser.get("/signin").text
    assert browser.get("/register").status_code == 404
    form = {"token": hidden_field(browser.get("/signin"), "token"), "username": "eve", "email": "eve@example.com"}
    assert browser.client.post("/dashboard/register", data={**form, "password": NEW}).status_code == 404


def test_registration_signs_in_and_does_not_reveal_other_accounts(ana: Person, registration_browser: Browser) -> None:
    existing = {
        "name": {"username": "ana", "email": "eve@example.com"},
        "address": {"username": "eve", "email": "ana@example.com"},
    }
    answers = [registration_browser.submit("/register", password=NEW, **fields) for fields in existing.values()]
    assert [response.status_code for response in answers] == [400, 400]
    matches = [re.search(r'class="field-error".*?<span>(.*?)</span>', response.text, re.DOTALL) for response in answers]
    assert [match and match[1] for match in matches] == [_REFUSED] * 2
    short = registration_browser.submit("/register", username="eve", email="eve@example.com", password="short")
    assert "8 to 128 characters" in short.text
    assert 'value="eve@example.com"' in short.text
    assert "short" not in re.findall(r'value="([^"]*)"', short.text)
    created = registration_browser.submit("/register", username="eve", email="eve@example.com", password=NEW)
    assert created.headers["location"] == "/dashboard"
    assert "Hello, eve" in registration_browser.get("").text


def _comparable(page: Any) -> str:
    """Return a page without the CSRF token of the language switch, which is another one in each response."""
    text, count = re.subn(r'(<input[^>]*name="token"[^>]*value=")[^"]+', r"\1", page.text)
    assert count == 1
    return text


@ON_SQLITE
def test_forgot_and_register_with_smtp_do_not_reveal_accounts(
    ana: Person, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mailbox() as (port, emails):
        from_settings = {"smtp_url": f"smtp://127.0.0.1:{port}", "smtp_tls": "off", "registration": "on"}
        opened = Settings.model_validate({**settings.model_dump(), **from_settings})
        with AsgiClient(build(opened, database)) as client:
            browser = Browser(client)
            known, unknown = browser.submit("/forgot", name="ana"), browser.submit("/forgot", name="unknown")
            assert (known.status_code, _comparable(known)) == (unknown.status_code, _comparable(unknown))
            taken = browser.submit("/register", email="ana@example.com")
            free = browser.submit("/register", email="eve@example.com")
            assert _comparable(taken) == _comparable(free)
        # Closing the app waits until the e-mails are sent.
        assert [email["to"] for email in emails] == ["ana@example.com", "ana@example.com", "eve@example.com"]
        reset, already, invited = (_link(email["text"]) for email in emails)
        assert already == "/dashboard/signin"
        with AsgiClient(build(opened, database)) as client:
            assert "Choose a new password" in client.get(reset).text
            page = client.get(invited)
            form = {
                "token": hidden_field(page, "token"),
                "pass": hidden_field(page, "pass"),
                "username": "eve",
                "password": NEW,
            }
            response = client.post("/dashboard/register", data={**form, "email": "other@example.com"})
            assert response.headers["location"] == "/dashboard"
        assert database.read(lambda tx: ops.find(tx, "eve")).email == "eve@example.com"


def _link(text: str) -> str:
    match = re.search(r"http://go\.localhost:8000(/\S+)", text)
    assert match is not None
    return match[1]


def test_reset_link_works_once_within_an_hour(ana: Person, browser: Browser, database: Database) -> None:
    def path() -> str:
        return database.read(lambda tx: email_links.reset_link(tx, "", ana.account)).removeprefix("/dashboard")

    link = path()
    assert browser.submit("/reset", at=link, **{"pass": link.partition("=")[2], "password": "short"}).status_code == 400
    response = browser.submit("/reset", at=link, **{"pass": link.partition("=")[2], "password": NEW})
    assert response.headers["location"] == "/dashboard"
    assert "Hello, ana" in browser.get("").text
    assert browser.get(link).status_code == 400
    late = path()
    with time_machine.travel(clock.now() + email_links.RESET_SECONDS + 1):
        assert "This link has expired" in browser.get(late).text
    changed = late.replace("=", "=A", 1)
    assert browser.get(changed).status_code == 400
    browser.client.cookies.clear()
    assert browser.sign_in("ana", NEW).status_code == 303


def test_link_of_a_new_account_welcomes_its_owner(ana: Person, browser: Browser, database: Database) -> None:
    link = database.read(lambda tx: email_links.welcome_link(tx, "", ana.account)).removeprefix("/dashboard")
    reset = database.read(lambda tx: email_links.reset_link(tx, "", ana.account)).removeprefix("/dashboard")
    token = link.partition("=")[2]
    weak = browser.submit("/reset", at=link, **{"pass": token, "password": "short"})
    for page in (browser.get(link), weak):
        assert "<h1>Welcome. Choose your password</h1>" in page.text
        assert "Also revoke all API keys" not in page.text
    assert "<h1>Choose a new password</h1>" in browser.get(reset).text
    with time_machine.travel(clock.now() + email_links.WELCOME_SECONDS - 60):
        response = browser.submit("/reset", at=link, **{"pass": token, "password": NEW})
    assert response.headers["location"] == "/dashboard"
    assert browser.get(link).status_code == browser.get(reset).status_code == 400


@ON_SQLITE
@pytest.mark.parametrize(("page", "renewal"), [("reset", "forgot"), ("register", "register"), ("confirm", "account")])
def test_expired_link_of_email_offers_new_one(registration_browser: Browser, page: str, renewal: str) -> None:
    opened = registration_browser.get(f"/{page}?pass=used")
    sent = registration_browser.submit(f"/{page}", at="/signin", **{"pass": "used"})
    for response in (opened, sent):
        assert response.status_code == 400
        assert "<h1>This link has expired</h1>" in response.text
        assert f'href="/dashboard/{renewal}">Send a new one' in response.text


@ON_SQLITE
def test_forgot_page_without_smtp_shows_the_reset_command(browser: Browser) -> None:
    assert "waypost account reset" in browser.get("/forgot").text


def test_password_change_ends_other_sessions(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    other = new_browser(service)
    other.sign_in("ana")
    assert dashboard.submit("/account/password", at="/account", old="wrong", new=NEW).status_code == 400
    assert "Other browsers were signed out" in dashboard.submit_for_message(
        "/account/password", at="/account", old=PASSWORD, new=NEW
    )
    assert dashboard.get("").status_code == 200
    assert other.get("").status_code == 303
    assert other.sign_in("ana").status_code == 400
    assert other.sign_in("ana", NEW).status_code == 303


@ON_SQLITE
def test_email_change_requires_the_password(ana: Person, ben: Person, dashboard: Browser) -> None:
    for fields in (
        {"email": "new@example.com", "password": "wrong"},
        {"email": "ben@example.com", "password": PASSWORD},
    ):
        assert dashboard.submit("/account/email", at="/account", **fields).status_code == 400
    assert "changed" in dashboard.submit_for_message(
        "/account/email", at="/account", email="new@example.com", password=PASSWORD
    )
    assert ana.get("/account")["data"]["email"] == "new@example.com"


def test_forms_of_email_and_password_are_folded_until_one_fails(ana: Person, dashboard: Browser) -> None:
    folds = [tag for tag in re.findall(r"<details[^>]*>", dashboard.get("/account").text) if "fold" in tag]
    assert [" open" in tag for tag in folds] == [False, False]
    failed = dashboard.submit("/account/password", at="/account", old="wrong", new=NEW).text
    folds = [tag for tag in re.findall(r"<details[^>]*>", failed) if "fold" in tag]
    assert [" open" in tag for tag in folds] == [False, True]


@pytest.mark.parametrize(("username", "shown"), [("anaï", "ï"), ("ana b", " "), ("ana\u200b", "U+200B")])
def test_refused_username_names_the_character(username: str, shown: str) -> None:
    with pytest.raises(Problem) as refused:
        ops.checked_username(username)
    assert refused.value.message == f'username cannot have "{shown}". Use only A-Z, a-z, 0-9, _ and -.'


def test_api_key_is_shown_once_and_can_be_revoked(ana: Person, ben: Person, dashboard: Browser) -> None:
    page = dashboard.submit("/account/keys", name="a script", scope="read", expires="", password=PASSWORD)
    match = re.search(r"<code>(wp_[\w-]{32})</code>", page.text)
    assert match is not None
    key = match[1]
    headers = {"Authorization": f"Bearer {key}"}
    assert dashboard.client.get("/api/account", headers=headers).status_code == 200
    assert dashboard.client.post("/api/url/add", headers=headers, json={}).status_code == 403
    text = dashboard.get("/account/keys").text
    assert key not in text
    assert "last used" in text
    ids = re.findall(r'href="/dashboard/account/keys/(\d+)/revoke"', text)
    assert "a script" in dashboard.get(f"/account/keys/{ids[0]}/revoke").text
    assert dashboard.get(f"/account/keys/{int(ids[-1]) + 1_000}/revoke").status_code == 404
    assert dashboard.submit("/account/keys/revoke", at="/account/keys", id=int(ids[-1]) + 1_000).status_code == 404
    assert "was revoked" in dashboard.submit_for_message("/account/keys/revoke", at="/account/keys", id=ids[0])
    assert dashboard.client.get("/api/account", headers=headers).status_code == 401
    past = dashboard.submit("/account/keys", name="old", scope="write", expires="2020-01-01T00:00", password=PASSWORD)
    assert past.status_code == 400
    assert "must not be in the past" in past.text


@ON_SQLITE
def test_typed_passwords_are_not_sent_back(ana: Person, dashboard: Browser) -> None:
    for fields in (
        {"email": "no address", "password": PASSWORD},
        {"email": "ana@example.com", "password": "typed-wrong"},
        {"old": "typed-wrong", "new": "typed-new-one"},
        {"old": PASSWORD, "new": "short"},
    ):
        path = "/account/email" if "email" in fields else "/account/password"
        page = dashboard.submit(path, at="/account", **fields)
        assert page.status_code == 400
        secrets = fields.keys() - {"email"}
        shown = set(re.findall(r'value="([^"]*)"', page.text))
        assert not {fields[name] for name in secrets} & shown, fields
