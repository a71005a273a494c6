"""Add the name that an account shows on the pages of its files; "" shows none.

Revision: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column."""
    op.add_column("accounts", sa.Column("sender", sa.String(64), nullable=False, server_default=""))
