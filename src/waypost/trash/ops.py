"""The trash: items that were deleted in the dashboard. An account can restore them for 30 days.

An item is moved to the trash by the operation that deletes it, after its rows were copied. So it is in no table that a
query reads, and no query has to leave out deleted items.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from waypost.core import clock
from waypost.core.errors import not_found
from waypost.db import account_rows, audit_log, crud, page_counters
from waypost.db.crud import Page, PageRequest
from waypost.db.schema import aliases, trash
from waypost.storage import cleanup
from waypost.trash import restoring, snapshots
from waypost.trash.restoring import Entry
from waypost.trash.snapshots import KINDS, Snapshot

DAYS = 30
"""Days until an item in the trash is deleted for good."""
PURGED_AT_ONCE = 500
MOVED_AT_ONCE = 1000
"""Items that one transaction moves to the trash, or restores."""
Remove = Callable[[Connection, int, Sequence[int]], None]
_KEEP_ALIAS = (
    update(aliases)
    .where(aliases.c.host == bindparam("of_host"), aliases.c.alias == bindparam("of_alias"), aliases.c.kind.is_(None))
    .values(item=bindparam("entry"))
)


@dataclass(frozen=True)
class Item:
    """An item in the trash. `item` is its id as a `kind`, `created` the time of its deletion (Unix timestamp)."""

    id: int
    kind: str
    item: int
    name: str
    host: str
    alias: str | None
    created: int

    @property
    def purged(self) -> int:
        """The time when it is deleted for good."""
        return self.created + DAYS * 86_400


@dataclass(frozen=True)
class StoredObject:
    """The object of a file in the trash."""

    object: str
    filename: str
    size: int
    sha256: bytes


def page(tx: Connection, account: int, window: PageRequest) -> Page[Item]:
    """Return a page of the account's trash, latest deletion first."""
    return crud.page(tx, trash, account, window, Item)


def get_owned(tx: Connection, account: int, entry: int) -> Item:
    """Return one item in the trash. Raises NOT_FOUND."""
    return crud.get_owned(tx, trash, account, entry, Item)


def get_owned_many(tx: Connection, account: int, ids: Iterable[int]) -> list[Item]:
    """Return items in the trash. Raises NOT_FOUND if one of them does not exist."""
    return [get_owned(tx, account, entry) for entry in sorted(set(ids))]


def move(tx: Connection, account: int, name: str, ids: Iterable[int], remove: Remove, *, batch: str = "") -> str:
    """Move items of the kind `name` to the trash; `remove` deletes them. Return their batch, "" if there are none.

    `batch` is that of items which the same action has moved before.

    Their aliases stay reserved for the trash. Files keep counting toward the storage of the account, because their
    bytes are kept. Raises NOT_FOUND if one of the items does not exist; then none is moved.
    """
    account_rows.lock(tx, account)
    now, batch = clock.now(), batch or secrets.token_hex(16)
    taken = snapshots.take(tx, account, name, ids, now)
    if not taken:
        return ""
    remove(tx, account, [snapshot.item for snapshot in taken])
    rows = [_row(account, name, snapshot, now, batch) for snapshot in taken]
    statement = insert(trash).returning(trash.c.id, sort_by_parameter_order=True)
    entries = tx.execute(statement, rows).scalars().all()
    _count(tx, account, entries, 1)
    _keep_aliases(tx, zip(rows, entries, strict=True))
    if name == "file":
        for snapshot in taken:
            cleanup.take_back_object(tx, account, snapshot.values["object"], snapshot.values["size"])
    return batch


def contains(tx: Connection, account: int, name: str, item: int) -> bool:
    """Return whether the item of the kind `name` is in the account's trash, by the id that it had."""
    c = trash.c
    query = select(c.id).where(c.account == account, c.kind == name, c.item == item).limit(1)
    return tx.execute(query).first() is not None


def restore(tx: Connection, account: int, ids: Iterable[int]) -> list[Entry]:
    """Restore items by their ids in the trash. Raises NOT_FOUND if one is not there, and INVALID and TAKEN.

    INVALID: above the limit of the account's plan. TAKEN: another campaign, channel or UTM template has got the name,
    or the domain is used by now.
    """
    account_rows.lock(tx, account)
    unique_ids = set(ids)
    entries = _entries(tx, account, unique_ids)
    if not unique_ids or len(entries) != len(unique_ids):
        raise not_found(crud.singular(trash))
    tx.execute(delete(trash).where(trash.c.account == account, trash.c.id.in_(unique_ids)))
    _count(tx, account, [entry.id for entry in entries], -1)
    restoring.put_back(tx, account, entries)
    return entries


