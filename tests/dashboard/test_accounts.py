"""Accounts in the dashboard: how one is made, what a forgotten password comes to, and what its owner changes."""

import re
from collections.abc import Iterator

import pytest
import time_machine

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, said, window
from tests.support.mailbox import mailbox
from waypost import clock
from waypost.accounts import email_links, ops
from waypost.app import build
from waypost.db.database import Database
from waypost.settings import Settings

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NEW = "another password"
_REFUSED = "This username or e-mail address cannot be used. Please try another."


@pytest.fixture
def open_to_all(settings: Settings, database: Database, ingester: None) -> Iterator[Browser]:
    opened = settings.model_copy(update={"registration": "on"})
    with Inside(build(opened, database)) as client:
        yield Browser(client)


def test_nobody_registers_where_the_operator_does_not_want_it(browser: Browser) -> None:
    assert "Make an account" not in browser.get("/signin").text
    assert browser.get("/register").status_code == 404
    form = {"token": hidden(browser.get("/signin"), "token"), "username": "eve", "email": "eve@example.com"}
    assert browser.client.post("/dashboard/register", data={**form, "password": NEW}).status_code == 404


def test_who_registers_is_signed_in_and_learns_nothing_of_others(ana: Person, open_to_all: Browser) -> None:
    tries = {
        "name": {"username": "ana", "email": "eve@example.com"},
        "address": {"username": "eve", "email": "ana@example.com"},
    }
    answers = [open_to_all.send("/register", password=NEW, **fields) for fields in tries.values()]
    assert [answer.status_code for answer in answers] == [400, 400]
    words = [re.search(r'class="fault".*?<span>(.*?)</span>', answer.text, re.DOTALL) for answer in answers]
    assert [found and found[1] for found in words] == [_REFUSED] * 2
    short = open_to_all.send("/register", username="eve", email="eve@example.com", password="short")
    assert "8 to 128 characters" in short.text
    assert 'value="eve@example.com"' in short.text
    assert "short" not in re.findall(r'value="([^"]*)"', short.text)
    made = open_to_all.send("/register", username="eve", email="eve@example.com", password=NEW)
    assert made.headers["location"] == "/dashboard"
    assert "Hello, eve" in open_to_all.get("").text


@ONLY_SQLITE
def test_letters_are_the_same_answer_for_everybody(
    ana: Person, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mailbox() as (port, letters):
        from_settings = {"smtp_url": f"smtp://127.0.0.1:{port}", "registration": "on"}
        opened = Settings.model_validate({**settings.model_dump(), **from_settings})
        with Inside(build(opened, database)) as client:
            browser = Browser(client)
            known, unknown = browser.send("/forgot", name="ana"), browser.send("/forgot", name="nobody")
            assert (known.status_code, known.text) == (unknown.status_code, unknown.text)
            taken = browser.send("/register", email="ana@example.com")
            free = browser.send("/register", email="eve@example.com")
            assert taken.text == free.text
        # Closing the service waits until the letters are sent.
        assert [letter["to"] for letter in letters] == ["ana@example.com", "ana@example.com", "eve@example.com"]
        reset, already, invited = (_link(letter["text"]) for letter in letters)
        assert already == "/dashboard/signin"
        browser = Browser(Inside(build(opened, database)))
        assert "Choose a password" in browser.client.get(reset).text
        page = browser.client.get(invited)
        form = {"token": hidden(page, "token"), "pass": hidden(page, "pass"), "username": "eve", "password": NEW}
        answer = browser.client.post("/dashboard/register", data={**form, "email": "other@example.com"})
        assert answer.headers["location"] == "/dashboard"
        assert database.read(lambda tx: ops.find(tx, "eve")).email == "eve@example.com"


def _link(text: str) -> str:
    found = re.search(r"http://go\.localhost:8000(/\S+)", text)
    assert found is not None
    return found[1]


def test_the_link_to_a_new_password_works_once_and_for_an_hour(
    ana: Person, browser: Browser, database: Database
) -> None:
    def path() -> str:
        return database.read(lambda tx: email_links.reset_link(tx, "", ana.account)).removeprefix("/dashboard")

    link = path()
    assert browser.send("/reset", at=link, **{"pass": link.partition("=")[2], "password": "short"}).status_code == 400
    done = browser.send("/reset", at=link, **{"pass": link.partition("=")[2], "password": NEW})
    assert done.headers["location"] == "/dashboard"
    assert "Hello, ana" in browser.get("").text
    assert browser.get(link).status_code == 400
    late = path()
    with time_machine.travel(clock.now() + email_links.RESET_SECONDS + 1):
        assert "no longer good" in browser.get(late).text
    changed = late.replace("=", "=A", 1)
    assert browser.get(changed).status_code == 400
    browser.client.cookies.clear()
    assert browser.sign_in("ana", NEW).status_code == 303


@ONLY_SQLITE
def test_without_letters_a_forgotten_password_is_a_matter_of_the_operator(browser: Browser) -> None:
    assert "waypost account reset" in browser.get("/forgot").text


def test_a_new_password_ends_every_other_session(ana: Person, inside: Browser, service: Inside) -> None:
    other = window(service)
    other.sign_in("ana")
    assert inside.send("/account/password", at="/account", old="wrong", new=NEW).status_code == 400
    answer = inside.send("/account/password", at="/account", old=PASSWORD, new=NEW)
    assert "Other browsers are signed out" in said(answer, inside)
    assert inside.get("").status_code == 200
    assert other.get("").status_code == 303
    assert other.sign_in("ana").status_code == 400
    assert other.sign_in("ana", NEW).status_code == 303


@ONLY_SQLITE
def test_an_address_is_changed_with_the_password_only(ana: Person, ben: Person, inside: Browser) -> None:
    for fields in (
        {"email": "new@example.com", "password": "wrong"},
        {"email": "ben@example.com", "password": PASSWORD},
    ):
        assert inside.send("/account/email", at="/account", **fields).status_code == 400
    done = inside.send("/account/email", at="/account", email="new@example.com", password=PASSWORD)
    assert "changed" in said(done, inside)
    assert ana.get("/account")["data"]["email"] == "new@example.com"


def test_a_key_is_shown_once_and_can_be_taken_back(ana: Person, ben: Person, inside: Browser) -> None:
    made = inside.send("/account/keys", name="a script", scope="read", expires="")
    found = re.search(r"<code>(wp_[\w-]{32})</code>", made.text)
    assert found is not None
    key = found[1]
    ask = {"Authorization": f"Bearer {key}"}
    assert inside.client.get("/api/account", headers=ask).status_code == 200
    assert inside.client.post("/api/url/add", headers=ask, json={}).status_code == 403
    page = inside.get("/account/keys").text
    assert key not in page
    assert "last used" in page
    mine = re.findall(r'name="id" value="(\d+)"', page)[0]
    theirs = re.findall(r'name="id" value="(\d+)"', page)[-1]
    assert inside.send("/account/keys/revoke", at="/account/keys", id=int(theirs) + 1_000).status_code == 404
    assert "is revoked" in said(inside.send("/account/keys/revoke", at="/account/keys", id=mine), inside)
    assert inside.client.get("/api/account", headers=ask).status_code == 401
    past = inside.send("/account/keys", name="old", scope="write", expires="2020-01-01T00:00")
    assert past.status_code == 400
    assert "must not be in the past" in past.text
