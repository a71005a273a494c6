"""Mark the endpoints of webhooks that get visits, so that counting clicks finds them, and those of overlays.

Messages of visits get an index, because they are kept for fewer days than others.

Revision: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
_INDEX = "webhook_endpoints_visits"
_IS_OF_VISITS = "event IN ('link.clicked', 'code.scanned', 'file.downloaded')"


def upgrade() -> None:
    """Add the columns and their indexes."""
    op.add_column("webhook_endpoints", sa.Column("visits", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index(
        _INDEX,
        "webhook_endpoints",
        ["account"],
        sqlite_where=sa.text("visits = 1"),
        postgresql_where=sa.text("visits"),
    )
    overlay_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("webhook_endpoints", sa.Column("overlay", overlay_id))
    op.create_index("webhook_endpoints_overlay", "webhook_endpoints", ["account", "overlay"], unique=True)
    op.create_index(
        "webhook_messages_visits",
        "webhook_messages",
        ["created"],
        sqlite_where=sa.text(_IS_OF_VISITS),
        postgresql_where=sa.text(_IS_OF_VISITS),
    )
