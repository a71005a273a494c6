"""Add the switch of a link that keeps the visitor's parameters from the destination.

Revision: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column."""
    op.add_column("links", sa.Column("dropquery", sa.Boolean, nullable=False, server_default=sa.false()))
