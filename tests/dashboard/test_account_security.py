"""Protection of accounts: proof for new keys, notices and confirmation by e-mail, limits of codes and e-mail."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pyotp
import pytest
import time_machine
from sqlalchemy import Engine, event, insert, update

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.databases import ON_SQLITE
from tests.support.mailbox import mailbox
from tests.support.server import at_once
from waypost import clock
from waypost.app import build
from waypost.auth import api_keys, two_factor
from waypost.db.database import Database
from waypost.db.schema import totp_secrets
from waypost.settings import Settings

NEW = "another password"
START = "2026-11-21 12:00:00Z"


@contextmanager
def _with_mail(settings: Settings, database: Database) -> Iterator[tuple[AsgiClient, list[dict[str, str]]]]:
    """A service with SMTP; its e-mails are complete when it is closed."""
    with mailbox() as (port, emails):
        changed = {"smtp_url": f"smtp://127.0.0.1:{port}", "smtp_tls": "off", "registration": "on"}
        with AsgiClient(build(Settings.model_validate({**settings.model_dump(), **changed}), database)) as client:
            yield client, emails


def _with_factor(ana: Person) -> str:
    secret = two_factor.new_secret()
    row = {"account": ana.account, "secret": secret, "last_step": 0, "created": clock.now()}
    ana.write(lambda tx: tx.execute(insert(totp_secrets).values(row)))
    return secret


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
        secret = _with_factor(ana)
        fields = {"name": "script", "scope": "write", "expires": "", "password": PASSWORD}
        for code in ("", "000000"):
            assert dashboard.submit("/account/keys", code=code, **fields).status_code == 400
        code = pyotp.TOTP(secret).at(clock.now())
        assert "Your new key" in dashboard.submit("/account/keys", code=code, **fields).text
        assert dashboard.submit("/account/keys", code=code, **fields).status_code == 400, "each code works once"


@pytest.mark.parametrize("path", ["/account/factor/off", "/account/factor/codes"])
def test_factor_change_requires_a_code(ana: Person, dashboard: Browser, path: str) -> None:
    _with_factor(ana)
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
    with _with_mail(settings, database) as (client, emails):
        response = client.put("/api/account/update", headers=headers, json={"email": "new@example.com"})
        assert (response.status_code, response.json().keys()) == (200, {"error", "message"})
        assert ana.get("/account")["data"]["email"] == "ana@example.com"
    assert [email["to"] for email in emails] == ["new@example.com", "ana@example.com"]
    link = _link(emails[0]["text"])
    with _with_mail(settings, database) as (client, emails):
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
    with _with_mail(settings, database) as (client, emails):
        headers = {"Authorization": f"Bearer {ana.key}"}
        client.put("/api/account/update", headers=headers, json={"email": "new@example.com"})
        client.put("/api/account/update", headers=headers, json={"password": NEW})
    assert (emails[-1]["to"], "password" in emails[-1]["subject"]) == ("ana@example.com", True)
    assert Browser(AsgiClient(build(settings, database))).get(_link(emails[0]["text"])).status_code == 400


def test_recipient_gets_three_emails_an_hour(ana: Person, settings: Settings, database: Database) -> None:
    def ask(client: AsgiClient) -> set[str]:
        browser = Browser(client)
        answers = [browser.submit("/forgot", name=name) for name in ("ana", "ANA@example.com", "ana", "ana")]
        answers += [browser.submit("/register", email="ana@example.com") for _ in range(2)]
        return {str(response.status_code) for response in answers}

    with time_machine.travel(START, tick=False) as world:
        for _ in range(2):
            with _with_mail(settings, database) as (client, emails):
                assert ask(client) == {"200"}
            assert [email["to"] for email in emails] == ["ana@example.com"] * 3
            world.shift(3601)


@pytest.mark.parametrize("path", ["/forgot", "/register"])
def test_forms_do_the_same_work_for_known_and_unknown_addresses(
    ana: Person, settings: Settings, database: Database, path: str
) -> None:
    statements: list[str] = []  # without those of the thread that sends e-mails, and of background tasks

    def record(_tx: object, _cursor: object, statement: str, *_details: object) -> None:
        if threading.current_thread().name == "AnyIO worker thread" and re.search("accounts|attempt_limits", statement):
            statements.append(statement)

    work = []
    with _with_mail(settings, database) as (client, emails):
        browser = Browser(client)
        for address in ("first@example.com", "ana@example.com", "unknown@example.com"):
            fields = {"token": hidden_field(browser.get(path), "token"), "name": address, "email": address}
            event.listen(Engine, "before_cursor_execute", record)
            response = client.post(f"/dashboard{path}", data=fields)
            event.remove(Engine, "before_cursor_execute", record)
            work.append((response.status_code, response.text.replace(address, ""), tuple(statements)))
            statements.clear()
    assert work[1] == work[2], "the first request also reads what every process reads once"
    assert "ana@example.com" in {email["to"] for email in emails}


def test_new_key_and_reset_password_send_email_to_owner(ana: Person, settings: Settings, database: Database) -> None:
    with _with_mail(settings, database) as (client, emails):
        browser = Browser(client)
        browser.sign_in("ana")
        browser.submit("/account/keys", name="phone", scope="write", expires="", password=PASSWORD)
        Browser(client.another()).submit("/forgot", name="ana")
    assert [email["to"] for email in emails] == ["ana@example.com"] * 2
    assert "key" in emails[0]["subject"]
    link = _link(emails[1]["text"])
    with _with_mail(settings, database) as (client, emails):
        Browser(client).submit("/reset", at=link, **{"pass": link.partition("=")[2], "password": NEW})
    assert [(email["to"], "password" in email["subject"]) for email in emails] == [("ana@example.com", True)]


def test_wrong_codes_double_the_wait_up_to_fifty_a_day(ana: Person) -> None:
    with time_machine.travel(START, tick=False) as world:
        secret = _with_factor(ana)

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
        _with_factor(ana)
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
        _with_factor(ana)
        guess = partial(ana.write, lambda tx: two_factor.accept(tx, ana.account, "000000"))
        outcomes = at_once([guess] * 30)
    assert sum(not outcome.wait for outcome in outcomes) == 10
    assert sum(outcome.warns for outcome in outcomes) == 1


def test_ten_wrong_codes_send_email_to_owner(ana: Person, settings: Settings, database: Database) -> None:
    with time_machine.travel(START, tick=False) as world:
        _with_factor(ana)
        with _with_mail(settings, database) as (client, emails):
            browser = Browser(client)
            page = browser.sign_in("ana")
            form = {"token": hidden_field(page, "token"), "sealed": hidden_field(page, "sealed"), "code": "000000"}
            answers = [client.post("/dashboard/signin/code", data=form).status_code for _ in range(10)]
            world.shift(29)
            answers.append(client.post("/dashboard/signin/code", data=form).status_code)
        assert answers == [400] * 10 + [429]
        assert [(email["to"], "codes" in email["subject"]) for email in emails] == [("ana@example.com", True)]


def _guess(browser: Browser, network: str, password: str = "a wrong guess") -> int:
    page = browser.get("/signin")
    form = {"token": hidden_field(page, "token"), "name": "ana", "password": password}
    headers = {"X-Forwarded-For": network}
    return int(browser.client.post("/dashboard/signin", data=form, headers=headers).status_code)


def test_failures_of_other_networks_do_not_lock_the_owner_out(
    ana: Person, settings: Settings, database: Database
) -> None:
    proxied = Settings.model_validate({**settings.model_dump(), "trusted_proxies": "127.0.0.1"})
    with (
        time_machine.travel(START, tick=False),
        AsgiClient(build(proxied, database), address="127.0.0.1") as client,
    ):
        known = Browser(client.another())
        assert _guess(known, "203.0.113.99", PASSWORD) == 303
        known.client.cookies.delete("waypost")
        attacker = Browser(client.another())
        statuses = [_guess(attacker, f"203.0.113.{n % 10}") for n in range(100)]
        assert statuses == [400] * 100
        assert _guess(attacker, "203.0.113.1") == 429
        slow = [_guess(attacker, "203.0.113.20") for _ in range(7)]
        assert slow == [400] * 5 + [429] * 2, "five tries of each further network remain"
        assert _guess(Browser(client.another()), "198.51.100.7", PASSWORD) == 303
        assert _guess(known, "203.0.113.1", PASSWORD) == 303, "a known browser, even in the attacker's network"


def test_networks_of_one_ipv6_customer_share_a_limit(ana: Person, settings: Settings, database: Database) -> None:
    proxied = Settings.model_validate({**settings.model_dump(), "trusted_proxies": "127.0.0.1"})
    with (
        time_machine.travel(START, tick=False),
        AsgiClient(build(proxied, database), address="127.0.0.1") as client,
    ):
        statuses = [_guess(Browser(client), f"2001:db8:1:{n % 16:x}::1") for n in range(30)]
        assert statuses == [400] * 20 + [429] * 10
        assert _guess(Browser(client), "2001:db8:2::1") == 400
