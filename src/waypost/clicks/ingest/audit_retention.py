"""Retention of the audit log: old events are deleted, and an event of the log names the last position that was."""

from sqlalchemy import ColumnElement, Connection, TableClause, and_, column, delete, func, select, table

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import DAY
from waypost.core import clock
from waypost.db import audit_log, audit_sequence
from waypost.db.schema import audit, audit_checkpoints, audit_tombstones

_MAX_ROWS = 20_000
_DEFAULT_PARTITION = table("audit_rest", column("id"), column("at"), column("position"))


def delete_before(tx: Connection, time: int) -> bool:
    """Delete the events before the day of a time. Return whether more can remain.

    PostgreSQL drops whole months, so its oldest remain longer. The hashes of deleted events stay in the tree.
    """
    end = time - time % DAY
    source = audit if tx.dialect.name == "sqlite" else _DEFAULT_PARTITION
    oldest = select(source.c.id).order_by(source.c.id).limit(_MAX_ROWS).scalar_subquery()
    is_old = and_(source.c.id.in_(oldest), source.c.at < end)
    months = partitions.before(tx, "audit", end // DAY)
    if not months and tx.execute(select(source.c.id).where(is_old).limit(1)).first() is None:
        return False
    audit_sequence.hold(tx)
    positions = [
        tx.execute(select(func.max(column("position"))).select_from(table(month))).scalar() for month in months
    ]
    partitions.drop_before(tx, "audit", end // DAY)
    deleted = _delete(tx, source, is_old)
    through = max((position for position in (*positions, *deleted) if position is not None), default=None)
    if through is not None:
        tx.execute(delete(audit_tombstones).where(audit_tombstones.c.position <= through))
        audit_log.record(tx, None, "audit.purged", after={"before": clock.text(end), "through": through})
    tx.execute(delete(audit_checkpoints).where(audit_checkpoints.c.at < end))
    return len(deleted) == _MAX_ROWS


def _delete(tx: Connection, source: TableClause, condition: ColumnElement[bool]) -> list[int | None]:
    """Delete rows. Return their positions."""
    return list(tx.execute(delete(source).where(condition).returning(source.c.position)).scalars())
