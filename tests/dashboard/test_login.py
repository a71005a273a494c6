"""Who gets into the dashboard and for how long: passwords, second factors, guesses, cookies and sessions."""

import re
import threading

import pyotp
import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import HASHER_IN_SERVICE, PASSWORD, Person
from tests.support.asgi_client import Inside
from tests.support.dashboard_client import Browser, hidden, said, window
from waypost import clock, credentials
from waypost.accounts import ops
from waypost.app import build
from waypost.auth import sessions
from waypost.db.database import Database
from waypost.db.schema import sessions as table
from waypost.settings import Settings

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_one_signs_in_by_name_or_address_and_out_again(ana: Person, browser: Browser) -> None:
    for name in ("ana", "ANA@example.com", " ana "):
        answer = browser.sign_in(name)
        assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard")
        assert browser.get("").status_code == 200
        kept = browser.cookie
        assert browser.send("/signout", at="").status_code == 303
        browser.client.cookies.set("waypost", kept, domain="go.localhost.local", path="/")
        assert browser.get("").headers["location"] == "/dashboard/signin"
        browser.client.cookies.clear()


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(ana: Person, browser: Browser) -> None:
    unknown, wrong = (
        re.sub(r'value="[^"]*"', "", browser.sign_in(name, "wrong password").text) for name in ("nobody", "ana")
    )
    assert unknown == wrong
    assert "No account has this name and password" in wrong


@ONLY_SQLITE
def test_for_an_unknown_name_a_password_is_hashed_too(
    ana: Person, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "_hasher", HASHER_IN_SERVICE)
    ana.put("/account/update", {"password": "kept as the service keeps it"})
    verified: list[str] = []
    verify = credentials.password_matches

    def watched(hashed: str, password: str) -> bool:
        verified.append(hashed[:30])
        return verify(hashed, password)

    monkeypatch.setattr(credentials, "password_matches", watched)
    for name in ("nobody", "ana"):
        browser.sign_in(name, "wrong password")
    assert len(verified) == 2
    assert verified[0] == verified[1], "the same method with the same costs"


@ONLY_SQLITE
def test_guessing_ends_after_ten_tries_even_with_the_right_password(ana: Person, browser: Browser) -> None:
    answers = [browser.sign_in("ana", f"guess number {n}").status_code for n in range(10)]
    assert answers == [400] * 10
    last = browser.sign_in("ana")
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) <= 60
    assert browser.get("").status_code == 303


