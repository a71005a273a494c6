"""Let a download that brought nothing be started again.

Revision: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns and the index."""
    op.add_column("download_grants", sa.Column("address", sa.LargeBinary))
    op.add_column("download_grants", sa.Column("unread", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("download_grants", sa.Column("retry_until", sa.BigInteger))
    op.create_index(
        "download_grants_retry",
        "download_grants",
        ["file"],
        sqlite_where=sa.text("retry_until IS NOT NULL"),
        postgresql_where=sa.text("retry_until IS NOT NULL"),
    )
