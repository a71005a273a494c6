"""Clicks: how far the journal is counted, the roll-ups, the raw events; and the log of changes.

Revision: 0002, after 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables, and how many clicks of a limited link are taken."""
    op.create_table(
        "changes",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("changes_pk")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "click_labels",
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("dimension", sa.String(length=10), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "item", "day", "dimension", "label", name=op.f("click_labels_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "click_times",
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("clicks", sa.BigInteger(), nullable=False),
        sa.Column("uniques", sa.BigInteger(), nullable=False),
        sa.Column("bots", sa.BigInteger(), nullable=False),
        sa.Column("previews", sa.BigInteger(), nullable=False),
        sa.Column("others", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "item", "at", name=op.f("click_times_pk")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("account", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("sort", sa.String(length=8), nullable=False),
        sa.Column("first", sa.Boolean(), nullable=False),
        sa.Column("country", sa.Text(), nullable=False),
        sa.Column("referrer", sa.Text(), nullable=False),
        sa.Column("browser", sa.Text(), nullable=False),
        sa.Column("os", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("events_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("events_account_id", "events", ["account", "id"], unique=False)
    op.create_table(
        "salts",
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("salts_pk")),
    )
    op.create_table(
        "segments",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("segments_pk")),
    )
    op.create_table(
        "visitors",
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "digest", name=op.f("visitors_pk")),
        sqlite_with_rowid=False,
    )
    op.add_column("links", sa.Column("taken", sa.BigInteger(), nullable=False, server_default="0"))
