"""Move the times of edits into the audit log, and index it by time.

A log that has events already recorded its edits itself. Rows that were there before it are left out then: appended after
these events, they would break the order of time that the retention of the log relies on, and be sent by webhooks.

An empty table stays in a database that is in use, because nodes of the older version write to it until they are upgraded.
A release that no such node can run next to drops it.

Revision: 0021
"""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
_SALTS = {"sqlite": "lower(hex(randomblob(16)))", "postgresql": "replace(CAST(gen_random_uuid() AS text), '-', '')"}
_MOVE = """
INSERT INTO audit (at, account, name, kind, item, label, origin, key, network, salt)
SELECT at, account, kind || '.updated', kind, item, '', 'system', '', '', {salt} FROM edits ORDER BY at
"""
_MONTHS = "SELECT DISTINCT to_char(to_timestamp(at) AT TIME ZONE 'UTC', 'YYYY-MM') FROM edits"
_PARTITION = "CREATE TABLE IF NOT EXISTS audit_{first:%Y%m%d} PARTITION OF audit FOR VALUES FROM ({low}) TO ({high})"


def upgrade() -> None:
    """Move the rows, and add the index."""
    tx = op.get_bind()
    if tx.execute(sa.text("SELECT 1 FROM audit LIMIT 1")).first() is None:
        if tx.dialect.name == "postgresql":
            _add_partitions(tx)
        op.execute(_MOVE.format(salt=_SALTS[tx.dialect.name]))
    op.create_index("audit_account_at", "audit", ["account", "at"])
    is_in_use = tx.execute(sa.text("SELECT 1 FROM accounts LIMIT 1")).first() is not None
    op.execute("DELETE FROM edits" if is_in_use else "DROP TABLE edits")


def _add_partitions(tx: sa.Connection) -> None:
    """Create the partitions of the months of the rows, so that the retention drops them as a whole."""
    for month in tx.execute(sa.text(_MONTHS)).scalars().all():
        first = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
        end = (first + timedelta(days=32)).replace(day=1)
        op.execute(_PARTITION.format(first=first, low=int(first.timestamp()), high=int(end.timestamp())))
