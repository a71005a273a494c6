"""Add positions to the audit log, with random salts, the tiles of its Merkle tree, checkpoints and tombstones (ADR 19).

Revision: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
_SALTS = {"sqlite": "lower(hex(randomblob(16)))", "postgresql": "replace(CAST(gen_random_uuid() AS text), '-', '')"}


def upgrade() -> None:
    """Add the columns and tables."""
    dialect = op.get_bind().dialect.name
    op.add_column("audit", sa.Column("salt", sa.String(32), nullable=False, server_default=""))
    op.execute(f"UPDATE audit SET salt = {_SALTS[dialect]}")  # noqa: S608  # a constant
    op.add_column("audit", sa.Column("position", sa.BigInteger))
    op.execute("CREATE INDEX audit_without_position ON audit (id) WHERE position IS NULL")
    op.create_index("audit_position", "audit", ["position"])
    op.create_table(
        "audit_tiles",
        sa.Column("level", sa.BigInteger, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("level", "number", name="audit_tiles_pk"),
    )
    op.create_table(
        "audit_checkpoints",
        sa.Column("size", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("size", name="audit_checkpoints_pk"),
    )
    op.create_table(
        "audit_tombstones",
        sa.Column("position", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("owner", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("position", name="audit_tombstones_pk"),
    )
