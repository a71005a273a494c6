"""How QR codes look.

Revision: 0003, after 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add what can be set on a QR code beside its colours, and which version of its picture is the present one."""
    op.add_column("qrs", sa.Column("gradient", sa.JSON(), nullable=True))
    op.add_column("qrs", sa.Column("modules", sa.Text(), nullable=False, server_default="square"))
    op.add_column("qrs", sa.Column("eyes", sa.Text(), nullable=False, server_default="square"))
    op.add_column("qrs", sa.Column("level", sa.Text(), nullable=False, server_default="auto"))
    op.add_column("qrs", sa.Column("margin", sa.BigInteger(), nullable=False, server_default="4"))
    op.add_column("qrs", sa.Column("caption", sa.Text(), nullable=False, server_default=""))
    op.add_column("qrs", sa.Column("version", sa.BigInteger(), nullable=False, server_default="1"))
