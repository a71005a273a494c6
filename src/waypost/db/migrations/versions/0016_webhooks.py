"""Add the tables of webhooks. On PostgreSQL, their keys contain the account (ADR 11).

Revision: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the tables."""
    _add("webhook_endpoints", "account", "accounts", *_endpoint_columns())
    op.create_index("webhook_endpoints_account_id", "webhook_endpoints", ["account", "id"])
    _add("webhook_messages", "endpoint", "webhook_endpoints", *_message_columns())
    op.create_index("webhook_messages_endpoint_id", "webhook_messages", ["endpoint", "id"])
    op.create_index("webhook_messages_created", "webhook_messages", ["created"])
    is_waiting = sa.text("state = 'waiting'")
    op.create_index(
        "webhook_messages_due",
        "webhook_messages",
        ["due", "endpoint"],
        sqlite_where=is_waiting,
        postgresql_where=is_waiting,
    )
    _add("webhook_attempts", "message", "webhook_messages", *_attempt_columns())
    op.create_index("webhook_attempts_message_id", "webhook_attempts", ["message", "id"])


def _add(name: str, parent: str, parents: str, *columns: sa.schema.SchemaItem) -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    keys = [parent] if is_sqlite or parent == "account" else [parent, "account"]
    op.create_table(
        name,
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("account", _ID, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint(*(("id",) if is_sqlite else ("id", "account")), name=f"{name}_pk"),
        sa.ForeignKeyConstraint(
            keys,
            [f"{parents}.{'account' if key == 'account' and parent != 'account' else 'id'}" for key in keys],
            name=f"{name}_{parent}_fk",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )


def _endpoint_columns() -> tuple[sa.schema.SchemaItem, ...]:
    return (
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.JSON, nullable=False),
        sa.Column("campaign", _ID),
        sa.Column("channel", _ID),
        sa.Column("link", _ID),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("oldsecret", sa.Text),
        sa.Column("oldsecretend", sa.BigInteger),
        sa.Column("enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("disabledreason", sa.String(8), nullable=False),
        sa.Column("failing", sa.BigInteger),
        sa.Column("warned", sa.BigInteger),
        sa.Column("created", sa.BigInteger, nullable=False),
    )


def _message_columns() -> tuple[sa.schema.SchemaItem, ...]:
    return (
        sa.Column("endpoint", _ID, nullable=False),
        sa.Column("uid", sa.String(40), nullable=False),
        sa.Column("event", sa.String(40), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(9), nullable=False),
        sa.Column("attempts", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )


def _attempt_columns() -> tuple[sa.schema.SchemaItem, ...]:
    return (
        sa.Column("message", _ID, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.BigInteger, nullable=False),
        sa.Column("milliseconds", sa.BigInteger),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
    )