def restore_batch(tx: Connection, account: int, batch: str) -> tuple[list[Entry], bool]:
    """Restore items that one action deleted. Return them, and whether more remain. Raises as `restore`."""
    account_rows.lock(tx, account)
    query = select(trash.c.id).where(trash.c.account == account, trash.c.batch == batch).order_by(trash.c.id)
    ids = tx.execute(query.limit(MOVED_AT_ONCE + 1)).scalars().all()
    return restore(tx, account, ids[:MOVED_AT_ONCE]), len(ids) > MOVED_AT_ONCE


def purge(tx: Connection, account: int, ids: Iterable[int]) -> None:
    """Delete items in the trash for good. Raises NOT_FOUND if one is not there; then none is deleted."""
    unique_ids = set(ids)
    if not get_owned_many(tx, account, unique_ids):
        raise not_found(crud.singular(trash))
    _purge(tx, account, unique_ids)


def purge_oldest(tx: Connection, account: int, *, until: int | None = None) -> bool:
    """Delete the first items of the trash for good, up to the id `until`. Return whether more can remain."""
    query = select(trash.c.id).where(trash.c.account == account).order_by(trash.c.id).limit(PURGED_AT_ONCE)
    ids = tx.execute(query if until is None else query.where(trash.c.id <= until)).scalars().all()
    _purge(tx, account, set(ids))
    return len(ids) == PURGED_AT_ONCE


def purge_expired(tx: Connection, now: int) -> bool:
    """Delete the items for good that have been in the trash for 30 days. Return whether more can remain."""
    query = select(trash.c.account, trash.c.id).where(trash.c.created <= now - DAYS * 86_400)
    rows = tx.execute(query.order_by(trash.c.created).limit(PURGED_AT_ONCE)).all()
    for account in sorted({row.account for row in rows}):
        _purge(tx, account, {row.id for row in rows if row.account == account})
    return len(rows) == PURGED_AT_ONCE


def _purge(tx: Connection, account: int, ids: set[int]) -> int:
    """Delete items in the trash, free their aliases for the account, and release the objects of files."""
    account_rows.lock(tx, account)
    entries = _entries(tx, account, ids)
    tx.execute(delete(trash).where(trash.c.account == account, trash.c.id.in_([entry.id for entry in entries])))
    _count(tx, account, [entry.id for entry in entries], -1)
    for entry in entries:
        audit_log.record(tx, account, f"{entry.kind}.purged", entry.item, label=entry.name)
    _keep_aliases(tx, (({"host": entry.host, "alias": entry.alias}, None) for entry in entries))
    for row in (entry.content["row"] for entry in entries if entry.kind == "file"):
        if row["purged"] is None:
            cleanup.release_object(tx, account, row["object"], row["size"])
    return len(entries)


def _entries(tx: Connection, account: int, ids: set[int]) -> list[Entry]:
    query = crud.select_columns(trash, Entry).where(trash.c.account == account, trash.c.id.in_(ids))
    return [Entry(**row) for row in tx.execute(query.order_by(trash.c.id).with_for_update()).mappings()]


def _count(tx: Connection, account: int, entries: Iterable[int], change: int) -> None:
    with page_counters.in_one_batch(tx):
        for entry in entries:
            page_counters.increment(tx, account, trash.name, entry, change)


def _row(account: int, name: str, snapshot: Snapshot, now: int, batch: str) -> dict[str, Any]:
    kind, alias = KINDS[name], KINDS[name].noun.alias
    return {
        "account": account,
        "batch": batch,
        "kind": name,
        "item": snapshot.item,
        "name": snapshot.name(kind),
        "host": "" if alias is None else snapshot.values["host"] if alias.host is None else alias.host,
        "alias": snapshot.values[alias.column] if alias else None,
        "content": snapshot.content,
        "created": now,
    }


def _keep_aliases(tx: Connection, entries: Iterable[tuple[dict[str, Any], int | None]]) -> None:
    """Reserve the aliases for entries of the trash; free those without an entry."""
    named = [
        {"of_host": row["host"], "of_alias": row["alias"], "entry": entry}
        for row, entry in entries
        if row["alias"] is not None
    ]
    if named:
        tx.execute(_KEEP_ALIAS, sorted(named, key=lambda row: (row["of_host"], row["of_alias"])))


def stored_objects(tx: Connection) -> list[StoredObject]:
    """Return the objects of the files in the trash."""
    rows = tx.execute(select(trash.c.content).where(trash.c.kind == "file").order_by(trash.c.id)).scalars()
    files = (snapshots.decode(KINDS["file"].table, content["row"]) for content in rows)
    names = [field.name for field in fields(StoredObject)]
    return [StoredObject(**{name: row[name] for name in names}) for row in files if row["purged"] is None]
