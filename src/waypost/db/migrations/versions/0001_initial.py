"""Create all tables, their partitions, the search index over links, and the first rows, by the SQL of the database.

Revision: 0001
"""

import secrets
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything. An empty line ends a statement, because functions and triggers contain semicolons."""
    connection = op.get_bind()
    script = Path(__file__).with_name(f"0001_initial.{connection.dialect.name}.sql")
    for statement in script.read_text(encoding="utf-8").split("\n\n"):
        if not all(line.startswith("--") for line in statement.splitlines()):
            connection.exec_driver_sql(statement)
    op.bulk_insert(
        sa.table("installation", sa.column("name", sa.String()), sa.column("value", sa.LargeBinary())),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )
