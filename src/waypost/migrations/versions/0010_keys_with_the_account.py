"""Keys with the account: whose the distinct visitors of a day are.

Revision: 0010, after 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the account to the key of the visitors; -1 for those that are there, as nobody can tell whose they are."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE visitors ADD COLUMN account bigint NOT NULL DEFAULT -1")
        op.execute("ALTER TABLE visitors ALTER COLUMN account DROP DEFAULT")
        op.execute("ALTER TABLE visitors DROP CONSTRAINT visitors_pk")
        op.execute("ALTER TABLE visitors ADD CONSTRAINT visitors_pk PRIMARY KEY (day, account, digest)")
        return
    op.rename_table("visitors", "visitors_before")
    op.create_table(
        "visitors",
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("account", _ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "account", "digest", name=op.f("visitors_pk")),
        sqlite_with_rowid=False,
    )
    op.execute("INSERT INTO visitors (day, account, digest) SELECT day, -1, digest FROM visitors_before")
    op.drop_table("visitors_before")
