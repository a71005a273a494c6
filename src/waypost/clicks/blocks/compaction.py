"""Copy single visits into blocks of columns (waypost.clicks.blocks.encoding), so that filters read millions of them.

The visits stay in `events`. The blocks of an account contain its visits up to the highest id in them, each in one
block; later visits are read from `events`, so every filter counts all visits exactly once. Visits are read and encoded
outside of the transactions that write. These write nothing if visits moved to another account in between.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select, text

from waypost.clicks.blocks.encoding import COLUMNS, Block, encode
from waypost.clicks.ingest.aggregate import DAY
from waypost.db import leases, moved_items
from waypost.db.database import Database
from waypost.db.schema import events, visit_blocks

INTERVAL_SECONDS = 60
SMALL, MERGED = 8192, 8
"""Visits of a new block, and how many of these are merged into a large one."""
_MAX_BLOCKS_OF_RUN = 64
_LEASE = "compact visits"
_b = visit_blocks.c
_VISITS = select(*(events.c[name] for name in COLUMNS)).order_by(events.c.id)
_Rows = Sequence[Row[tuple[object, ...]]]


def compact(database: Database, *, events_days: int, now: int) -> bool:
    """Write blocks if the lease is free. Return whether more remains. With 0 `events_days`, all blocks are deleted."""
    highest = database.write(_begin, durability="relaxed")
    if highest is None:
        return False
    if not events_days:
        database.write(lambda tx: tx.execute(delete(visit_blocks)), durability="relaxed")
        return False
    expire(database, before=(now - events_days * DAY) // DAY * DAY)
    written = 0
    for account in database.read(lambda tx: _accounts_with_visits(tx, highest)):
        while add_block(database, account, highest):
            written += 1
            if written == _MAX_BLOCKS_OF_RUN:
                database.write(lambda tx: leases.release(tx, _LEASE), durability="relaxed")
                return True
    return False


def expire(database: Database, *, before: int) -> None:
    """Remove the visits before a second, the beginning of a day, from the blocks."""
    database.write(lambda tx: tx.execute(delete(visit_blocks).where(_b.last_ms < before * 1000)), durability="relaxed")
    older = select(_b.account, _b.first_id, _b.last_id).where(_b.first_ms < before * 1000)
    revision, blocks = database.read(lambda tx: (moved_items.revision(tx), tx.execute(older).all()))
    for account, first_id, last_id in blocks:
        _replace(database, account, first_id, last_id, revision)


def add_block(database: Database, account: int, highest: int) -> bool:
    """Write the next block of an account; return whether there were enough visits for one."""
    revision, rows = database.read(lambda tx: (moved_items.revision(tx), _next_rows(tx, account, highest)))
    if len(rows) < SMALL:
        return False
    block = encode(rows)

    def append(tx: Connection) -> None:
        if _is_current(tx, revision) and _last_id(tx, account) < block.first_id:
            _insert(tx, account, block)

    database.write(append, durability="relaxed")
    recent = select(_b.first_id, _b.last_id, _b.visits).where(_b.account == account).order_by(_b.last_id.desc())
    blocks = database.read(lambda tx: tx.execute(recent.limit(MERGED)).all())
    if len(blocks) == MERGED and all(block.visits <= SMALL for block in blocks):
        _replace(database, account, blocks[-1].first_id, blocks[0].last_id, revision)
    return True


def _begin(tx: Connection) -> int | None:
    """Return an id up to which all visits are committed; None if another process does the work.

    PostgreSQL gives ids before the commit, so a lower one can appear later: the lock waits for running transactions.
    """
    if not leases.acquire(tx, _LEASE, every=INTERVAL_SECONDS):
        return None
    if tx.dialect.name == "postgresql":
        tx.execute(text("LOCK TABLE events IN SHARE MODE"))
    return int(tx.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one())


def _accounts_with_visits(tx: Connection, highest: int) -> Sequence[int]:
    """Return the accounts with enough visits for a block, by skipping from account to account (events_account_id)."""
    accounts: list[int] = []
    account = 0
    while True:
        query = select(events.c.account).where(events.c.account > account).order_by(events.c.account).limit(1)
        next_account = tx.execute(query).scalar_one_or_none()
        if next_account is None:
            return accounts
        account = int(next_account)
        query = select(events.c.id).where(_is_next(account, highest)).order_by(events.c.id)
        if tx.execute(query.limit(1).offset(SMALL - 1)).first():
            accounts.append(account)


def _next_rows(tx: Connection, account: int, highest: int) -> _Rows:
    return tx.execute(_VISITS.where(_is_next(account, highest)).limit(SMALL)).all()


def _is_next(account: int, highest: int) -> ColumnElement[bool]:
    """Return the condition on visits that are in no block yet (index events_account_id)."""
    last = select(func.coalesce(func.max(_b.last_id), 0)).where(_b.account == account).scalar_subquery()
    return and_(events.c.account == account, events.c.id > last, events.c.id <= highest)


def _replace(database: Database, account: int, first_id: int, last_id: int, revision: int) -> None:
    """Replace the blocks from `first_id` to `last_id` by one with the visits that still exist.

    `revision` is that of the moved items when these blocks were read.
    """
    in_range = _VISITS.where(events.c.account == account, events.c.id.between(first_id, last_id))
    rows = database.read(lambda tx: tx.execute(in_range).all())
    # The range stays the same: it says which visits are in blocks.
    block = replace(encode(rows), first_id=first_id, last_id=last_id) if rows else None

    def work(tx: Connection) -> None:
        if not _is_current(tx, revision):
            return
        tx.execute(delete(visit_blocks).where(_b.account == account, _b.last_id.between(first_id, last_id)))
        if block:
            _insert(tx, account, block)

    database.write(work, durability="relaxed")


def _last_id(tx: Connection, account: int) -> int:
    """Return the highest id in the blocks of an account; 0 without any."""
    return int(tx.execute(select(func.coalesce(func.max(_b.last_id), 0)).where(_b.account == account)).scalar_one())


def _insert(tx: Connection, account: int, block: Block) -> None:
    """Store a block, unless the account was deleted after the visits were read."""
    if tx.execute(select(events.c.id).where(events.c.account == account).limit(1)).first():
        tx.execute(insert(visit_blocks), {"account": account, **asdict(block)})


def _is_current(tx: Connection, revision: int) -> bool:
    """Return whether no visit has moved to another account since this revision, nor does until the commit.

    No other process writes blocks until then, if it has got the lease in the meantime.
    """
    leases.hold(tx, _LEASE)
    moved_items.hold(tx)
    return moved_items.revision(tx) == revision
