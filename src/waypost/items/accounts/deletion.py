"""Scheduled deletion of accounts: a grace period in which it can be canceled. The server then deletes the account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, select, update

from waypost.auth import people
from waypost.core import clock
from waypost.core.errors import Kind, Problem, account_deleted
from waypost.db import audit_log, page_counters, schema
from waypost.db.schema import accounts
from waypost.db.schema.nouns import NOUNS

GRACE_SECONDS = 7 * 86_400
TABLES: Mapping[str, Table] = {noun.labels: noun.table for noun in NOUNS.values()} | {
    "Items in the trash": schema.trash
}
"""The tables of items by label, in the order of their deletion. Links come first: they refer to most of the others."""
_MOST_DUE = 20
_c = accounts.c


@dataclass(frozen=True)
class Contents:
    """The number of items by the label of their kind, and the bytes of the files."""

    items: Mapping[str, int]
    stored: int


def contents(tx: Connection, account: int) -> Contents:
    """Return the number of items that the deletion of an account deletes. Raises NOT_FOUND."""
    stored = tx.execute(select(_c.stored).where(_c.id == account)).scalar_one_or_none()
    if stored is None:
        raise account_deleted()
    totals = {label: page_counters.total(tx, account, table.name) for label, table in TABLES.items()}
    return Contents(totals, stored)


def due_at(tx: Connection, account: int) -> int | None:
    """Return the time when the account will be deleted; None if that is not scheduled."""
    return tx.execute(select(_c.deletion_due).where(_c.id == account)).scalar_one_or_none()


def schedule(tx: Connection, account: int) -> int:
    """Delete the account after the grace period, and return that time. A deletion that is scheduled keeps its time.

    Raises INVALID for the only administrator among other accounts, NOT_FOUND.
    """
    require_other_administrator(tx, account)
    due = clock.now() + GRACE_SECONDS
    is_unscheduled = (_c.id == account) & _c.deletion_due.is_(None)
    if tx.execute(update(accounts).where(is_unscheduled).values(deletion_due=due)).rowcount:
        audit_log.record(tx, account, "account.deletion_scheduled", account, after={"due": due})
    return due_at(tx, account) or due


def cancel(tx: Connection, account: int) -> None:
    """Keep the account. Without effect if no deletion is scheduled. Raises INVALID if it has begun, NOT_FOUND."""
    can_cancel = (_c.id == account) & (_c.deletion_due > clock.now())
    if tx.execute(update(accounts).where(can_cancel).values(deletion_due=None)).rowcount:
        audit_log.record(tx, account, "account.deletion_canceled", account)
        return
    row = tx.execute(select(_c.deletion_due).where(_c.id == account)).first()
    if row is None:
        raise account_deleted()
    if row.deletion_due is not None:
        raise Problem(Kind.INVALID, "The deletion of this account has begun and cannot be canceled.")


def begin(tx: Connection, account: int) -> bool:
    """Suspend an account whose deletion is due. Return False if it was canceled or is deleted."""
    is_due = (_c.id == account) & (_c.deletion_due <= clock.now())
    if tx.execute(update(accounts).where(is_due).values(suspended=True)).rowcount == 0:
        return False
    people.shut_out(tx, account)
    return True


def cancel_due(tx: Connection, account: int) -> None:
    """Cancel a deletion, also one that is due."""
    tx.execute(update(accounts).where(_c.id == account).values(deletion_due=None))
    audit_log.record(tx, account, "account.deletion_canceled", account)


def due_accounts(tx: Connection) -> Sequence[int]:
    """Return accounts whose deletion is due (index accounts_deletion_due)."""
    query = select(_c.id).where(_c.deletion_due <= clock.now()).order_by(_c.deletion_due).limit(_MOST_DUE)
    return tx.execute(query).scalars().all()


def require_other_administrator(tx: Connection, account: int) -> None:
    """Lock the account and all administrators. Raises INVALID if it is the only one among other accounts, NOT_FOUND."""
    locked = select(_c.id, _c.owner).where(_c.owner | (_c.id == account)).order_by(_c.id).with_for_update()
    is_owner = {row.id: row.owner for row in tx.execute(locked)}
    if account not in is_owner:
        raise account_deleted()
    is_only_one = is_owner[account] and len(is_owner) == 1
    if is_only_one and tx.execute(select(_c.id).where(_c.id != account).limit(1)).first() is not None:
        message = "This is the only administrator. Give another account admin rights first."
        raise Problem(Kind.INVALID, message)
