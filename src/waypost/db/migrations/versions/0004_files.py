"""Files: what a download is held against, claims, leftovers in the store, limits by plan.

Revision: 0004, after 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables and columns. No release before this one kept files."""
    op.create_table(
        "leftovers",
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("due", sa.BigInteger(), nullable=False),
        sa.Column("doomed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("object", name=op.f("leftovers_pk")),
    )
    op.create_index("leftovers_due", "leftovers", ["due"], unique=False)
    op.create_table(
        "claims",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("file", _ID, nullable=False),
        sa.Column("visitor", sa.LargeBinary(), nullable=False),
        sa.Column("served", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["file"], ["files.id"], name=op.f("claims_file_fk"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("claims_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("claims_file_visitor", "claims", ["file", "visitor", "id"], unique=False)
    op.create_index("claims_until", "claims", ["until"], unique=False)
    for name in ("filename", "search"):
        op.add_column("files", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    for name in ("taken", "uniquedownloads"):
        op.add_column("files", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    for name in ("ended", "purged"):
        op.add_column("files", sa.Column(name, sa.BigInteger(), nullable=True))
    op.create_index("files_expiry", "files", ["expiry"], unique=False)
    op.create_index("files_ended", "files", ["ended"], unique=False)
    op.add_column("plans", sa.Column("storage_limit", sa.BigInteger(), nullable=True))
    op.add_column("accounts", sa.Column("stored", sa.BigInteger(), nullable=False, server_default="0"))
