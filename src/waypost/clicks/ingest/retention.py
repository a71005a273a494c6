"""What is thrown away when its time is over: salts and visitors of past days, old events, old changes."""

from sqlalchemy import Connection, column, delete, select, table

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY
from waypost.db import change_log, leases
from waypost.db.schema import events, visitor_salts, visitors

EVERY_SECONDS = 60
_AT_ONCE = 20_000
_REST = table("events_rest", column("id"), column("at_ms"))
"""On PostgreSQL, the events without a piece of their own."""


def tidy(tx: Connection, now: int, *, over: int, events_days: int) -> bool:
    """Throw away what is over, if it is our turn; whether there is more of it. `over` is the first day that is not.

    PostgreSQL drops single visits by whole days, so the last of them are there for up to a day longer.
    """
    if not leases.acquire(tx, "tidy", every=EVERY_SECONDS):
        return False
    tx.execute(delete(visitor_salts).where(visitor_salts.c.day < over))
    change_log.purge(tx)
    before = now - events_days * DAY
    partitions.drop_before(tx, "visitors", over)
    tx.execute(delete(visitors).where(visitors.c.day < over))
    partitions.drop_before(tx, "events", before // DAY)
    kept = events if tx.dialect.name == "sqlite" else _REST
    oldest = select(kept.c.id).order_by(kept.c.id).limit(_AT_ONCE).scalar_subquery()
    gone = tx.execute(delete(kept).where(kept.c.id.in_(oldest), kept.c.at_ms < before * 1000)).rowcount
    if gone == _AT_ONCE:
        leases.release(tx, "tidy")
    return gone == _AT_ONCE
