"""Add the time zone of an account; "" is that of the browser.

Revision: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column("accounts", sa.Column("timezone", sa.String(64), nullable=False, server_default=""))
