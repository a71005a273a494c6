"""Delete an account with everything that belongs to it, in batches: no other writer waits long."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import structlog
from sqlalchemy import Connection, Table, delete, select

from waypost.audit import log as audit
from waypost.auth import people
from waypost.core.errors import Kind, Problem, account_deleted
from waypost.db import audit_log, leases, moved_items, postgres, schema
from waypost.db.database import Database
from waypost.db.schema.nouns import NOUNS
from waypost.http import mail_queue
from waypost.items.accounts import deletion
from waypost.items.functions import FUNCTIONS
from waypost.transfer.imports import plan_removal
from waypost.trash import ops as trash

T = TypeVar("T")
_BATCH = 500
_LEASE = "delete accounts"
LEASE_SECONDS = 300
Remove = Callable[[Connection, int, Sequence[int]], None]
_log = structlog.get_logger("accounts")
_CLICKS = (schema.events, schema.visit_blocks, schema.click_times, schema.click_labels, schema.visitors)


def _purge(tx: Connection, account: int, ids: Sequence[int]) -> None:
    if ids:
        trash.purge(tx, account, ids)


_KINDS: Sequence[tuple[Table, Remove]] = (
    *((noun.table, FUNCTIONS[kind].remove_many) for kind, noun in NOUNS.items()),
    (schema.trash, _purge),
)
"""In the order of their deletion."""


class Interrupted(Exception):
    """The process stops. The deletion resumes later."""


def delete_due(database: Database, is_stopping: Callable[[], bool]) -> None:
    """Delete the accounts whose grace period has ended. One process of all nodes does it at a time.

    Logs problems, raises none. A deletion that was interrupted resumes with the next call of any process.
    """
    try:
        if not database.read(deletion.due_accounts, autocommit=True) or is_stopping():
            return
        if not database.write(lambda tx: leases.acquire(tx, _LEASE, every=LEASE_SECONDS)):
            return
        try:
            for account in database.read(deletion.due_accounts):
                _delete_due_account(database, account, is_stopping)
        finally:
            database.write(lambda tx: leases.release(tx, _LEASE))
    except Interrupted:
        pass
    except (Problem, OSError) as problem:
        _log.warning("accounts cannot be deleted now", reason=str(problem))


def _delete_due_account(database: Database, account: int, is_stopping: Callable[[], bool]) -> None:
    """Delete an account unless its deletion was canceled. The only administrator is kept."""

    def on_batch(tx: Connection) -> None:
        if is_stopping():
            raise Interrupted
        leases.extend(tx, _LEASE, every=LEASE_SECONDS)

    try:
        database.write(lambda tx: deletion.require_other_administrator(tx, account))
    except Problem as problem:
        if problem.kind is not Kind.INVALID:
            return  # deleted
        database.write(lambda tx: deletion.cancel_due(tx, account))
        _log.warning("account is not deleted, because it is the only administrator", account=account)
        return
    if database.write(lambda tx: deletion.begin(tx, account)):
        delete_account(database, account, on_batch)
        _log.info("account deleted", account=account)


def delete_account(database: Database, account: int, on_batch: Callable[[Connection], object] = lambda _: None) -> None:
    """Delete an account, its items, statistics, API keys and sessions. Its aliases stay reserved: they answer 404.

    It loses access first. If interrupted, call it again to resume. Raises INVALID for the only administrator among
    other accounts, NOT_FOUND. Statistics of clicks that are in the journal at the end can remain; they name no item.
    `on_batch` is called in each transaction.
    """

    def write(work: Callable[[Connection], T]) -> T:
        def with_batch(tx: Connection) -> T:
            on_batch(tx)
            return work(tx)

        return database.write(with_batch)

    write(lambda tx: _close(tx, account))
    for table, remove in _KINDS:
        while write(partial(_remove_batch, account=account, table=table, remove=remove)):
            pass
    owned_plans = select(schema.import_plans.c.id).where(schema.import_plans.c.account == account)
    for plan in database.read(lambda tx: tx.execute(owned_plans).scalars().all()):
        plan_removal.remove(database, account, plan)
    for clicks in _CLICKS:
        write(partial(_remove_clicks, account=account, table=clicks))
    write(lambda tx: _remove_account(tx, account))


def _close(tx: Connection, account: int) -> None:
    """Suspend the account, and revoke its keys and sessions."""
    deletion.require_other_administrator(tx, account)
    tx.execute(schema.accounts.update().where(schema.accounts.c.id == account).values(suspended=True))
    people.shut_out(tx, account)
    for table in (schema.api_keys, schema.sessions):
        tx.execute(delete(table).where(table.c.account == account))


def _remove_batch(tx: Connection, account: int, table: Table, remove: Remove) -> bool:
    """Delete a batch of items. Return whether more can remain."""
    oldest = select(table.c.id).where(table.c.account == account).order_by(table.c.id).limit(_BATCH)
    ids = tx.execute(oldest.with_for_update()).scalars().all()
    remove(tx, account, ids)
    audit_log.forget(tx, account)
    return len(ids) == _BATCH


def _remove_clicks(tx: Connection, account: int, table: Table) -> None:
    postgres.disable_timeouts(tx)
    if table is schema.visitors and moved_items.keeps_visitors(tx, account):
        return  # links of other accounts need them until the end of the day, when all visitors are deleted
    tx.execute(delete(table).where(table.c.account == account))


def _remove_account(tx: Connection, account: int) -> None:
    """Delete the row. The lock makes new items wait, and then fail; those of the last moment are deleted first."""
    postgres.disable_timeouts(tx)
    is_account = schema.accounts.c.id == account
    username = tx.execute(select(schema.accounts.c.username).where(is_account).with_for_update()).scalar()
    if username is None:
        raise account_deleted()
    for table, remove in _KINDS:
        while _remove_batch(tx, account, table, remove):
            pass
    mail_queue.remove_account(tx, account)
    removed = audit.remove_account(tx, account)
    audit_log.forget(tx, account)
    audit_log.record(tx, None, "account.deleted", account, label=username, after={"events": removed})
    people.remove_members(tx, account)
    tx.execute(delete(schema.accounts).where(is_account))
