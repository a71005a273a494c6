"""Sign-in data of accounts: the hash of the password, and the state to which one-time links are bound."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, select

from waypost.core import credentials
from waypost.db.schema import accounts
from waypost.items.accounts import ops


@dataclass(frozen=True)
class StoredLogin:
    """The sign-in data of an account.

    `state` changes with the password and the e-mail address, and when the account is suspended: one-time links and
    unfinished sign-ins from before are then void. It reveals nothing.
    """

    account: int
    password: str
    suspended: bool
    state: str


def named(tx: Connection, name: str) -> StoredLogin | None:
    """Return the login of a username or e-mail address."""
    return _find(tx, ops.is_called(name.strip()), *ops.exact_first(name.strip()))


def of(tx: Connection, account: int) -> StoredLogin | None:
    """Return the login of an account; None if it was deleted."""
    return _find(tx, accounts.c.id == account)


def _find(tx: Connection, condition: ColumnElement[bool], *order: ColumnElement[Any]) -> StoredLogin | None:
    c = accounts.c
    query = select(c.id, c.password, c.suspended, c.email, c.password_changed)
    row = tx.execute(query.where(condition).order_by(*order)).first()
    if row is None:
        return None
    state = credentials.digest(f"{row.password}\t{row.email}\t{row.password_changed}").hex()
    return StoredLogin(row.id, row.password, row.suspended, state)