@ONLY_SQLITE
def test_guesses_that_come_all_at_once_are_counted_too(ana: Person, service: Inside) -> None:
    windows = [window(service) for _ in range(30)]
    forms = [hidden(one.get("/signin"), "token") for one in windows]
    statuses: list[int] = []

    def guess(one: Browser, token: str) -> None:
        form = {"token": token, "name": "ana", "password": "a wrong guess"}
        statuses.append(one.client.post("/dashboard/signin", data=form).status_code)

    threads = [threading.Thread(target=guess, args=pair) for pair in zip(windows, forms, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(400) == 10
    assert statuses.count(429) == 20


@pytest.mark.parametrize(
    "goal",
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
@ONLY_SQLITE
def test_after_signing_in_nobody_is_sent_elsewhere(ana: Person, browser: Browser, goal: str) -> None:
    page = browser.get("/signin", params={"next": goal})
    assert hidden(page, "next") == "/dashboard"
    form = {"token": hidden(page, "token"), "next": goal, "name": "ana", "password": PASSWORD}
    assert browser.client.post("/dashboard/signin", data=form).headers["location"] == "/dashboard"


@ONLY_SQLITE
def test_after_signing_in_one_is_where_one_wanted_to_be(ana: Person, browser: Browser) -> None:
    wanted = browser.get("/links?q=a%20b&page=2")
    assert wanted.headers["location"] == "/dashboard/signin?next=/dashboard/links%3Fq%3Da%2520b%26page%3D2"
    page = browser.client.get(wanted.headers["location"])
    form = {"token": hidden(page, "token"), "next": hidden(page, "next").replace("&amp;", "&"), "name": "ana"}
    answer = browser.client.post("/dashboard/signin", data={**form, "password": PASSWORD})
    assert answer.headers["location"] == "/dashboard/links?q=a%20b&page=2"


def test_signing_in_gives_a_new_cookie_of_which_only_a_hash_is_kept(
    ana: Person, browser: Browser, database: Database
) -> None:
    browser.get("/signin")
    before = browser.cookie
    answer = browser.sign_in("ana")
    assert browser.cookie != before
    told = next(value for value in answer.headers.get_list("set-cookie") if value.startswith("waypost="))
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in told.split(";")}
    rows = database.read(lambda tx: tx.execute(select(table)).mappings().all())
    assert [row["digest"] for row in rows] == [credentials.digest(browser.cookie)]
    assert browser.cookie not in str([dict(row) for row in rows])


@ONLY_SQLITE
def test_on_https_the_cookie_is_one_that_no_other_host_can_set(settings: Settings, database: Database) -> None:
    secure = settings.model_copy(update={"base_url": "https://go.example.com"})
    with Inside(build(secure, database), base_url="https://go.example.com") as client:
        told = client.get("/dashboard/signin").headers["set-cookie"]
    assert told.startswith("__Host-waypost=")
    assert "Secure" in told
    assert "Path=/;" in told
    assert "domain" not in told.lower()


def test_a_session_ends_thirty_days_after_its_last_use(ana: Person, browser: Browser) -> None:
    with time_machine.travel("2026-11-21 12:00:00Z", tick=False) as world:
        browser.sign_in("ana")
        for days in (29, 29):
            world.shift(days * 86_400)
            assert browser.get("").status_code == 200
        world.shift(sessions.LIFE + 1)
        assert browser.get("").status_code == 303


def test_a_session_that_was_ended_elsewhere_can_do_nothing_more(ana: Person, inside: Browser, service: Inside) -> None:
    other = window(service)
    other.sign_in("ana")
    page = inside.get("/links/new")
    assert said(other.send("/account/sessions/end", at="/account/sessions"), other) == "Signed out there."
    form = {"token": hidden(page, "token"), "url": "https://example.com/"}
    answer = inside.client.post("/dashboard/links/new", data=form)
    assert answer.headers["location"] == "/dashboard/signin"
    assert ana.get("/urls")["data"]["result"] == 0
    assert other.get("/links").status_code == 200


def test_nobody_ends_the_session_of_another(ana: Person, ben: Person, inside: Browser, database: Database) -> None:
    theirs = database.write(lambda tx: sessions.begin(tx, ben.account, agent="Firefox"))
    found = database.read(lambda tx: sessions.of(tx, ben.account))[0]
    assert inside.send("/account/sessions/end", at="/account/sessions", id=found.id).status_code == 404
    assert database.read(lambda tx: sessions.find(tx, theirs)) is not None


def test_a_suspended_account_is_out_at_once(ana: Person, inside: Browser, database: Database) -> None:
    database.write(lambda tx: ops.suspend(tx, ana.account, suspended=True))
    assert inside.get("/links").status_code == 303
    assert "suspended" in inside.sign_in("ana").text


def _codes_of(inside: Browser) -> tuple[str, list[str]]:
    """Switches the second factor on: the secret, and the recovery codes."""
    page = inside.get("/account/factor")
    found = re.search(r"<code>([A-Z2-7]{32})</code>", page.text)
    assert found is not None
    form = {name: hidden(page, name) for name in ("token", "sealed")}
    wrong = inside.client.post("/dashboard/account/factor", data={**form, "code": "000000", "password": PASSWORD})
    assert "not right" in wrong.text
    code = pyotp.TOTP(found[1]).at(clock.now())
    done = inside.client.post("/dashboard/account/factor", data={**form, "code": code, "password": PASSWORD})
    return found[1], re.findall(r"<code>([a-z0-9]{5}-[a-z0-9]{5})</code>", done.text)


def test_a_second_factor_takes_each_code_once(ana: Person, inside: Browser, service: Inside) -> None:
    with time_machine.travel("2026-11-21 12:00:00Z", tick=False) as world:
        secret, codes = _codes_of(inside)
        assert len(set(codes)) == 10
        other = window(service)

        def enter(code: str) -> int:
            asked = other.sign_in("ana")
            assert other.get("").status_code == 303, "the password alone opens nothing"
            form = {"token": hidden(asked, "token"), "sealed": hidden(asked, "sealed"), "code": code}
            status = int(other.client.post("/dashboard/signin/code", data=form).status_code)
            other.client.cookies.clear()
            return status

        assert enter(pyotp.TOTP(secret).at(clock.now())) == 400, "it was used to switch it on"
        assert enter("12345") == 400
        world.shift(120)
        code = pyotp.TOTP(secret).at(clock.now())
        assert [enter(code), enter(code)] == [303, 400]
        assert [enter(codes[0].upper()), enter(codes[0])] == [303, 400]
        world.shift(120)
        assert "Recovery codes left: 9" in inside.get("/account/factor").text
        answer = inside.send("/account/factor/off", at="/account/factor", password=PASSWORD)
        assert said(answer, inside) == "The second factor is off."
        other.client.cookies.clear()
        assert other.sign_in("ana").headers["location"] == "/dashboard"


@ONLY_SQLITE
def test_the_step_between_password_and_code_belongs_to_one_browser(
    ana: Person, inside: Browser, service: Inside
) -> None:
    secret, _ = _codes_of(inside)
    first, second = window(service), window(service)
    sealed = hidden(first.sign_in("ana"), "sealed")
    with time_machine.travel(clock.now() + 60):
        form = {
            "sealed": sealed,
            "code": pyotp.TOTP(secret).at(clock.now()),
            "token": hidden(second.get("/signin"), "token"),
        }
        assert second.client.post("/dashboard/signin/code", data=form).headers["location"] == "/dashboard/signin"
        assert second.get("").status_code == 303
