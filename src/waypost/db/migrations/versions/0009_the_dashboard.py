"""The dashboard: who is signed in, authenticator apps, and an index for the filter of links by status.

Revision: 0009, after 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables and the index."""
    op.create_table(
        "sessions",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("seen", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("sessions_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("sessions_pk")),
        sa.UniqueConstraint("digest", name=op.f("sessions_digest_unique")),
        sqlite_autoincrement=True,
    )
    op.create_index("sessions_account_id", "sessions", ["account", "id"], unique=False)
    op.create_index("sessions_seen", "sessions", ["seen"], unique=False)
    op.create_table(
        "factors",
        sa.Column("account", _ID, autoincrement=False, nullable=False),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name=op.f("factors_account_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("account", name=op.f("factors_pk")),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("account", _ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account"], ["accounts.id"], name=op.f("recovery_codes_account_fk"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account", "digest", name=op.f("recovery_codes_pk")),
        sqlite_with_rowid=False,
    )
    op.create_index("links_account_status", "links", ["account", "status", "id"], unique=False)
