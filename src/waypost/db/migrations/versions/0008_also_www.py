"""Let a branded domain answer its host name with and without `www.`, which no other domain can have then.

Revision: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column, and the indexes over the host names without and with `www.`."""
    op.add_column("domains", sa.Column("alsowww", sa.Boolean, nullable=False, server_default=sa.false()))
    bare = "(CASE WHEN substr(host, 1, 4) <> 'www.' THEN host WHEN alsowww THEN substr(host, 5) END)"
    op.create_index("domains_bare_host_unique", "domains", [sa.text(bare)], unique=True)
    www = "(CASE WHEN substr(host, 1, 4) = 'www.' THEN host WHEN alsowww THEN 'www.' || host END)"
    op.create_index("domains_www_host_unique", "domains", [sa.text(www)], unique=True)
