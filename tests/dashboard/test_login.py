"""Sign-in to the dashboard: passwords, two-factor authentication, rate limits, cookies and sessions."""

import re
from functools import partial

import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import HASHER_IN_SERVICE, PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.server import at_once
from waypost.auth import sessions
from waypost.core import credentials
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import sessions as table
from waypost.items.accounts import ops
from waypost.server.app import build


@pytest.mark.parametrize("name", ["ana", "ANA@example.com", " ana "])
def test_sign_in_by_username_or_email_and_sign_out(ana: Person, browser: Browser, name: str) -> None:
    response = browser.sign_in(name)
    assert (response.status_code, response.headers["location"]) == (303, "/dashboard")
    assert browser.get("").status_code == 200
    cookie = browser.cookie
    assert browser.submit("/signout", at="/links").status_code == 303
    browser.client.cookies.set("waypost", cookie, domain="go.localhost.local", path="/")
    assert browser.get("").headers["location"] == "/dashboard/signin"
    browser.client.cookies.clear()


def test_unknown_name_and_wrong_password_get_the_same_response(ana: Person, browser: Browser) -> None:
    unknown, wrong = (
        re.sub(r'value="[^"]*"', "", browser.sign_in(name, "wrong password").text) for name in ("unknown", "ana")
    )
    assert unknown == wrong
    assert "Wrong username or password" in wrong


@ON_SQLITE
def test_sign_in_with_unknown_name_verifies_a_password_hash(
    ana: Person, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_hasher", HASHER_IN_SERVICE)
    ana.put("/account/update", {"password": "a password with the real costs"})
    verified: list[str] = []
    verify = credentials.password_matches

    def record(hashed: str, password: str) -> bool:
        verified.append(hashed[:30])
        return verify(hashed, password)

    monkeypatch.setattr(credentials, "password_matches", record)
    for name in ("unknown", "ana"):
        browser.sign_in(name, "wrong password")
    assert len(verified) == 2
    assert verified[0] == verified[1], "the same method with the same costs"


@ON_SQLITE
def test_eleventh_sign_in_attempt_in_a_minute_returns_429(ana: Person, browser: Browser) -> None:
    answers = [browser.sign_in("ana", f"guess number {n}").status_code for n in range(10)]
    assert answers == [400] * 10
    last = browser.sign_in("ana")
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) <= 60
    assert browser.get("").status_code == 303


@ON_SQLITE
def test_concurrent_sign_in_attempts_are_limited(ana: Person, service: AsgiClient) -> None:
    browsers = [new_browser(service) for _ in range(30)]
    tokens = [hidden_field(browser.get("/signin"), "token") for browser in browsers]

    def guess(browser: Browser, token: str) -> int:
        form = {"token": token, "name": "ana", "password": "a wrong guess"}
        return int(browser.client.post("/dashboard/signin", data=form).status_code)

    statuses = at_once([partial(guess, browser, token) for browser, token in zip(browsers, tokens, strict=True)])
    assert statuses.count(400) == 10
    assert statuses.count(429) == 20


@pytest.mark.parametrize(
    "path",
    [
        *(
            "https://evil.example/",
            "//evil.example",
            "/\\evil.example",
            "/dashboard//evil.example",
            "javascript:alert(1)",
        ),
        *(
            "/dashboard/../spring",
            "/dashboard/%0d%0aSet-Cookie:a=b",
            "/api/docs",
            "dashboard",
            "/dashboardx",
            "\t//evil",
        ),
    ],
)
@ON_SQLITE
def test_sign_in_with_foreign_next_path_redirects_to_overview(ana: Person, browser: Browser, path: str) -> None:
    page = browser.get("/signin", params={"next": path})
    assert hidden_field(page, "next") == "/dashboard"
    form = {"token": hidden_field(page, "token"), "next": path, "name": "ana", "password": PASSWORD}
    assert browser.client.post("/dashboard/signin", data=form).headers["location"] == "/dashboard"


@ON_SQLITE
def test_sign_in_redirects_to_the_requested_page(ana: Person, browser: Browser) -> None:
    requested = browser.get("/links?q=a%20b&page=2")
    assert requested.headers["location"] == "/dashboard/signin?next=/dashboard/links%3Fq%3Da%2520b%26page%3D2"
    page = browser.client.get(requested.headers["location"])
    form = {
        "token": hidden_field(page, "token"),
        "next": hidden_field(page, "next").replace("&amp;", "&"),
        "name": "ana",
    }
    response = browser.client.post("/dashboard/signin", data={**form, "password": PASSWORD})
    assert response.headers["location"] == "/dashboard/links?q=a%20b&page=2"


def test_sign_in_sets_new_cookie_and_stores_only_its_digest(ana: Person, browser: Browser, database: Database) -> None:
    browser.get("/signin")
    old_cookie = browser.cookie
    response = browser.sign_in("ana")
    assert browser.cookie != old_cookie
    set_cookie = next(value for value in response.headers.get_list("set-cookie") if value.startswith("waypost="))
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in set_cookie.split(";")}
    rows = database.read(lambda tx: tx.execute(select(table)).mappings().all())
    assert [row["digest"] for row in rows] == [credentials.digest(browser.cookie)]
    assert browser.cookie not in str([dict(row) for row in rows])


@ON_SQLITE
def test_session_cookie_on_https_has_host_prefix(settings: Settings, database: Database) -> None:
    secure = settings.model_copy(update={"base_url": "https://go.example.com"})
    with AsgiClient(build(secure, database), base_url="https://go.example.com") as client:
        set_cookie = client.get("/dashboard/signin").headers["set-cookie"]
    assert set_cookie.startswith("__Host-waypost=")
    assert "Secure" in set_cookie
    assert "Path=/;" in set_cookie
    assert "domain" not in set_cookie.lower()


def test_session_expires_thirty_days_after_last_use(ana: Person, browser: Browser) -> None:
    with time_machine.travel("2026-11-21 12:00:00Z", tick=False) as world:
        browser.sign_in("ana")
        for days in (29, 29):
            world.shift(days * 86_400)
            assert browser.get("").status_code == 200
        world.shift(sessions.LIFE + 1)
        assert browser.get("").status_code == 303


def test_session_ended_in_another_browser_is_rejected(ana: Person, dashboard: Browser, service: AsgiClient) -> None:
    other = new_browser(service)
    other.sign_in("ana")
    page = dashboard.get("/links/new")
    assert other.submit_for_message("/account/sessions/end", at="/account/sessions") == "The session was ended."
    form = {"token": hidden_field(page, "token"), "url": "https://example.com/"}
    response = dashboard.client.post("/dashboard/links/new", data=form)
    assert response.headers["location"] == "/dashboard/signin?next=/dashboard/links/new&unsaved=yes"
    assert ana.get("/urls")["data"]["result"] == 0
    assert other.get("/links").status_code == 200


def test_ending_session_of_another_account_returns_404(
    ana: Person, ben: Person, dashboard: Browser, database: Database
) -> None:
    token = database.write(lambda tx: sessions.begin(tx, ben.account, agent="Firefox"))
    session = database.read(lambda tx: sessions.of(tx, ben.account))[0]
    assert dashboard.submit("/account/sessions/end", at="/account/sessions", id=session.id).status_code == 404
    assert database.read(lambda tx: sessions.find(tx, token)) is not None


def test_suspended_account_is_signed_out(ana: Person, dashboard: Browser, database: Database) -> None:
    database.write(lambda tx: ops.suspend(tx, ana.account, suspended=True))
    assert dashboard.get("/links").status_code == 303
    assert "suspended" in dashboard.sign_in("ana").text
