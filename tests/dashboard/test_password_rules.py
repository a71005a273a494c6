"""A password that is easy to guess is refused wherever the password of an account is set."""

from collections.abc import Iterator

import pytest

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.assertions import refused
from tests.support.dashboard_client import Browser
from waypost.admin.new_accounts import create_account
from waypost.auth import people
from waypost.core import credentials
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import email_links
from waypost.server.app import build

WEAK = {"12345678": "easy to guess", "ben-12345": "which is part of the username or e-mail address"}
weak_passwords = pytest.mark.parametrize(("password", "message"), WEAK.items())


@pytest.fixture
def registration_browser(settings: Settings, database: Database, ingester: None) -> Iterator[Browser]:
    opened = settings.model_copy(update={"registration": "on"})
    with AsgiClient(build(opened, database)) as client:
        yield Browser(client)


@weak_passwords
def test_weak_password_is_refused_at_registration(registration_browser: Browser, password: str, message: str) -> None:
    fields = {"username": "ben", "email": "ben@example.com"}
    response = registration_browser.submit("/register", password=password, **fields)
    assert (response.status_code, message in response.text, password in response.text) == (400, True, False)


@weak_passwords
def test_weak_password_is_refused_by_reset_link(
    ben: Person, browser: Browser, database: Database, password: str, message: str
) -> None:
    link = database.read(lambda tx: email_links.reset_link(tx, "", ben.account)).removeprefix("/dashboard")
    token = link.partition("=")[2]
    response = browser.submit("/reset", at=link, **{"pass": token, "password": password})
    assert (response.status_code, message in response.text) == (400, True)
    assert _is_password(database, ben, PASSWORD)
    assert browser.submit("/reset", at=link, **{"pass": token, "password": "open sesame 7"}).status_code == 303


@weak_passwords
def test_weak_password_is_refused_on_account_page(
    ben: Person, browser: Browser, database: Database, password: str, message: str
) -> None:
    browser.sign_in("ben")
    response = browser.submit("/account/password", at="/account", old=PASSWORD, new=password)
    assert (response.status_code, message in response.text) == (400, True)
    assert _is_password(database, ben, PASSWORD)


@weak_passwords
def test_weak_password_is_refused_by_api(ben: Person, database: Database, password: str, message: str) -> None:
    assert message in refused(ben.call("PUT", "/account/update", {"password": password}), 400, "password")
    moved = ben.call("PUT", "/account/update", {"email": "moved-away@example.com", "password": "moved-away 4821"})
    assert "must not contain" in refused(moved, 400, "password")
    assert _is_password(database, ben, PASSWORD)


@weak_passwords
def test_weak_password_is_refused_for_new_account(database: Database, password: str, message: str) -> None:
    with pytest.raises(Problem, match=message):
        create_account(database, email="ben@example.com", username="ben", password=password)


def _is_password(database: Database, person: Person, password: str) -> bool:
    login = database.read(lambda tx: people.of(tx, person.account))
    return login is not None and credentials.password_matches(login.password, password)
