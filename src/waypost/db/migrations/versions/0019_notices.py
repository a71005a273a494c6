"""Add the checks of branded domains, an index of links by their expiry, and notices by e-mail.

Revision: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_EXPIRES = sa.text("expiry IS NOT NULL")


def upgrade() -> None:
    """Add the table and the index. On PostgreSQL, foreign keys contain the account (ADR 11)."""
    op.create_index("links_expiry", "links", ["expiry", "id"], sqlite_where=_EXPIRES, postgresql_where=_EXPIRES)
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    of_domain = (
        (["domain"], ["domains.id"]) if is_sqlite else (["domain", "account"], ["domains.id", "domains.account"])
    )
    op.create_table(
        "domain_checks",
        sa.Column("account", _ID, nullable=False),
        sa.Column("domain", _ID, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("failures", sa.BigInteger, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("account", "domain", name="domain_checks_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="domain_checks_account_fk", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(*of_domain, name="domain_checks_domain_fk", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
    op.create_index("domain_checks_due", "domain_checks", ["due"])
    op.create_index("domain_checks_domain", "domain_checks", ["domain"])
    _add_notices(["id"] if is_sqlite else ["id", "account"])


def _add_notices(keys: list[str]) -> None:
    op.create_table(
        "notice_items",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("item", _ID),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint(*keys, name="notice_items_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="notice_items_account_fk", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("notice_items_account_kind", "notice_items", ["account", "kind"])
    op.create_index("notice_items_created", "notice_items", ["created"])
    op.create_table(
        "account_notices",
        sa.Column("account", _ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("sent", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("account", "kind", name="account_notices_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="account_notices_account_fk", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )
