"""Accounts, their keys and their plans on the command line: made, listed, changed, and in force in the service."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from tests.support.cli import ANA, RunCommand, opened, status
from tests.support.dashboard_client import Browser
from tests.support.mailbox import mailbox
from tests.support.server import serving
from waypost.admin.installation import open_database
from waypost.auth import sessions, two_factor
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.http import mail
from waypost.http.mail import Email

_DAY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\Z")


def _admin_page(name: str, password: str) -> int:
    """Sign in and return the status of an admin page."""
    with opened() as client:
        browser = Browser(client)
        assert browser.sign_in(name, password).status_code == 303
        return int(browser.get("/admin/accounts").status_code)


def test_account_add_prints_json(run_migrated: RunCommand) -> None:
    created = run_migrated(*ANA, "--password", "a long password", "--json").json
    assert list(created) == ["id", "email", "username", "password", "apikey"]
    assert isinstance(created["id"], int)
    assert (created["email"], created["username"], created["password"]) == ("ana@example.com", "ana", "a long password")
    assert status(created["apikey"]) == 200


def test_account_add_prints_text(run_migrated: RunCommand) -> None:
    output = run_migrated(*ANA, "--password", "[bold]:heart:[/x] secret").out
    assert "Account ana <ana@example.com> created." in output
    assert "[bold]:heart:[/x] secret\n" in output
    key = re.search(r"wp_\S+", output)
    assert key
    assert status(key[0]) == 200


def test_account_add_generates_password(run_migrated: RunCommand) -> None:
    created = [
        run_migrated(*ANA[:-3], f"{name}@example.com", "--username", name, "--json").json for name in ("ana", "ben")
    ]
    assert all(len(account["password"]) == 20 for account in created)
    assert created[0]["password"] != created[1]["password"]


def test_first_account_is_owner(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    run_migrated("account", "add", "--email", "ben@example.com", "--username", "ben")
    accounts = run_migrated("account", "list", "--json").json
    assert [(account["username"], account["owner"]) for account in accounts] == [("ana", True), ("ben", False)]


def test_serve_creates_no_owner_if_account_exists(run_migrated: RunCommand, working_folder: Path) -> None:
    created = run_migrated(*ANA, "--json").json
    with serving(working_folder / "data", domain_check="off") as server:
        assert server.call("GET", "/api/account", key=created["apikey"]).json()["data"]["username"] == "ana"
        assert "owner's password" not in server.output()
        assert not list((working_folder / "data").glob("first-sign-in-*"))
    assert len(run_migrated("account", "list", "--json").json) == 1


def test_owner_of_first_start_is_unlimited_and_others_are_not(run: RunCommand, working_folder: Path) -> None:
    with serving(working_folder / "data", domain_check="off") as server:
        key = server.owner_key
        answers = [server.call("GET", "/api/account", key=key) for _ in range(120)]  # also takes several at once
        assert {response.status_code for response in answers} == {200}
        data = answers[0].json()["data"]
        assert (data["username"], data["plan"], data["status"]) == ("owner", "unlimited", "pro")
        assert {response.headers["x-ratelimit-limit"] for response in answers} == {str(2**53 - 1)}
        assert server.call("POST", "/api/files/upload/a.txt", key=key, content=b"a").json()["error"] == 0
        other = run(*ANA, "--json").json["apikey"]
        statuses = Counter(server.call("GET", "/api/account", key=other).status_code for _ in range(31))
        assert statuses == {200: 30, 429: 1}


def test_account_list_shows_accounts(run_migrated: RunCommand) -> None:
    name = "a-name-as-long-as-a-name-may-be-and-nothing-cut-off"[:50]
    run_migrated(*ANA)
    run_migrated("account", "add", "--email", f"{name}@subdomain.example.com", "--username", name)
    accounts = run_migrated("account", "list", "--json").json
    use = {"deletion", "last_active", "links", "storage_limit", "storage_percent", "stored"}
    fields = {"email", "expires", "id", "owner", "plan", "registered", "status", "suspended", "username"}
    assert accounts[0].keys() == fields | use
    assert accounts[0]["expires"] == "9999-12-31 23:59:59"
    assert _DAY.match(accounts[0]["registered"])
    lines = run_migrated("account", "list").out.splitlines()
    use_columns = ["links", "stored", "storage_percent", "last_active"]
    state_columns = ["owner", "suspended", "deletion", "registered"]
    assert lines[0].split() == ["id", "username", "email", "plan", *use_columns, *state_columns]
    assert lines[2].split()[:3] == ["2", name, f"{name}@subdomain.example.com"]


def test_account_list_shows_their_use(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--password", "a long password", "--json").json["apikey"]
    assert _use(run_migrated) == (0, 0, None, None, None)
    run_migrated("plan", "change", "free", "--storage-limit", 40)
    assert _admin_page("ana", "a long password") == 200
    with opened() as client:
        headers = {"Authorization": f"Bearer {key}"}
        client.post("/api/url/add", headers=headers, json={"url": "https://shop.example/"})
        client.post("/api/files/upload/a.txt", headers=headers, content=b"12345678901")
    links, stored, limit, percent, active = _use(run_migrated)
    assert (links, stored, limit, percent, bool(_DAY.match(active))) == (1, 11, 40, 27.5, True)


def _use(run_migrated: RunCommand) -> tuple[Any, ...]:
    account = run_migrated("account", "list", "--json").json[0]
    return tuple(account[name] for name in ("links", "stored", "storage_limit", "storage_percent", "last_active"))


def test_suspended_account_is_rejected_until_undo(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    for who in ("ana", "ANA", "ana@example.com", "Ana@Example.com", "1"):
        assert run_migrated("account", "suspend", who).out == "ana is suspended.\n"
        assert status(key) == 403
        assert run_migrated("account", "list", "--json").json[0]["suspended"] is True
        assert run_migrated("account", "suspend", who, "--undo").out == (
            "ana is active again.\n"
            "These API keys work again: first key (id 1). Revoke one with: waypost key revoke ana ID\n"
        )
        assert status(key) == 200


def test_account_has_admin_rights_until_undo(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    run_migrated("account", "add", "--email", "ben@example.com", "--username", "ben", "--password", "a long password")
    assert run_migrated("account", "admin", "ben").out == "ben is an administrator.\n"
    assert _admin_page("ben", "a long password") == 200
    assert (
        run_migrated("account", "operator", "ben@example.com", "--undo").out == "ben is no longer an administrator.\n"
    )
    assert _admin_page("ben", "a long password") == 404
    assert "carl" in run_migrated("account", "admin", "carl").err


def test_printed_reset_link_sets_password(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    link = run_migrated("account", "reset", "ana").out.splitlines()[-1].strip()
    assert link.startswith("http://go.localhost:8000/dashboard/reset?pass=")
    with opened() as client:
        browser = Browser(client)
        path = link.partition("/dashboard")[2]
        form = {"pass": link.partition("=")[2], "password": "another long password"}
        assert browser.submit("/reset", at=path, **form).status_code == 303
        assert browser.get(path).status_code == 400
    assert _admin_page("ana", "another long password") == 200


def test_invited_owner_chooses_the_password(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    run_migrated(*ANA)
    ben = ("account", "add", "--email", "ben@example.com", "--username", "ben", "--invite")
    refused = run_migrated(*ben, "--password", "a long password")
    assert (refused.code, "the owner chooses the password" in refused.err) == (2, True)
    with mailbox() as (port, emails):
        monkeypatch.setenv("WAYPOST_SMTP_URL", f"smtp://127.0.0.1:{port}")
        monkeypatch.setenv("WAYPOST_SMTP_TLS", "off")
        invitation = run_migrated(*ben, "--json").json
    assert list(invitation) == ["id", "email", "username", "link", "sent"]
    assert [(email["to"], invitation["link"] in email["text"]) for email in emails] == [("ben@example.com", True)]
    monkeypatch.delenv("WAYPOST_SMTP_URL")
    printed = run_migrated("account", "add", "--email", "zoe@example.com", "--username", "zoe", "--invite").out
    assert printed.endswith("E-mail is not configured: send the link yourself.\n")
    assert run_migrated("account", "key", "list", "ben", "--json").json == []
    with opened() as client:
        browser = Browser(client)
        for link in (invitation["link"], printed.splitlines()[1].strip()):
            path = link.partition("/dashboard")[2]
            assert "Welcome. Choose your password" in browser.get(path).text
            form = {"pass": link.partition("=")[2], "password": "another long password"}
            assert browser.submit("/reset", at=path, **form).status_code == 303
            browser.client.cookies.clear()
    assert _admin_page("zoe", "another long password") == 404


def test_reset_removes_a_lost_second_factor(run_migrated: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    password = "a long password"
    run_migrated(*ANA, "--password", password)
    none = run_migrated("account", "reset", "ana", "--two-factor")
    assert (none.code, none.err) == (1, "waypost: The account has no two-factor authentication.\n")
    with closing(open_database(Settings())) as database:
        database.write(lambda tx: two_factor.enable(tx, 1, secret=two_factor.new_secret(), step=0))
        token = database.write(lambda tx: sessions.begin(tx, 1, agent=""))
        with mailbox() as (port, emails):
            monkeypatch.setenv("WAYPOST_SMTP_URL", f"smtp://127.0.0.1:{port}")
            monkeypatch.setenv("WAYPOST_SMTP_TLS", "off")
            other = Email("zoe@example.com", "Hello", "Text")
            database.write(lambda tx: mail.enqueue(tx, Settings(), other))
            removed = run_migrated("account", "reset", "ana", "--two-factor")
        assert removed.out == "Two-factor authentication of ana was removed. All sessions ended.\n"
        assert [(email["to"], "removed the two-factor" in email["text"]) for email in emails] == [
            ("ana@example.com", True)
        ], "the service sends the other one"
        assert database.read(lambda tx: sessions.find(tx, token)) is None
    assert _admin_page("ana", password) == 200, "the password is enough"


def test_keys_are_created_listed_and_revoked(run_migrated: RunCommand) -> None:
    first = run_migrated(*ANA, "--json").json["apikey"]
    options = ("--name", "[read] only", "--scope", "read", "--expires", "2999-12-31")
    created = run_migrated("account", "key", "add", "ana", *options, "--json").json
    assert created.keys() == {"account", "name", "scope", "apikey"}
    assert (created["account"], created["name"], created["scope"]) == (1, "[read] only", "read")
    assert (status(created["apikey"]), status(created["apikey"], "POST")) == (200, 403)

    keys = run_migrated("account", "key", "list", "ana", "--json").json
    assert [key["name"] for key in keys] == ["[read] only", "first key"]
    assert keys[0].keys() == {"id", "name", "hint", "scope", "expires", "created", "last_used"}
    assert (keys[0]["scope"], keys[0]["expires"]) == ("read", "2999-12-31 23:59:59")
    assert (keys[1]["scope"], keys[1]["expires"]) == ("account", None)
    assert created["apikey"].startswith(keys[0]["hint"])
    assert _DAY.match(keys[0]["last_used"])
    table = run_migrated("account", "key", "list", "ana").out
    assert "[read] only" in table
    assert created["apikey"] not in table + json.dumps(keys)

    completed = run_migrated("account", "key", "revoke", "ana", keys[0]["id"])
    assert completed.out == f"Key {keys[0]['id']} of ana is revoked.\n"
    assert (status(created["apikey"]), status(first)) == (401, 200)


def test_expired_key_is_rejected(run_migrated: RunCommand) -> None:
    run_migrated(*ANA)
    key = run_migrated("account", "key", "add", "ana", "--expires", "2999-12-31 10:00:00", "--json").json["apikey"]
    assert status(key) == 200
    with closing(open_database(Settings())) as database:
        database.write(lambda tx: tx.execute(text("UPDATE api_keys SET expires = 5 WHERE expires IS NOT NULL")))
    assert status(key) == 401


def test_foreign_key_cannot_be_revoked(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--json").json["apikey"]
    run_migrated("account", "add", "--email", "ben@example.com", "--username", "ben")
    completed = run_migrated("account", "key", "revoke", "ben", 1)
    assert completed.code == 1
    assert completed.err == "waypost: No such API key in this account.\n"
    assert status(key) == 200


def test_plans_are_created_listed_and_applied(run_migrated: RunCommand) -> None:
    endless = {"storage_limit": None, "item_limit": None}
    created = run_migrated("plan", "add", "gold", "--rate-limit", 2, "--upload-limit", 1000, "--json").json
    assert created == {"id": 2, "name": "gold", "status": "pro", "rate_limit": 2, "upload_limit": 1000, **endless}
    assert (
        run_migrated("plan", "add", "silver", "--status", "free", "--storage-limit", 5000).out
        == "Plan silver created.\n"
    )
    plans = run_migrated("plan", "list", "--json").json
    free = {"id": 1, "name": "free", "status": "free", "rate_limit": 30, "upload_limit": 512 * 1024 * 1024, **endless}
    assert plans[:2] == [{**free, "accounts": 0}, {**created, "accounts": 0}]
    assert (plans[2]["status"], plans[2]["storage_limit"]) == ("free", 5000)
    assert run_migrated("plan", "list").out.splitlines()[2].split() == ["2", "gold", "pro", "2", "1000", "-", "-", "0"]

    key = run_migrated(*ANA, "--plan", "gold", "--json").json["apikey"]
    assert [status(key) for _ in range(3)] == [200, 200, 429]


def test_account_can_have_own_rate_limit(run_migrated: RunCommand) -> None:
    key = run_migrated(*ANA, "--rate-limit", 1, "--json").json["apikey"]
    assert [status(key) for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("command", [("key", "add", "ana"), ("suspend", "ana"), ("admin", "ana"), ("reset", "ana")])
def test_command_for_deleted_account_fails_with_one_sentence(
    run_migrated: RunCommand, command: tuple[str, ...]
) -> None:
    run_migrated(*ANA)
    with closing(open_database(Settings())) as database, _deleted_after_lookup(database):
        result = run_migrated("account", *command)
    assert (result.code, result.out) == (1, "")
    assert result.err == "waypost: This account was deleted.\n"


@contextmanager
def _deleted_after_lookup(database: Database) -> Iterator[None]:
    """Delete all accounts as soon as a command has looked one up."""
    deleted: list[str] = []

    def delete(_tx: Any, _cursor: Any, statement: str, *_details: Any) -> None:
        if "FROM accounts" in statement and not deleted:
            deleted.append(statement)
            database.write(lambda tx: tx.execute(schema.accounts.delete()))

    event.listen(Engine, "after_cursor_execute", delete)
    try:
        yield
    finally:
        event.remove(Engine, "after_cursor_execute", delete)
    assert "username_key" in deleted[0]
