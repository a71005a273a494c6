"""Let a share link show the statistics of a whole account: it has no item then, and ends with the account.

Revision: 0012
"""

from alembic import op

revision = "0012"
down_revision = "0011"
_CHECK = (
    "(CASE WHEN link IS NULL THEN 0 ELSE 1 END + CASE WHEN qr IS NULL THEN 0 ELSE 1 END"
    " + CASE WHEN bio IS NULL THEN 0 ELSE 1 END + CASE WHEN campaign IS NULL THEN 0 ELSE 1 END) <= 1"
)
_TABLE = f"""
CREATE TABLE shares (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account INTEGER NOT NULL,
    link INTEGER,
    qr INTEGER,
    bio INTEGER,
    campaign INTEGER,
    title TEXT NOT NULL,
    slug VARCHAR(50) NOT NULL,
    token TEXT NOT NULL,
    password TEXT,
    firstday TEXT NOT NULL,
    lastday TEXT NOT NULL,
    days BIGINT,
    timezone TEXT NOT NULL,
    expiry BIGINT,
    created BIGINT NOT NULL,
    CONSTRAINT shares_one_item_check CHECK ({_CHECK}),
    CONSTRAINT shares_account_fk FOREIGN KEY(account) REFERENCES accounts (id) ON DELETE CASCADE,
    CONSTRAINT shares_bio_fk FOREIGN KEY(bio) REFERENCES bios (id) ON DELETE CASCADE,
    CONSTRAINT shares_campaign_fk FOREIGN KEY(campaign) REFERENCES campaigns (id) ON DELETE CASCADE,
    CONSTRAINT shares_link_fk FOREIGN KEY(link) REFERENCES links (id) ON DELETE CASCADE,
    CONSTRAINT shares_qr_fk FOREIGN KEY(qr) REFERENCES qrs (id) ON DELETE CASCADE,
    CONSTRAINT shares_token_unique UNIQUE (token)
)
"""


def upgrade() -> None:
    """Change the check, and add the foreign key. SQLite needs a new table for both."""
    if op.get_bind().dialect.name == "sqlite":
        _replace_table()
        return
    op.execute("ALTER TABLE shares DROP CONSTRAINT shares_one_item_check")
    op.execute(f"ALTER TABLE shares ADD CONSTRAINT shares_one_item_check CHECK ({_CHECK})")
    key = "FOREIGN KEY (account) REFERENCES accounts (id) ON DELETE CASCADE"
    op.execute(f"ALTER TABLE shares ADD CONSTRAINT shares_account_fk {key}")


def _replace_table() -> None:
    """Copy the rows. The new table continues the ids of the old one, because public addresses contain them."""
    op.execute("ALTER TABLE shares RENAME TO old_shares")
    op.execute(_TABLE)
    op.execute("INSERT INTO shares SELECT * FROM old_shares")
    op.execute("DELETE FROM sqlite_sequence WHERE name = 'shares'")
    op.execute("UPDATE sqlite_sequence SET name = 'shares' WHERE name = 'old_shares'")
    op.execute("DROP TABLE old_shares")
    op.create_index("shares_account_id", "shares", ["account", "id"])
    for item in ("link", "qr", "bio", "campaign"):
        op.create_index(f"shares_{item}", "shares", [item])
