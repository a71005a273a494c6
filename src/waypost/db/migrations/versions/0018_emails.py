"""Add the queue of outgoing e-mail.

Revision: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table("emails", *_email_columns(), sqlite_autoincrement=True)
    op.create_index("emails_due", "emails", ["due"])
    op.create_index("emails_account", "emails", ["account"])


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
