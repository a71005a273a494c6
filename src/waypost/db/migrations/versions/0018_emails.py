"""Add the queue of outgoing e-mail, and reports by e-mail. On PostgreSQL, their key contains the account (ADR 11).

Revision: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables."""
    op.create_table("emails", *_email_columns(), sqlite_autoincrement=True)
    op.create_index("emails_due", "emails", ["due"])
    op.create_index("emails_expires", "emails", ["expires"])
    op.create_index("emails_account", "emails", ["account"])
    keys = ("id",) if op.get_bind().dialect.name == "sqlite" else ("id", "account")
    op.create_table(
        "email_reports",
        *_report_columns(),
        sa.PrimaryKeyConstraint(*keys, name="email_reports_pk"),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="email_reports_account_fk", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("email_reports_account_id", "email_reports", ["account", "id"])
    for name, column, state in (("due", "due", "IS NOT NULL"), ("unconfirmed", "created", "IS NULL")):
        where = sa.text(f"confirmed {state} AND unsubscribed IS NULL")
        op.create_index(f"email_reports_{name}", "email_reports", [column], sqlite_where=where, postgresql_where=where)


def _email_columns() -> tuple[sa.schema.SchemaItem, ...]:
    texts = ("subject", "text", "html", "service", "logo", "unsubscribe")
    return (
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID),
        sa.Column("recipient", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in texts),
        sa.Column("uid", sa.String(255), nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="emails_pk"),
    )


def _report_columns() -> tuple[sa.schema.SchemaItem, ...]:
    return (
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID, nullable=False),
        sa.Column("link", _ID),
        sa.Column("campaign", _ID),
        sa.Column("every", sa.String(5), nullable=False),
        sa.Column("email", sa.Text, nullable=False),
        sa.Column("email_key", sa.Text, nullable=False),
        sa.Column("language", sa.String(5), nullable=False),
        sa.Column("timezone", sa.Text, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("confirmed", sa.BigInteger),
        sa.Column("unsubscribed", sa.BigInteger),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
