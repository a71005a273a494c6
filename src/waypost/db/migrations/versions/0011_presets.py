"""Add the table of presets: saved views of the list of links, and styles of QR codes.

Revision: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table. On PostgreSQL, its primary key contains the account (ADR 11)."""
    keys = ("id",) if op.get_bind().dialect.name == "sqlite" else ("id", "account")
    op.create_table(
        "presets",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint(*keys, name="presets_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="presets_account_fk", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("presets_account_kind_name_key_unique", "presets", ["account", "kind", "name_key"], unique=True)
