"""Add the table of items that were moved to another account.

Revision: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "moved_items",
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("item", _ID, nullable=False, autoincrement=False),
        sa.Column("owner", _ID, nullable=False),
        sa.Column("visitors_of", _ID, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("kind", "item", name="moved_items_pk"),
        sqlite_with_rowid=False,
    )
    for column in ("revision", "visitors_of"):
        op.create_index(f"moved_items_{column}", "moved_items", [column])
