"""On the way to a target: when a splash page may be skipped, what visitors send by overlays.

Revision: 0006, after 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WORDS = ("name", "email", "message", "choice")


def upgrade() -> None:
    """Add the table and the columns."""
    op.add_column("splashes", sa.Column("skip", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("overlays", sa.Column("webhook", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "submissions",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("overlay", _ID, nullable=False),
        sa.Column("link", _ID, nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _WORDS),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["overlay"], ["overlays.id"], name=op.f("submissions_overlay_fk"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["link"], ["links.id"], name=op.f("submissions_link_fk"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("submissions_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index("submissions_overlay_id", "submissions", ["overlay", "id"], unique=False)
    op.create_index("submissions_link", "submissions", ["link"], unique=False)
