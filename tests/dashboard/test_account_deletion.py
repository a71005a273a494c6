"""Deletion of an account by its owner or an administrator, with a grace period in which it can be canceled."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Thread

import pytest
import time_machine
from sqlalchemy import Connection, select

from tests.conftest import PASSWORD, Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.logins import service_with_mail
from tests.support.threads import join
from waypost.admin import account_deletion
from waypost.auth import api_keys
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import accounts, leases
from waypost.items.accounts import deletion, ops

_LATER = deletion.GRACE_SECONDS + 60


def _exists(database: Database, account: int) -> bool:
    query = select(accounts.c.id).where(accounts.c.id == account)
    return database.read(lambda tx: tx.execute(query).first()) is not None


def _make_admin(person: Person) -> None:
    person.write(lambda tx: ops.set_admin(tx, person.account, admin=True))


def _run_later(database: Database) -> None:
    with time_machine.travel(time.time() + _LATER, tick=True):
        account_deletion.delete_due(database, lambda: False)


def test_owner_deletes_account_with_password(ana: Person, ben: Person, dashboard: Browser) -> None:
    _make_admin(ben)
    ana.add("url", url="https://example.com/", custom="spring")
    page = dashboard.get("/account/delete").text
    assert "Links: 1" in page
    assert "Export everything" in page
    refused = dashboard.submit("/account/delete", password="wrong")
    assert (refused.status_code, "Wrong password." in refused.text) == (400, True)
    assert ana.database.read(lambda tx: deletion.due_at(tx, ana.account)) is None
    assert "scheduled" in dashboard.submit_for_message("/account/delete", password=PASSWORD)
    assert "will be deleted on" in dashboard.get("/links").text
    assert ana.client.request("GET", "/spring").status_code == 302
    account_deletion.delete_due(ana.database, lambda: False)
    assert _exists(ana.database, ana.account)
    _run_later(ana.database)
    assert not _exists(ana.database, ana.account)
    assert _exists(ana.database, ben.account)
    refused = ben.call("POST", "/url/add", {"url": "https://example.com/", "custom": "spring"})
    assert refused.json()["code"] == "taken"


def test_canceled_deletion_keeps_account(ana: Person, ben: Person, dashboard: Browser) -> None:
    _make_admin(ben)
    dashboard.submit("/account/delete", password=PASSWORD)
    message = dashboard.submit_for_message("/account/delete/cancel", at="/links")
    assert message == "Your account is not deleted."
    assert "will be deleted on" not in dashboard.get("/links").text
    _run_later(ana.database)
    assert _exists(ana.database, ana.account)


def test_deletion_that_is_due_cannot_be_canceled(ana: Person, ben: Person) -> None:
    _make_admin(ben)
    ana.write(lambda tx: deletion.schedule(tx, ana.account))
    with time_machine.travel(time.time() + _LATER, tick=True):
        assert ana.database.write(lambda tx: deletion.begin(tx, ana.account))
        with pytest.raises(Exception, match="has begun"):
            ana.write(lambda tx: deletion.cancel(tx, ana.account))
    assert not ana.database.write(lambda tx: deletion.begin(tx, ben.account))


def test_second_request_keeps_date_of_first(ana: Person, ben: Person) -> None:
    _make_admin(ben)
    first = ana.write(lambda tx: deletion.schedule(tx, ana.account))
    with time_machine.travel(time.time() + 3600, tick=True):
        assert ana.write(lambda tx: deletion.schedule(tx, ana.account)) == first


def test_only_administrator_is_not_deleted(ana: Person, ben: Person, dashboard: Browser) -> None:
    refused = dashboard.submit("/account/delete", password=PASSWORD)
    assert (refused.status_code, "only administrator" in refused.text) == (400, True)
    _make_admin(ben)
    dashboard.submit("/account/delete", password=PASSWORD)
    ben.write(lambda tx: ops.set_admin(tx, ben.account, admin=False))
    _run_later(ana.database)
    assert ana.database.read(lambda tx: deletion.due_at(tx, ana.account)) is None
    assert ana.call("GET", "/account").status_code == 200


def test_another_node_waits_while_one_deletes(ana: Person, ben: Person) -> None:
    _make_admin(ben)
    ana.write(lambda tx: deletion.schedule(tx, ana.account))
    with time_machine.travel(time.time() + _LATER, tick=True):
        held = {"name": "delete accounts", "until": int(time.time()) + 60}
        ana.write(lambda tx: tx.execute(leases.insert().values(held)))
        account_deletion.delete_due(ana.database, lambda: False)
        assert _exists(ana.database, ana.account)
    with time_machine.travel(time.time() + _LATER + 120, tick=True):
        account_deletion.delete_due(ana.database, lambda: False)
    assert not _exists(ana.database, ana.account)


def test_deletion_interrupted_by_stop_resumes(ana: Person, ben: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    _make_admin(ben)
    for number in range(6):
        ana.add("url", url=f"https://example.com/{number}")
    ana.write(lambda tx: deletion.schedule(tx, ana.account))
    monkeypatch.setattr(account_deletion, "_BATCH", 2)
    answers: Iterator[bool] = iter([False] * 3 + [True])
    with time_machine.travel(time.time() + _LATER, tick=True):
        account_deletion.delete_due(ana.database, lambda: next(answers))
        assert 0 < ana.database.read(lambda tx: deletion.contents(tx, ana.account)).items["Links"] < 6
        account_deletion.delete_due(ana.database, lambda: False)
    assert not _exists(ana.database, ana.account)


def test_administrator_deletes_account_and_cancels_in_dashboard(ana: Person, ben: Person, dashboard: Browser) -> None:
    path = f"/admin/accounts/{ben.account}"
    assert "Wrong password" in dashboard.submit(f"{path}/delete", at=path, password="wrong").text
    assert "scheduled" in dashboard.submit_for_message(f"{path}/delete", at=path, password=PASSWORD)
    assert "will be deleted on" in dashboard.get(path).text
    assert "Deletion scheduled" in dashboard.get("/admin/accounts?q=ben").text
    assert "not deleted" in dashboard.submit_for_message(f"{path}/cancel-deletion", at=path)
    assert ben.database.read(lambda tx: deletion.due_at(tx, ben.account)) is None


def test_administrator_deletes_account_and_cancels_by_api(ana: Person, ben: Person) -> None:
    delete, cancel = f"/admin/account/{ben.account}/delete", f"/admin/account/{ben.account}/cancel-deletion"
    limited = replace(ana, key=ana.database.write(lambda tx: api_keys.add(tx, ana.account, name="key", scope="write")))
    assert limited.call("DELETE", delete).json()["code"] == "account_key_required"
    for path, method in ((delete, "DELETE"), (cancel, "POST")):
        refused = ben.call(method, path)
        assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    deleted = ana.call("DELETE", delete).json()
    assert deleted["deletion"] in deleted["message"]
    assert ana.call("POST", cancel).json()["error"] == 0
    assert ben.database.read(lambda tx: deletion.due_at(tx, ben.account)) is None
    assert ana.call("DELETE", "/admin/account/999/delete").status_code == 404
    _run_later(ana.database)
    assert _exists(ana.database, ben.account)


def test_two_nodes_delete_account_once(ana: Person, ben: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    _make_admin(ben)
    ana.add("url", url="https://example.com/")
    ana.write(lambda tx: deletion.schedule(tx, ana.account))
    ana.write(lambda tx: tx.execute(accounts.update().where(accounts.c.id == ana.account).values(deletion_due=1)))
    calls, delete_account = list[int](), account_deletion.delete_account

    def counting(database: Database, account: int, on_batch: Callable[[Connection], object]) -> None:
        calls.append(account)
        time.sleep(0.2)  # the other node looks for work in between
        delete_account(database, account, on_batch)

    monkeypatch.setattr(account_deletion, "delete_account", counting)
    nodes = [Thread(target=account_deletion.delete_due, args=(ana.database, lambda: False)) for _ in range(2)]
    for node in nodes:
        node.start()
    for node in nodes:
        join(node)
    assert calls == [ana.account]
    assert not _exists(ana.database, ana.account)
    assert _exists(ana.database, ben.account)


@ON_SQLITE
def test_email_tells_the_deletion_in_language_and_time_zone_of_the_account(
    ana: Person, ben: Person, settings: Settings, database: Database
) -> None:
    _make_admin(ben)
    with service_with_mail(settings, database) as (client, sent), time_machine.travel("2026-12-09T20:30:00Z"):
        browser = Browser(client)
        browser.sign_in("ana")
        browser.submit("/language", at="/account", language="de")
        browser.submit("/account/timezone", at="/account", timezone="Asia/Kolkata")
        browser.submit("/account/delete", password=PASSWORD)
    (email,) = sent
    assert "am 17. Dez. 2026, 02:00 (Asia/Kolkata) gelöscht" in " ".join(email["text"].split())
