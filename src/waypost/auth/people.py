"""People: their names and passwords, with which they sign in, their languages, time zones and accounts (ADR 22).

A person that registered an account has its number. The row of that account has the same login, for nodes of the older
version that run during an upgrade; `_write` changes both.
"""

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    case,
    delete,
    exists,
    insert,
    literal,
    or_,
    select,
    update,
)

from waypost.core import clock, credentials
from waypost.core.errors import account_deleted
from waypost.core.text_folding import folded
from waypost.db import audit_log
from waypost.db.schema import accounts, members, people
from waypost.db.schema.people import OWNER

_c = people.c
_IN_ACCOUNTS = {"admin": "owner", "created": "registered"}
"""Columns that have another name in accounts."""


@dataclass(frozen=True)
class StoredLogin:
    """The sign-in data of a person.

    `state` changes with the password and the e-mail address, and when the person is suspended: one-time links and
    unfinished sign-ins from before are then void. It reveals nothing.
    """

    person: int
    password: str
    suspended: bool
    state: str


@dataclass(frozen=True)
class Person:
    """A person without the password. `language` and `timezone` are "" if none was selected."""

    person: int
    username: str
    email: str
    language: str
    timezone: str


_SHOWN = [_c[field.name] for field in fields(Person)]


def named(tx: Connection, name: str) -> StoredLogin | None:
    """Return the login of a username or e-mail address."""
    name = name.strip()
    keys = {folded(name), name.casefold()}  # the second one may be that of an address that an older version stored
    is_exact = case((_c.email_key == name.casefold(), 0), else_=1)
    return _find(tx, or_(_c.username_key.in_(keys), _c.email_key.in_(keys)), is_exact, _c.person)


def of(tx: Connection, person: int) -> StoredLogin | None:
    """Return the login of a person; None if the person was deleted."""
    return _find(tx, _c.person == person)


def _find(tx: Connection, condition: ColumnElement[bool], *order: ColumnElement[Any]) -> StoredLogin | None:
    query = select(_c.person, _c.password, _c.suspended, _c.email, _c.password_changed)
    row = tx.execute(query.where(condition).order_by(*order)).first()
    if row is None:
        return None
    state = credentials.digest(f"{row.password}\t{row.email}\t{row.password_changed}").hex()
    return StoredLogin(row.person, row.password, row.suspended, state)


def get(tx: Connection, person: int) -> Person:
    """Return a person. Raises NOT_FOUND."""
    row = tx.execute(select(*_SHOWN).where(_c.person == person)).first()
    if row is None:
        raise account_deleted()
    return Person(*row)


def language_of(tx: Connection, person: int) -> str:
    """Return the language of a person; "" if none was selected."""
    return tx.execute(select(_c.language).where(_c.person == person)).scalar_one_or_none() or ""


def has_email(tx: Connection, email: str, *, besides: int) -> bool:
    """Return whether another person than `besides` has this e-mail address."""
    is_other = (_c.email_key == folded(email)) & (_c.person != besides)
    return tx.execute(select(_c.person).where(is_other)).first() is not None


def owner_of(tx: Connection, account: int) -> Person | None:
    """Return the first owner of an account, the recipient of e-mails about it; None if it was deleted."""
    query = select(*_SHOWN).join(members, _is_owner_of(account))
    row = tx.execute(query.order_by(_c.person).limit(1)).first()
    return Person(*row) if row else None


def is_email_of_owner(tx: Connection, account: int, key: str) -> bool:
    """Return whether an owner of the account has this folded e-mail address."""
    query = select(_c.person).join(members, _is_owner_of(account)).where(_c.email_key == key)
    return tx.execute(query).first() is not None


def _is_owner_of(account: int) -> ColumnElement[bool]:
    return and_(members.c.person == _c.person, members.c.account == account, members.c.role == OWNER)


