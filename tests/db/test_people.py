"""The migration of accounts to people and members, and nodes of the older version that still write accounts."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import IntegrityError

from tests.support import old_accounts
from tests.support.databases import ON_BOTH_DATABASES, ON_POSTGRESQL
from waypost.admin import account_deletion
from waypost.auth import people, sessions, two_factor
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db import schema, upgrade
from waypost.db.database import Database
from waypost.items.accounts import ops, profile
from waypost.transfer.backup import tables

pytestmark = ON_BOTH_DATABASES
_COPIED = [column.name for column in schema.people.c if column.name not in ("person", "admin", "created")]


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
    old_accounts.begin_session(tx, eva, "token of eva", now=clock.now())
    old_accounts.enable_factor(tx, eva, "secret of eva")
    tx.execute(text("DELETE FROM accounts WHERE id = :id"), {"id": gone})


def _people(database: Database) -> Sequence[Any]:
    """The people with their accounts and roles, in the order of their numbers."""
    query = select(schema.people.c.person, schema.people.c.username, schema.members.c.account, schema.members.c.role)
    query = query.outerjoin(schema.members, schema.members.c.person == schema.people.c.person).order_by(
        schema.people.c.person
    )
    return [tuple(row) for row in database.read(lambda tx: tx.execute(query).all())]


def _logins(tx: Connection) -> tuple[Sequence[Any], Sequence[Any]]:
    """The logins in people and in accounts, which have equal values."""
    of_people = select(*(schema.people.c[name] for name in _COPIED), schema.people.c.admin, schema.people.c.created)
    of_accounts = select(
        *(schema.accounts.c[name] for name in _COPIED), schema.accounts.c.owner, schema.accounts.c.registered
    )
    return tx.execute(of_people.order_by(schema.people.c.person)).all(), tx.execute(
        of_accounts.order_by(schema.accounts.c.id)
    ).all()


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


def test_every_account_gets_an_owner_with_its_number(older: Database) -> None:
    upgrade.upgrade(older)
    assert _people(older) == _OWNERS
    _assert_equal_logins(older)
    flags = select(
        schema.people.c.username, schema.people.c.admin, schema.people.c.suspended, schema.people.c.language
    ).order_by(schema.people.c.person)
    rows = [tuple(row) for row in older.read(lambda tx: tx.execute(flags).all())]
    assert rows == [("ana", True, False, "de"), ("ben", False, True, ""), ("eva", False, False, "")]


def test_passwords_sessions_and_second_factors_stay(older: Database) -> None:
    upgrade.upgrade(older)
    for name in ("eva", " EVA ", "Eva@example.com"):
        login = older.read(lambda tx: people.named(tx, name))  # noqa: B023  # called at once
        assert login is not None
        assert (login.person, login.password, login.suspended) == (4, "hash of eva", False)
    ben = older.read(lambda tx: people.named(tx, "ben"))
    assert ben is not None
    assert ben.suspended
    signed_in = older.read(lambda tx: sessions.find(tx, "token of eva"))
    assert signed_in is not None
    assert (signed_in.person, signed_in.account, signed_in.email) == (4, 4, "eva@example.com")
    assert older.read(lambda tx: two_factor.of(tx, 4)) is not None


def test_session_that_older_node_begins_is_that_of_the_person(older: Database) -> None:
    upgrade.upgrade(older)
    older.write(lambda tx: old_accounts.begin_session(tx, 4, "another token", now=clock.now()))
    assert len(older.read(lambda tx: sessions.of(tx, 4))) == 2
    older.write(lambda tx: sessions.end_all(tx, 4))
    assert older.read(lambda tx: sessions.of(tx, 4)) == []
    assert older.read(lambda tx: sessions.find(tx, "another token")) is None


def test_session_ends_with_the_membership(older: Database) -> None:
    upgrade.upgrade(older)
    token = older.write(lambda tx: sessions.begin(tx, 4, agent="Firefox"))
    assert older.read(lambda tx: sessions.find(tx, token)) is not None
    older.write(lambda tx: tx.execute(schema.members.delete().where(schema.members.c.person == 4)))
    assert older.read(lambda tx: sessions.find(tx, token)) is None


def _drop_triggers(tx: Connection) -> None:
    """Drop the triggers, as `waypost distribute --everything` does."""
    of_accounts = "" if tx.dialect.name == "sqlite" else " ON accounts"
    for name in ("insert", "update", "delete"):
        tx.execute(text(f"DROP TRIGGER people_{name}{of_accounts}"))


@pytest.mark.parametrize("has_triggers", [True, False])
def test_this_version_changes_people_and_accounts(older: Database, has_triggers: bool) -> None:  # noqa: FBT001  # pytest's
    upgrade.upgrade(older)
    if not has_triggers:
        older.write(_drop_triggers)
    ida = older.write(lambda tx: ops.add(tx, email="ida@example.com", username="ida", password="*")).id
    assert _people(older) == [*_OWNERS, (ida, "ida", ida, "owner")]
    changes: list[Callable[[Connection], object]] = [
        lambda tx: ops.change(tx, ida, email="Idä@example.com"),
        lambda tx: ops.change(tx, ida, password="new hash"),
        lambda tx: ops.rename(tx, ida, "Ida-2"),
        lambda tx: ops.suspend(tx, ida, suspended=True),
        lambda tx: ops.suspend(tx, ida, suspended=False),
        lambda tx: ops.set_admin(tx, ida, admin=True),
        lambda tx: profile.choose_language(tx, ida, "pt"),
        lambda tx: profile.choose_time_zone(tx, ida, "Europe/Lisbon"),
    ]
    for change in changes:
        before = older.read(_logins)
        older.write(change)
        assert older.read(_logins) != before
        _assert_equal_logins(older)
    with pytest.raises(Problem, match="That e-mail address is taken"):
        older.write(lambda tx: ops.change(tx, ida, email="EVA@example.com"))
    account_deletion.delete_account(older, ida)
    assert _people(older) == _OWNERS


def test_account_that_older_node_adds_gets_a_person(older: Database) -> None:
    upgrade.upgrade(older)
    assert older.write(lambda tx: old_accounts.add(tx, "ida")) == 5
    assert _people(older) == [*_OWNERS, (5, "ida", 5, "owner")]
    _assert_equal_logins(older)


def test_login_that_older_node_changes_is_that_of_the_person(older: Database) -> None:
    upgrade.upgrade(older)
    for change in (
        "email = 'ä@example.com', email_key = 'ä@example.com'",
        "username = 'Evi', username_key = 'evi'",
        "password = 'new hash', password_changed = 8",
        "owner = true",
        "suspended = true",
        "language = 'fr', timezone = 'Europe/Paris'",
    ):
        before = older.read(_logins)
        older.write(lambda tx: tx.execute(text(f"UPDATE accounts SET {change} WHERE id = 4")))  # noqa: B023
        assert older.read(_logins) != before, change
        _assert_equal_logins(older)


@ON_POSTGRESQL
def test_cluster_with_accounts_on_every_node_gets_no_triggers(older: Database) -> None:
    as_citus = text("CREATE TABLE pg_dist_partition AS SELECT 'accounts'::regclass AS logicalrelid")
    older.write(lambda tx: tx.execute(as_citus))
    upgrade.upgrade(older)
    assert _people(older) == _OWNERS
    triggers = text("SELECT tgname FROM pg_trigger WHERE tgrelid = 'accounts'::regclass AND NOT tgisinternal")
    assert older.read(lambda tx: tx.execute(triggers).all()) == []


def test_older_node_deletes_the_person_with_the_only_account(older: Database) -> None:
    upgrade.upgrade(older)

    def work(tx: Connection) -> None:
        tx.execute(insert(schema.members).values(account=1, person=3, role="viewer", created=0))
        tx.execute(text("DELETE FROM accounts WHERE id IN (3, 4)"))

    older.write(work)
    assert _people(older) == [(1, "ana", 1, "owner"), (3, "ben", 1, "viewer")]
    assert older.read(lambda tx: tx.execute(select(schema.sessions.c.id)).all()) == []


def test_person_has_known_role_and_own_address(older: Database) -> None:
    upgrade.upgrade(older)
    for statement in (
        insert(schema.members).values(account=1, person=3, role="guest", created=0),
        schema.people.update().where(schema.people.c.person == 3).values(email_key="ana@example.com"),
        schema.people.update().where(schema.people.c.person == 3).values(username_key="ana"),
    ):
        with pytest.raises(IntegrityError):
            older.write(lambda tx: tx.execute(statement))  # noqa: B023


def _add_guest(tx: Connection) -> None:
    """Add a person without an own account, a member of those of ana and ben. eva becomes a member of that of ana."""
    row: dict[str, Any] = dict.fromkeys(("email", "email_key", "username", "username_key", "password"), "guest")
    row |= {"admin": False, "suspended": False, "password_changed": 0, "created": 0, "timezone": ""}
    tx.execute(insert(schema.people).values(person=9, **row))
    pairs = ((3, 9), (1, 9), (1, 4))
    rows = [{"account": account, "person": person, "role": "viewer", "created": 0} for account, person in pairs]
    tx.execute(insert(schema.members), rows)


def _signed_in(database: Database, person: int) -> sessions.SignedIn:
    token = database.write(lambda tx: sessions.begin(tx, person, agent=""))
    signed_in = database.read(lambda tx: sessions.find(tx, token))
    assert signed_in is not None
    return signed_in


def test_sign_in_is_to_the_own_account_or_the_first_one(older: Database) -> None:
    upgrade.upgrade(older)
    older.write(_add_guest)
    assert (_signed_in(older, 4).account, _signed_in(older, 9).account) == (4, 1)


def test_person_without_an_own_account_changes_the_login(older: Database) -> None:
    upgrade.upgrade(older)
    older.write(_add_guest)
    all_accounts = select(schema.accounts).order_by(schema.accounts.c.id)
    before = older.read(lambda tx: tx.execute(all_accounts).all())
    older.write(lambda tx: people.change(tx, 9, "language", {"language": "pt"}))
    older.write(lambda tx: people.change_password(tx, 9, "new hash"))
    assert older.write(lambda tx: people.suspend(tx, 9, suspended=True))
    login = older.read(lambda tx: people.of(tx, 9))
    assert login is not None
    assert (login.password, login.suspended) == ("new hash", True)
    assert older.read(lambda tx: people.get(tx, 9)).language == "pt"
    assert _signed_in(older, 9).suspended
    assert older.read(lambda tx: tx.execute(all_accounts).all()) == before
    audited = select(schema.audit.c.account).where(schema.audit.c.item == 9)
    assert older.read(lambda tx: tx.execute(audited).scalars().all()) == [1, 1]


@pytest.mark.parametrize("revision", ["0021", "0022"])
def test_backup_is_restored_with_people(older: Database, database: Database, revision: str) -> None:
    if revision == "0022":
        upgrade.upgrade(older)

        def work(tx: Connection) -> None:
            tx.execute(insert(schema.members).values(account=1, person=3, role="viewer", created=0))
            tx.execute(schema.members.delete().where(schema.members.c.account == 3))
            tx.execute(schema.people.update().where(schema.people.c.person == 3).values(language="it"))

        older.write(work)
    before = _people(older) if revision == "0022" else _OWNERS
    _move(older, database)
    assert _people(database) == before
    language = select(schema.people.c.language).where(schema.people.c.person == 3)
    expected = "it" if revision == "0022" else ""
    assert database.read(lambda tx: tx.execute(language).scalar()) == expected
    assert database.read(lambda tx: tx.execute(select(schema.sessions.c.account)).scalars().all()) == [4]
    assert database.write(lambda tx: old_accounts.add(tx, "ida")) == 5, "no number is used again"


def test_backup_of_one_database_is_restored_in_the_other(older: Database, tmp_path: Path) -> None:
    upgrade.upgrade(older)
    with closing(Database(f"sqlite:///{tmp_path / 'other.db'}")) as other:
        _move(older, other)
        assert _people(other) == _OWNERS
        _assert_equal_logins(other)
