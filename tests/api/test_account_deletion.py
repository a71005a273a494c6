"""Deletion of an account: every row of it goes, nothing of another one; an interrupted deletion resumes."""

import time

import pytest
from sqlalchemy import Connection, func, select

from tests.conftest import Person
from tests.support.bios import new_bio_with_all_parts, state_of
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.seed import fill_all_tables
from tests.support.trash import move
from waypost.admin import account_deletion
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.items.accounts import deletion, ops
from waypost.storage.factory import open_store
from waypost.transfer.backup.files import stored_files

pytestmark = ON_BOTH_DATABASES  # the deletion of every table's rows
_OWNED = [table for table in schema.metadata.sorted_tables if "account" in table.c]


def _rows(tx: Connection, account: int) -> dict[str, int]:
    """Return the number of rows of an account, by table."""
    count = select(func.count())
    return {
        table.name: number
        for table in _OWNED
        if (number := tx.execute(count.select_from(table).where(table.c.account == account)).scalar_one())
    }


def _fill(ana: Person, ben: Person, database: Database) -> None:
    fill_all_tables(ana, ben)
    database.write(lambda tx: ops.set_admin(tx, ben.account, admin=True))


def test_deletion_leaves_no_row_of_account(
    ana: Person, ben: Person, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(ana, ben, database)
    monkeypatch.setattr(account_deletion, "_BATCH", 1)
    before = database.read(lambda tx: _rows(tx, ben.account))
    contents = database.read(lambda tx: deletion.contents(tx, ana.account))
    assert min(contents.items.values()) > 0
    assert contents.stored == 10_008
    assert len(database.read(lambda tx: _rows(tx, ana.account))) > 15
    stored = [file.object for file in database.read(stored_files)]
    account_deletion.delete_account(database, ana.account)
    assert database.read(lambda tx: _rows(tx, ana.account)) == {}
    assert database.read(lambda tx: _rows(tx, ben.account)) == before
    released = database.read(lambda tx: tx.execute(select(schema.orphan_objects.c.object)).scalars().all())
    store = open_store(settings)
    left = {name for name in stored if store.size(name) is not None}  # the cleaner may have deleted some already
    assert len(stored) == 3
    assert left <= set(released)
    with pytest.raises(Problem, match="This account was deleted"):
        account_deletion.delete_account(database, ana.account)


def _wait_until_missing(person: Person, path: str) -> None:
    deadline = time.monotonic() + 5
    while person.client.request("GET", path).status_code != 404:
        assert time.monotonic() < deadline  # the change log drops the cached response within a second
        time.sleep(0.05)


def test_bio_pages_are_deleted_with_their_pictures(ana: Person, ben: Person, database: Database) -> None:
    new_bio_with_all_parts(ana)
    move(database, ana, "bio", new_bio_with_all_parts(ana, "in-trash"))
    database.write(lambda tx: ops.set_admin(tx, ben.account, admin=True))
    _, pictures = state_of(ana, 1)
    account_deletion.delete_account(database, ana.account)
    assert database.read(lambda tx: _rows(tx, ana.account)) == {}
    for url in ("/ana-costa", *pictures):
        _wait_until_missing(ana, url)


def test_aliases_of_deleted_account_stay_reserved(ana: Person, ben: Person, database: Database) -> None:
    ana.add("url", url="https://example.com/", custom="spring")
    database.write(lambda tx: ops.set_admin(tx, ben.account, admin=True))
    assert ana.client.request("GET", "/spring").status_code == 302
    account_deletion.delete_account(database, ana.account)
    _wait_until_missing(ana, "/spring")
    refused = ben.call("POST", "/url/add", {"url": "https://example.com/", "custom": "spring"})
    assert (refused.status_code, refused.json()["code"]) == (400, "taken")


def test_interrupted_deletion_locks_account_out_and_resumes(
    ana: Person, ben: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(ana, ben, database)

    def fail(*_: object, **__: object) -> None:
        raise OSError("interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(account_deletion, "_remove_clicks", fail)
        with pytest.raises(OSError, match="interrupted"):
            account_deletion.delete_account(database, ana.account)
    assert ana.call("GET", "/account").status_code == 401
    assert database.read(lambda tx: ops.get(tx, ana.account)).suspended
    account_deletion.delete_account(database, ana.account)
    assert database.read(lambda tx: _rows(tx, ana.account)) == {}


def test_only_administrator_is_not_deleted(ana: Person, ben: Person, database: Database) -> None:
    with pytest.raises(Problem, match="only administrator"):
        account_deletion.delete_account(database, ana.account)
    assert ana.call("GET", "/account").status_code == ben.call("GET", "/account").status_code == 200
