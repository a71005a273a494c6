"""Changes of an account end its sessions, links and unfinished sign-ins as the table in SECURITY.md says."""

import re
from collections.abc import Callable

import pyotp
import pytest
import time_machine
from sqlalchemy import Connection, select

from tests.conftest import PASSWORD, Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.logins import add_factor
from tests.support.source import ROOT
from waypost.core import clock, credentials
from waypost.db.schema import sessions
from waypost.items.accounts import email_links, ops

START = "2026-11-21 12:00:00Z"
_NEW = "another password"
Change = Callable[[Connection, int], object]


def _suspend_and_reactivate(tx: Connection, account: int) -> None:
    ops.suspend(tx, account, suspended=True)
    ops.suspend(tx, account, suspended=False)


# Change, and what it ends: sessions, reset links and links that confirm an address, sign-ins that wait for a code.
CHANGES: dict[str, tuple[Change, bool, bool, bool]] = {
    "Suspension": (_suspend_and_reactivate, True, True, True),
    "New password": (
        lambda tx, account: ops.change(tx, account, password=credentials.hash_password(_NEW)),
        *(True, True, True),
    ),
    "New e-mail address": (lambda tx, account: ops.change(tx, account, email="new@example.com"), False, True, True),
    "New username": (lambda tx, account: ops.rename(tx, account, "anna"), False, False, False),
    "Admin rights given or removed": (lambda tx, account: ops.set_admin(tx, account, admin=False), False, False, False),
    "Another plan": (lambda tx, account: ops.move(tx, account, plan="unlimited"), False, False, False),
}


@ON_SQLITE
@pytest.mark.parametrize(("change", "sessions_end", "links_end", "sign_ins_end"), CHANGES.values(), ids=CHANGES)
def test_change_of_account_ends_sessions_links_and_sign_ins(
    ana: Person,
    dashboard: Browser,
    service: AsgiClient,
    change: Change,
    *,
    sessions_end: bool,
    links_end: bool,
    sign_ins_end: bool,
) -> None:
    with time_machine.travel(START, tick=False):
        links = [
            ana.database.read(lambda tx: email_links.reset_link(tx, "", ana.account)),
            ana.database.read(lambda tx: email_links.change_link(tx, "", ana.account, "other@example.com")),
        ]
        code = pyotp.TOTP(add_factor(ana)).at(clock.now())
        waiting = new_browser(service)
        page = waiting.sign_in("ana")
        form = {name: hidden_field(page, name) for name in ("token", "sealed")}
        ana.write(ops.add_unlimited_plan)
        ana.write(lambda tx: change(tx, ana.account))
        assert (dashboard.get("/links").status_code == 303) == sessions_end
        for link in links:
            assert (service.another().get(link).status_code == 400) == links_end, link
        waiting.client.post("/dashboard/signin/code", data={**form, "code": code})
        assert (waiting.get("/links").status_code == 303) == sign_ins_end
        assert ana.call("GET", "/urls").status_code == 200, "API keys stay"


def test_table_of_the_documentation_names_the_same_changes() -> None:
    table = (ROOT / "SECURITY.md").read_text().partition("## Changes that end sessions")[2].partition("\n## ")[0]
    rows = {
        name: cells for name, *cells in re.findall(r"^\| ([^|]+) \| (\w+)[^|]* \| (\w+)[^|]* \| (\w+)", table, re.M)
    }
    for name, (_, *ends) in CHANGES.items():
        assert [cell.lower() for cell in rows[name]] == ["end" if is_ended else "stay" for is_ended in ends], name


@ON_SQLITE
def test_suspension_deletes_sessions_in_its_transaction(
    ana: Person, ben: Person, dashboard: Browser, service: AsgiClient
) -> None:
    assert new_browser(service).sign_in("ben").status_code == 303
    ana.write(lambda tx: ops.suspend(tx, ana.account, suspended=True))
    assert ana.database.read(lambda tx: tx.execute(select(sessions.c.account)).scalars().all()) == [ben.account]


@ON_SQLITE
def test_links_do_not_work_while_the_account_is_suspended(ana: Person, service: AsgiClient) -> None:
    ana.write(lambda tx: ops.suspend(tx, ana.account, suspended=True))
    link = ana.database.read(lambda tx: email_links.reset_link(tx, "", ana.account))
    browser = new_browser(service)
    page = browser.client.get(link)
    assert (page.status_code, "This account is suspended." in page.text) == (400, True)
    token = hidden_field(browser.get("/signin"), "token")
    form = {"token": token, "pass": link.partition("pass=")[2], "password": _NEW}
    assert browser.client.post("/dashboard/reset", data=form).status_code == 400
    assert "suspended" in browser.sign_in("ana").text
    ana.write(lambda tx: ops.suspend(tx, ana.account, suspended=False))
    assert browser.sign_in("ana", PASSWORD).status_code == 303
    assert browser.client.get(link).status_code == 200, "a link of the administrator works after the suspension"


@ON_SQLITE
def test_links_of_an_earlier_second_end_with_each_of_two_suspensions(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(START, tick=False):
        for _ in range(2):
            link = ana.database.read(lambda tx: email_links.reset_link(tx, "", ana.account))
            ana.write(lambda tx: _suspend_and_reactivate(tx, ana.account))
            assert service.another().get(link).status_code == 400