def account_of(tx: Connection, person: int) -> int:
    """Return the account that a person signs in to: the own one, or else the first. Raises NOT_FOUND without any."""
    c = members.c
    query = select(c.account).where(c.person == person).order_by(c.account != person, c.account).limit(1)
    account = tx.execute(query).scalar_one_or_none()
    if account is None:
        raise account_deleted()
    return int(account)


def add_owner(tx: Connection, account: int) -> None:
    """Add the person of a new account, its owner, unless a trigger for nodes of the older version did."""
    if tx.execute(select(_c.person).where(_c.person == account)).first() is not None:
        return
    copied = [accounts.c[_IN_ACCOUNTS.get(column.name, column.name)] for column in _c if column is not _c.person]
    values = select(accounts.c.id, *copied).where(accounts.c.id == account)
    tx.execute(insert(people).from_select([column.name for column in _c], values))
    owner = {"account": account, "person": account, "role": OWNER}
    tx.execute(insert(members).values(**owner, created=clock.now()))


def lock(tx: Connection, person: int) -> None:
    """Lock a person until the commit: others that lock it wait. Raises NOT_FOUND if it was deleted.

    The account with the number is locked first, as the triggers for nodes of the older version do.
    """
    for column in (accounts.c.id, _c.person):
        row = tx.execute(select(column).where(column == person).with_for_update(key_share=True)).first()
    if row is None:
        raise account_deleted()


def change(tx: Connection, person: int, field: str, values: dict[str, Any], *, label: str = "") -> bool:
    """Set columns, the first of which is the `field` of the audit log. Return False if it has that value already.

    Raises NOT_FOUND if the person was deleted.
    """
    lock(tx, person)
    name = next(iter(values))
    before, after = tx.execute(select(_c[name]).where(_c.person == person)).scalar_one(), values[name]
    if before == after:
        return False
    _write(tx, person, values)
    old, new = {field: before}, {field: after}
    audit_log.record(tx, account_of(tx, person), "account.updated", person, label=label, before=old, after=new)
    return True


def change_password(tx: Connection, person: int, password: str) -> None:
    """Set the hash of the password. Raises NOT_FOUND if the person was deleted."""
    lock(tx, person)
    _write(tx, person, {"password": password, "password_changed": clock.now()})
    audit_log.record(tx, account_of(tx, person), "account.password_changed", person)


def suspend(tx: Connection, person: int, *, suspended: bool) -> bool:
    """Suspend a person with the account, or lift it. Return False if it was so. Raises NOT_FOUND if deleted.

    A suspension voids one-time links and unfinished sign-ins for good.
    """
    lock(tx, person)
    before = tx.execute(select(_c.suspended, _c.password_changed).where(_c.person == person)).one()
    values: dict[str, Any] = {"suspended": suspended}
    if suspended:
        values["password_changed"] = max(clock.now(), before.password_changed + 1)
    _write(tx, person, values)
    return bool(before.suspended) != suspended


def _write(tx: Connection, person: int, values: dict[str, Any]) -> None:
    """Set columns of a locked person, and of the account with the number, if there is one."""
    in_accounts = {_IN_ACCOUNTS.get(name, name): value for name, value in values.items()}
    tx.execute(update(accounts).where(accounts.c.id == person).values(in_accounts))
    tx.execute(update(people).where(_c.person == person).values(values))


def shut_out(tx: Connection, account: int) -> None:
    """Suspend the people that are members of this account only, because it is deleted."""
    tx.execute(update(people).where(_c.person.in_(_only_in(account))).values(suspended=True))


def remove_members(tx: Connection, account: int) -> None:
    """Delete the people that are members of this account only."""
    tx.execute(delete(people).where(_c.person.in_(_only_in(account))))


def _only_in(account: int) -> Select[int]:
    other = members.alias()
    has_other = exists(literal(1)).where(other.c.person == members.c.person, other.c.account != account)
    return select(members.c.person).where(members.c.account == account, ~has_other)
