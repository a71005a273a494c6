"""Who gets into the dashboard, what a stranger or another account can do there, and what is kept of them."""

import re
import threading
from collections.abc import Iterator
from typing import Any

import pyotp
import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import HASHER_IN_SERVICE, PASSWORD, Person
from tests.dashing import Browser, hidden, said, window
from tests.inside import Inside
from tests.mailbox import mailbox
from waypost import clock, credentials
from waypost.accounts import ops, sessions
from waypost.app import build
from waypost.dashboard import passes
from waypost.dashboard.routes import PAGES
from waypost.db import Database
from waypost.schema import sessions as table
from waypost.settings import Settings

ONLY_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
NEW = "another password"
_REFUSED = "This username or e-mail address cannot be used. Please try another."


@pytest.fixture
def browser(service: Inside) -> Browser:
    return Browser(service)


@pytest.fixture
def inside(browser: Browser, ana: Person) -> Browser:
    assert browser.sign_in("ana").status_code == 303
    return browser


@pytest.fixture
def open_to_all(settings: Settings, database: Database, ingester: None) -> Iterator[Browser]:
    opened = settings.model_copy(update={"registration": "on"})
    with Inside(build(opened, database)) as client:
        yield Browser(client)


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


def _paths(method: str) -> list[Any]:
    return [pytest.param(page, id=page.path) for page in PAGES if page.method == method]


@pytest.mark.parametrize("page", _paths("POST"))
@ONLY_SQLITE
def test_no_form_is_taken_that_we_did_not_show_to_this_browser(
    ana: Person, inside: Browser, service: Inside, page: Any
) -> None:
    path = page.path.replace("{id:int}", "1")
    stranger = window(service)
    theirs = hidden(stranger.get("/signin"), "token")
    for token in ({}, {"token": ""}, {"token": theirs}, {"token": "é"}):
        fields = {**token, "url": "https://example.com/", "name": "x"}
        if page.take:  # an upload
            answer = inside.client.post(path, files={name: (None, value) for name, value in fields.items()})
        else:
            answer = inside.client.post(path, data=fields)
        assert answer.status_code == 403, path
        assert "out of date" in answer.text
    assert ana.get("/urls")["data"]["result"] == 0
    assert inside.get("").status_code == 200


@pytest.mark.parametrize("page", _paths("GET"))
@ONLY_SQLITE
def test_every_page_is_private_framed_by_nobody_and_runs_no_words_of_others(
    ana: Person, browser: Browser, page: Any
) -> None:
    link = ana.post("/url/add", {"url": "https://example.com/", "title": "<script>alert(1)</script>"})["id"]
    path = page.path.replace("{id:int}", str(link))
    answers = [browser.client.get(path)]
    if not page.public:
        assert answers[0].headers["location"].startswith("/dashboard/signin")
    browser.sign_in("ana")
    answers.append(browser.client.get(path))
    for answer in answers:
        assert answer.status_code in (200, 303, 400, 404), path
        headers = answer.headers
        assert headers["cache-control"] == "private, no-store"
        assert "unsafe" not in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        is_preview = path == "/dashboard/bios/phone" and answer.status_code == 200
        framers = "'self'" if is_preview else "'none'"
        assert f"frame-ancestors {framers}" in headers["content-security-policy"]
        assert headers["x-frame-options"] == ("SAMEORIGIN" if is_preview else "DENY")
        assert "<script>alert" not in answer.text
        assert " style=" not in answer.text
        assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
        assert not re.search(r"\son\w+=", answer.text)


@ONLY_SQLITE
def test_a_branded_domain_has_no_dashboard(ana: Person, service: Inside) -> None:
    ana.post("/domain/add", {"domain": "https://brand.example"})
    for path in ("/dashboard", "/dashboard/signin", "/dashboard/static/app.js"):
        assert service.get(path, headers={"Host": "brand.example"}).status_code == 404


@ONLY_SQLITE
def test_built_files_are_kept_for_ever_and_come_compressed(browser: Browser) -> None:
    page = browser.get("/signin").text
    paths = re.findall(r'(?:href|src)="(/dashboard/static/[^"]+)"', page)
    assert len(paths) == 2
    for path in paths:
        for encoding in ("br", "gzip", ""):
            answer = browser.client.get(path, headers={"Accept-Encoding": encoding})
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.headers.get("content-encoding", "") == encoding
    for name in ("manifest.json", "nothing.js", "sources.sha256", "..%2fapp.py"):
        assert browser.get(f"/static/{name}").status_code == 404


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


def test_the_link_to_a_new_password_works_once_and_for_an_hour(
    ana: Person, browser: Browser, database: Database
) -> None:
    def path() -> str:
        return database.read(lambda tx: passes.reset_link(tx, "", ana.account)).removeprefix("/dashboard")

    link = path()
    assert browser.send("/reset", at=link, **{"pass": link.partition("=")[2], "password": "short"}).status_code == 400
    done = browser.send("/reset", at=link, **{"pass": link.partition("=")[2], "password": NEW})
    assert done.headers["location"] == "/dashboard"
    assert "Hello, ana" in browser.get("").text
    assert browser.get(link).status_code == 400
    late = path()
    with time_machine.travel(clock.now() + passes.RESET_SECONDS + 1):
        assert "no longer good" in browser.get(late).text
    changed = late.replace("=", "=A", 1)
    assert browser.get(changed).status_code == 400
    browser.client.cookies.clear()
    assert browser.sign_in("ana", NEW).status_code == 303


@ONLY_SQLITE
def test_without_letters_a_forgotten_password_is_a_matter_of_the_operator(browser: Browser) -> None:
    assert "waypost account reset" in browser.get("/forgot").text


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


@ONLY_SQLITE
def test_a_form_is_at_most_a_megabyte_and_a_strange_one_is_no_fault_of_ours(ana: Person, inside: Browser) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body, status in ((b"a=" + b"x" * 2_000_000, 413), (b"&".join([b"a=1"] * 6000), 400), (b"\xff\x00=%ff&;", 403)):
        assert inside.client.post("/dashboard/links/new", content=body, headers=headers).status_code == status
    assert inside.get("/links/99999999999999999999").status_code == 404
    assert inside.get("/links?page=99999999999&q=%00%ff&campaign=x&order=x&status=x").status_code == 200
    assert inside.client.put("/dashboard/links/new").status_code == 405


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
