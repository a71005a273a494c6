"""Add the format of the messages of an endpoint, with the site and the credential that analytics need.

Also add the public key of an endpoint that signs with ed25519.

Revision: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
_TABLE = "webhook_endpoints"


def upgrade() -> None:
    """Add the columns. Endpoints that exist get the messages of Standard Webhooks, as before."""
    op.add_column(_TABLE, sa.Column("format", sa.String(9), nullable=False, server_default="standard"))
    op.add_column(_TABLE, sa.Column("site", sa.Text, nullable=False, server_default=""))
    op.add_column(_TABLE, sa.Column("credential", sa.Text, nullable=False, server_default=""))
    op.add_column(_TABLE, sa.Column("publickey", sa.Text, nullable=False, server_default=""))
