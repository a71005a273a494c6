"""The migration of accounts to people and members, and nodes of the older version that go on writing accounts."""

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import IntegrityError

from tests.support import old_accounts
from tests.support.databases import ON_BOTH_DATABASES
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.schema import accounts, members, people, sessions, totp_secrets
from waypost.transfer.backup import tables

pytestmark = ON_BOTH_DATABASES
_COPIED = [column.name for column in people.c if column.name not in ("person", "admin", "created")]


@pytest.fixture
def older(plain_url: str) -> Iterator[Database]:
    """A database of the version before: ana administers it, ben is suspended, eva has a session and a second factor."""
    with closing(Database(plain_url)) as database:
        database.write(_fill)
        yield database


def _fill(tx: Connection) -> None:
    upgrade.migrate(tx, "0021")
    old_accounts.add(tx, "ana", owner=True, language="de")
    gone = old_accounts.add(tx, "gone")
    old_accounts.add(tx, "ben", suspended=True)
    eva = old_accounts.add(tx, "eva", password="hash of eva")
    old_accounts.begin_session(tx, eva, "token of eva", now=7)
    old_accounts.enable_factor(tx, eva, "secret of eva")
    tx.execute(text("DELETE FROM accounts WHERE id = :id"), {"id": gone})


def _people(database: Database) -> Sequence[Any]:
    """The people with their accounts and roles, in the order of their numbers."""
    query = select(people.c.person, people.c.username, members.c.account, members.c.role)
    query = query.outerjoin(members, members.c.person == people.c.person).order_by(people.c.person)
    return [tuple(row) for row in database.read(lambda tx: tx.execute(query).all())]


def _logins(tx: Connection) -> tuple[Sequence[Any], Sequence[Any]]:
    """The logins in people and in accounts, which have equal values."""
    of_people = select(*(people.c[name] for name in _COPIED), people.c.admin, people.c.created)
    of_accounts = select(*(accounts.c[name] for name in _COPIED), accounts.c.owner, accounts.c.registered)
    return tx.execute(of_people.order_by(people.c.person)).all(), tx.execute(of_accounts.order_by(accounts.c.id)).all()


def _assert_equal_logins(database: Database) -> None:
    of_people, of_accounts = database.read(_logins)
    assert of_people == of_accounts
    assert of_people


def _move(source: Database, target: Database) -> None:
    """Restore a backup of one database in the other, as `waypost restore` does."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        source.read(lambda tx: tables.save(tx, archive, {}))
    content.seek(0)
    with tarfile.open(fileobj=content) as archive:
        manifest = archive.extractfile(tables.MANIFEST)
        assert manifest is not None
        target.write(partial(tables.load, tar=archive, manifest=json.loads(manifest.read())))
    upgrade.upgrade(target)


_OWNERS = [(1, "ana", 1, "owner"), (3, "ben", 3, "owner"), (4, "eva", 4, "owner")]


def test_every_account_gets_a_person_with_its_number_who_owns_it(older: Database) -> None:
    upgrade.upgrade(older)
    assert _people(older) == _OWNERS
    _assert_equal_logins(older)
    flags = select(people.c.username, people.c.admin, people.c.suspended, people.c.language).order_by(people.c.person)
    rows = [tuple(row) for row in older.read(lambda tx: tx.execute(flags).all())]
    assert rows == [("ana", True, False, "de"), ("ben", False, True, ""), ("eva", False, False, "")]


def test_sessions_and_second_factors_stay(older: Database) -> None:
    upgrade.upgrade(older)
    assert older.read(lambda tx: tx.execute(select(sessions.c.account, sessions.c.seen)).all()) == [(4, 7)]
    factors = select(totp_secrets.c.account, totp_secrets.c.secret)
    assert older.read(lambda tx: tx.execute(factors).all()) == [(4, "secret of eva")]


def test_account_that_older_node_adds_gets_a_person(older: Database) -> None:
    upgrade.upgrade(older)
    assert older.write(lambda tx: old_accounts.add(tx, "ida")) == 5
    assert _people(older) == [*_OWNERS, (5, "ida", 5, "owner")]
    _assert_equal_logins(older)


@pytest.mark.parametrize(
    "change",
    [
        "email = 'ä@example.com', email_key = 'ä@example.com'",
        "username = 'Evi', username_key = 'evi'",
        "password = 'new hash', password_changed = 8",
        "owner = true",
        "suspended = true",
        "language = 'fr', timezone = 'Europe/Paris'",
    ],
)
def test_login_that_older_node_changes_is_that_of_the_person(older: Database, change: str) -> None:
    upgrade.upgrade(older)
    before = older.read(_logins)
    older.write(lambda tx: tx.execute(text(f"UPDATE accounts SET {change} WHERE id = 4")))
    assert older.read(_logins) != before
    _assert_equal_logins(older)


def test_older_node_deletes_the_person_with_the_only_account(older: Database) -> None:
    upgrade.upgrade(older)

    def work(tx: Connection) -> None:
        tx.execute(insert(members).values(account=1, person=3, role="viewer", created=0))
        tx.execute(text("DELETE FROM accounts WHERE id IN (3, 4)"))

    older.write(work)
    assert _people(older) == [(1, "ana", 1, "owner"), (3, "ben", 1, "viewer")]
    assert older.read(lambda tx: tx.execute(select(sessions.c.id)).all()) == []


def test_person_has_known_role_and_own_address(older: Database) -> None:
    upgrade.upgrade(older)
    for statement in (
        insert(members).values(account=1, person=3, role="guest", created=0),
        people.update().where(people.c.person == 3).values(email_key="ana@example.com"),
        people.update().where(people.c.person == 3).values(username_key="ana"),
    ):
        with pytest.raises(IntegrityError):
            older.write(lambda tx: tx.execute(statement))  # noqa: B023


@pytest.mark.parametrize("revision", ["0021", "0022"])
def test_backup_is_restored_with_people(older: Database, database: Database, revision: str) -> None:
    if revision == "0022":
        upgrade.upgrade(older)

        def work(tx: Connection) -> None:
            tx.execute(insert(members).values(account=1, person=3, role="viewer", created=0))
            tx.execute(members.delete().where(members.c.account == 3))
            tx.execute(people.update().where(people.c.person == 3).values(language="it"))

        older.write(work)
    before = _people(older) if revision == "0022" else _OWNERS
    _move(older, database)
    assert _people(database) == before
    language = select(people.c.language).where(people.c.person == 3)
    expected = "it" if revision == "0022" else ""
    assert database.read(lambda tx: tx.execute(language).scalar()) == expected
    assert database.read(lambda tx: tx.execute(select(sessions.c.account)).scalars().all()) == [4]
    assert database.write(lambda tx: old_accounts.add(tx, "ida")) == 5, "no number is used again"


def test_backup_of_one_database_is_restored_in_the_other(older: Database, tmp_path: Path) -> None:
    upgrade.upgrade(older)
    with closing(Database(f"sqlite:///{tmp_path / 'other.db'}")) as other:
        _move(older, other)
        assert _people(other) == _OWNERS
        _assert_equal_logins(other)
