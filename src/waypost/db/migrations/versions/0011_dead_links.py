"""Dead links: what was seen where links lead.

Revision: 0011, after 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. Where the key of links has the account, what refers to one has it too."""
    key = sa.inspect(op.get_bind()).get_pk_constraint("links")["constrained_columns"]
    link = ["link", "account"] if "account" in key else ["link"]
    op.create_table(
        "looks",
        sa.Column("account", _ID, nullable=False),
        sa.Column("link", _ID, nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("checked", sa.BigInteger(), nullable=True),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("failing", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("dead", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("looks_account_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            link, [f"links.{column}" for column in key], name=op.f("looks_link_fk"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account", "link", name=op.f("looks_pk")),
        sqlite_with_rowid=False,
    )
    op.create_index("looks_dead_account", "looks", ["dead", "account", "link"], unique=False)
    op.create_index("looks_due", "looks", ["due"], unique=False)
    op.create_index("looks_link", "looks", ["link"], unique=False)
