"""Delete expired data: salts and visitors of past days, old events, change-log entries, idempotency keys, the trash."""

from sqlalchemy import Connection, column, delete, select, table

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY
from waypost.db import change_log, leases
from waypost.db.schema import events, idempotency_keys, link_undos, visitor_salts, visitors
from waypost.trash import ops as trash

INTERVAL_SECONDS = 60
_MAX_ROWS = 20_000
_DEFAULT_PARTITION = table("events_rest", column("id"), column("at_ms"))
"""On PostgreSQL, the events of days without a partition."""


def delete_expired(tx: Connection, now: int, *, first_kept_day: int, events_days: int) -> bool:
    """Delete expired data if the lease is free. Return whether more remains.

    Visitors and salts before `first_kept_day` are deleted, and events older than `events_days` days. PostgreSQL drops
    events by whole days, so the oldest ones remain for up to a day longer.
    """
    if not leases.acquire(tx, "tidy", every=INTERVAL_SECONDS):
        return False
    tx.execute(delete(visitor_salts).where(visitor_salts.c.day < first_kept_day))
    change_log.purge(tx)
    tx.execute(delete(idempotency_keys).where(idempotency_keys.c.until < now))
    tx.execute(delete(link_undos).where(link_undos.c.created < now - DAY))
    before = now - events_days * DAY
    partitions.drop_before(tx, "visitors", first_kept_day)
    tx.execute(delete(visitors).where(visitors.c.day < first_kept_day))
    partitions.drop_before(tx, "events", before // DAY)
    source = events if tx.dialect.name == "sqlite" else _DEFAULT_PARTITION
    oldest = select(source.c.id).order_by(source.c.id).limit(_MAX_ROWS).scalar_subquery()
    deleted = tx.execute(delete(source).where(source.c.id.in_(oldest), source.c.at_ms < before * 1000)).rowcount
    more_remains = trash.purge_expired(tx, now) or deleted == _MAX_ROWS
    if more_remains:
        leases.release(tx, "tidy")
    return more_remains
