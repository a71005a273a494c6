"""Add the audit log. On PostgreSQL it is partitioned by time, and has no primary key (ADR 11).

Revision: 0014
"""

from alembic import op

revision = "0014"
down_revision = "0013"
_TABLE = """
CREATE TABLE audit (
    id {id},
    at BIGINT NOT NULL,
    account BIGINT,
    name VARCHAR(40) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    item BIGINT,
    label TEXT NOT NULL,
    origin VARCHAR(10) NOT NULL,
    actor BIGINT,
    key VARCHAR(16) NOT NULL,
    network VARCHAR(16) NOT NULL,
    before JSON,
    after JSON{end}
"""


def upgrade() -> None:
    """Add the table."""
    if op.get_bind().dialect.name == "sqlite":
        sqlite = _TABLE.format(id="INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT", end="\n)")
        op.execute(sqlite.replace("BIGINT,", "INTEGER,"))
    else:
        op.execute(_TABLE.format(id="BIGSERIAL NOT NULL", end="\n)\nPARTITION BY RANGE (at)"))
        op.execute("CREATE TABLE audit_rest PARTITION OF audit DEFAULT")
    op.create_index("audit_account_id", "audit", ["account", "id"])
    op.create_index("audit_account_item", "audit", ["account", "kind", "item", "id"])
