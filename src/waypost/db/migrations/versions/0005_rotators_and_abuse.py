"""Rotators: how a campaign hands out its links, and where it stands. Blocked hosts and words; reports.

Revision: 0005, after 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables and columns. A campaign that was there goes on at random."""
    op.add_column("campaigns", sa.Column("rotation", sa.String(8), nullable=False, server_default="random"))
    op.add_column("campaigns", sa.Column("sticky", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("campaigns", sa.Column("winner", sa.BigInteger(), nullable=True))
    op.create_table(
        "rotations",
        sa.Column("campaign", _ID, nullable=False),
        sa.Column("link", _ID, nullable=False),
        sa.Column("weight", sa.BigInteger(), nullable=False),
        sa.Column("quota", sa.BigInteger(), nullable=True),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("rotations_campaign_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["link"], ["links.id"], name=op.f("rotations_link_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign", "link", name=op.f("rotations_pk")),
        sqlite_with_rowid=False,
    )
    op.create_index("rotations_link", "rotations", ["link"], unique=False)
    op.create_table(
        "turns",
        sa.Column("campaign", _ID, nullable=False),
        sa.Column("link", _ID, nullable=True),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.Column("winner", _ID, nullable=True),
        sa.ForeignKeyConstraint(["campaign"], ["campaigns.id"], name=op.f("turns_campaign_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign", name=op.f("turns_pk")),
    )
    op.create_table(
        "blocks",
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "value", name=op.f("blocks_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reports",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("alias", sa.String(50), nullable=False),
        sa.Column("reason", sa.String(16), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("reporter", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("reports_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("reports_name", "reports", ["host", "alias"], unique=False)
    op.create_index("reports_reporter", "reports", ["reporter", "created"], unique=False)
