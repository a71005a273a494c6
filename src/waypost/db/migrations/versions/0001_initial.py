"""Create all tables, their partitions, the search index over links, and the first rows.

Revision: 0001
"""

import secrets

import sqlalchemy as sa
from alembic import op

from waypost.db.migrations.initial import (
    accounts,
    clicks,
    imports,
    links,
    parts,
    resources,
    search,
    shared_state,
    trash,
)
from waypost.db.migrations.initial.tables import BYTES, PARTITIONED, is_postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    for tables in (accounts, resources, links, parts, imports, clicks, shared_state, search, trash):
        tables.create()
    if is_postgresql():
        for table in PARTITIONED:
            op.execute(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
        # Totals over all days have the day -1.
        op.execute("CREATE TABLE click_labels_all PARTITION OF click_labels FOR VALUES FROM (-1) TO (0)")
    op.execute("INSERT INTO plans (name, status, rate_limit, upload_limit) VALUES ('free', 'free', 30, 536870912)")
    op.bulk_insert(
        sa.table("installation", sa.column("name", sa.String()), sa.column("value", BYTES)),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )
