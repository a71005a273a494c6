"""The row of an account: whether it exists, and its lock."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select, update

from waypost.core.errors import account_deleted
from waypost.db import audit_log
from waypost.db.schema import accounts


def exists(tx: Connection, account: int) -> bool:
    """Return whether an account exists."""
    return tx.execute(select(accounts.c.id).where(accounts.c.id == account)).first() is not None


def lock(tx: Connection, account: int) -> None:
    """Lock an account until the commit: it is not deleted, and others that lock it wait.

    Raises NOT_FOUND if it was deleted.
    """
    query = select(accounts.c.id).where(accounts.c.id == account).with_for_update(key_share=True)
    if tx.execute(query).first() is None:
        raise account_deleted()


def change(
    tx: Connection,
    account: int,
    field: str,
    values: dict[str, Any],
    *,
    label: str = "",
    shown: Callable[[Any], Any] = lambda value: value,
) -> bool:
    """Set columns, the first of which is the `field` of the audit log. Return False if it has that value already.

    `shown` returns a value as the log has it. Raises NOT_FOUND if the account was deleted.
    """
    name = next(iter(values))
    is_account = accounts.c.id == account
    row = tx.execute(select(accounts.c[name]).where(is_account).with_for_update(key_share=True)).first()
    if row is None:
        raise account_deleted()
    before, after = row[0], values[name]
    if before == after:
        return False
    tx.execute(update(accounts).where(is_account).values(values))
    old, new = {field: shown(before)}, {field: shown(after)}
    audit_log.record(tx, account, "account.updated", account, label=label, before=old, after=new)
    return True
