"""Leases: work that one process does for all nodes, at most once per interval."""

from sqlalchemy import Connection, or_, select, update

from waypost.core import clock
from waypost.db.database import upsert
from waypost.db.schema import leases


def acquire(tx: Connection, work: str, *, every: int) -> bool:
    """Return whether the caller must do `work` in this transaction; no other process may for `every` seconds.

    Concurrent callers wait for the end of the transaction. If it fails or its process dies, the lease is not taken.
    """
    now = clock.now()
    # A lease that ends far in the future was taken before a clock was set back. It must be far, because clocks of nodes
    # differ, and `now` is outdated for a caller that waited for another one's transaction.
    is_free = or_(leases.c.until <= now, leases.c.until > now + 2 * every)
    insert = upsert(tx, leases).values(name=work, until=now + every)
    take = insert.on_conflict_do_update(index_elements=["name"], set_={"until": now + every}, where=is_free)
    return tx.execute(take.returning(leases.c.name)).first() is not None


def hold(tx: Connection, work: str) -> None:
    """Wait for other transactions that hold or acquire the lease; later ones wait until the commit.

    A process whose work takes longer than its lease is not alone. SQLite has a single writer.
    """
    tx.execute(select(leases.c.name).where(leases.c.name == work).with_for_update())


def extend(tx: Connection, work: str, *, every: int) -> None:
    """Keep the lease for `every` more seconds, because the work takes longer."""
    tx.execute(update(leases).where(leases.c.name == work).values(until=clock.now() + every))


def release(tx: Connection, work: str) -> None:
    """End the lease early, because there is more to do."""
    tx.execute(update(leases).where(leases.c.name == work).values(until=0))
