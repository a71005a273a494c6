"""Delete an account with everything that belongs to it, in batches: no other writer waits long."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, select

from waypost.bios import ops as bios
from waypost.campaigns import ops as campaigns
from waypost.channels import ops as channels
from waypost.db import page_counters, postgres, schema
from waypost.db.database import Database
from waypost.domains import ops as domains
from waypost.errors import Kind, Problem, account_deleted
from waypost.files import ops as files
from waypost.imports import plans as import_plans
from waypost.links import bulk_changes
from waypost.overlays import ops as overlays
from waypost.pixels import ops as pixels
from waypost.qr import ops as qr_codes
from waypost.splash import ops as splash_pages
from waypost.trash import ops as trash

_BATCH = 500
_CLICKS = (schema.events, schema.click_times, schema.click_labels, schema.visitors)


@dataclass(frozen=True)
class Contents:
    """The number of items of each kind, and the bytes of the files."""

    items: Mapping[str, int]
    stored: int


def _each(remove: Callable[[Connection, int, int], None]) -> Callable[[Connection, int, Sequence[int]], None]:
    def remove_all(tx: Connection, account: int, ids: Sequence[int]) -> None:
        for item in ids:
            remove(tx, account, item)

    return remove_all


def _purge(tx: Connection, account: int, ids: Sequence[int]) -> None:
    if ids:
        trash.purge(tx, account, ids)


# Links come first: they refer to most of the others.
_KINDS: Mapping[str, tuple[Table, Callable[[Connection, int, Sequence[int]], None]]] = {
    "links": (schema.links, bulk_changes.remove),
    "files": (schema.files, _each(files.remove)),
    "QR codes": (schema.qrs, _each(qr_codes.remove)),
    "bio pages": (schema.bios, _each(bios.remove)),
    "campaigns": (schema.campaigns, _each(campaigns.remove)),
    "channels": (schema.channels, _each(channels.remove)),
    "splash pages": (schema.splashes, _each(splash_pages.remove)),
    "CTA overlays": (schema.overlays, _each(overlays.remove)),
    "pixels": (schema.pixels, _each(pixels.remove)),
    "branded domains": (schema.domains, _each(domains.remove)),
    "items in the trash": (schema.trash, _purge),
}


def contents(tx: Connection, account: int) -> Contents:
    """Return the number of items that the deletion of an account deletes. Raises NOT_FOUND."""
    stored = tx.execute(select(schema.accounts.c.stored).where(schema.accounts.c.id == account)).scalar_one_or_none()
    if stored is None:
        raise account_deleted()
    totals = {noun: page_counters.total(tx, account, table.name) for noun, (table, _) in _KINDS.items()}
    return Contents(totals, stored)


def delete_account(database: Database, account: int) -> None:
    """Delete an account, its items, statistics, API keys and sessions. Its aliases stay reserved: they answer 404.

    It loses access first. If interrupted, call it again to resume. Raises INVALID for the only administrator among
    other accounts, NOT_FOUND. Statistics of clicks that are in the journal at the end can remain; they name no item.
    """
    database.write(lambda tx: _close(tx, account))
    for table, remove in _KINDS.values():
        while database.write(lambda tx, table=table, remove=remove: _remove_batch(tx, account, table, remove)):  # type: ignore[misc]
            pass
    owned_plans = select(schema.import_plans.c.id).where(schema.import_plans.c.account == account)
    for plan in database.read(lambda tx: tx.execute(owned_plans).scalars().all()):
        import_plans.remove(database, account, plan)
    for clicks in _CLICKS:
        database.write(lambda tx, clicks=clicks: _remove_clicks(tx, account, clicks))  # type: ignore[misc]
    database.write(lambda tx: _remove_account(tx, account))


def _close(tx: Connection, account: int) -> None:
    """Suspend the account, and revoke its keys and sessions."""
    c = schema.accounts.c
    owner = tx.execute(select(c.owner).where(c.id == account).with_for_update()).scalar_one_or_none()
    if owner is None:
        raise account_deleted()
    others = tx.execute(select(c.owner).where(c.id != account).order_by(c.owner.desc()).limit(1)).scalar_one_or_none()
    if owner and others is False:
        message = "This is the only administrator. Give another account admin rights first."
        raise Problem(Kind.INVALID, message)
    tx.execute(schema.accounts.update().where(c.id == account).values(suspended=True))
    for table in (schema.api_keys, schema.sessions):
        tx.execute(delete(table).where(table.c.account == account))


def _remove_batch(
    tx: Connection, account: int, table: Table, remove: Callable[[Connection, int, Sequence[int]], None]
) -> bool:
    """Delete a batch of items. Return whether more can remain."""
    oldest = select(table.c.id).where(table.c.account == account).order_by(table.c.id).limit(_BATCH)
    ids = tx.execute(oldest.with_for_update()).scalars().all()
    remove(tx, account, ids)
    return len(ids) == _BATCH


def _remove_clicks(tx: Connection, account: int, table: Table) -> None:
    postgres.disable_timeouts(tx)
    tx.execute(delete(table).where(table.c.account == account))


def _remove_account(tx: Connection, account: int) -> None:
    """Delete the row. The lock makes new items wait, and then fail; those of the last moment are deleted first."""
    postgres.disable_timeouts(tx)
    is_account = schema.accounts.c.id == account
    if tx.execute(select(schema.accounts.c.id).where(is_account).with_for_update()).first() is None:
        raise account_deleted()
    for table, remove in _KINDS.values():
        while _remove_batch(tx, account, table, remove):
            pass
    tx.execute(delete(schema.accounts).where(is_account))
