"""The installation's secret, plans, accounts, and their keys, sessions and second factors."""

from alembic import op
from sqlalchemy import String

from waypost.db.migrations.initial.tables import (
    BYTES,
    FLAG,
    ID,
    KIND,
    NUMBER,
    TEXT,
    check,
    columns,
    create_table,
    optional,
    reference,
)


def create() -> None:
    """Create the tables, in the order of their references."""
    _create_installation()
    _create_plans()
    _create_accounts()
    _create_api_keys()
    _create_sessions()
    _create_totp_secrets()
    _create_recovery_codes()
    _create_account_exports()
    _create_idempotency_keys()


def _create_installation() -> None:
    create_table("installation", columns(String(64), "name"), columns(BYTES, "value"), key=("name",))


def _create_plans() -> None:
    create_table(
        "plans",
        columns(String(64), "name"),
        columns(String(16), "status"),
        columns(NUMBER, "rate_limit", "upload_limit"),
        optional(NUMBER, "storage_limit", "item_limit"),
        check("plans_status_check", "status IN ('free', 'pro')"),
        unique=[("name",)],
        sqlite_autoincrement=False,
    )


def _create_accounts() -> None:
    create_table(
        "accounts",
        columns(TEXT, "email", "email_key"),
        columns(String(64), "username", "username_key"),
        columns(TEXT, "password"),
        columns(NUMBER, "password_changed"),
        columns(ID, "plan"),
        optional(NUMBER, "rate_limit"),
        columns(FLAG, "owner", "suspended"),
        optional(NUMBER, "expires"),
        columns(NUMBER, "registered"),
        optional(NUMBER, "deletion_due"),
        columns(String(8), "language"),
        columns(NUMBER, "stored", "revoked_start", "revoked_used"),
        reference("accounts", "plan", "plans", "RESTRICT"),
        unique=[("email_key",), ("username_key",)],
    )
    op.create_index("accounts_deletion_due", "accounts", ["deletion_due"])


def _create_api_keys() -> None:
    create_table(
        "api_keys",
        columns(ID, "account"),
        columns(TEXT, "name"),
        columns(BYTES, "digest"),
        columns(String(16), "hint"),
        columns(KIND, "scope"),
        optional(NUMBER, "expires"),
        columns(NUMBER, "created"),
        optional(NUMBER, "last_used"),
        columns(NUMBER, "window_start", "window_used"),
        check("api_keys_scope_check", "scope IN ('read', 'write', 'account')"),
        reference("api_keys", "account", "accounts", "CASCADE"),
        unique=[("digest",)],
    )
    op.create_index("api_keys_account_id", "api_keys", ["account", "id"])


def _create_sessions() -> None:
    create_table(
        "sessions",
        columns(ID, "account"),
        columns(BYTES, "digest"),
        columns(TEXT, "agent"),
        columns(NUMBER, "created", "seen"),
        reference("sessions", "account", "accounts", "CASCADE"),
        unique=[("digest",)],
    )
    op.create_index("sessions_account_id", "sessions", ["account", "id"])
    op.create_index("sessions_seen", "sessions", ["seen"])


def _create_totp_secrets() -> None:
    create_table(
        "totp_secrets",
        columns(ID, "account"),
        columns(String(64), "secret"),
        columns(NUMBER, "last_step", "created", "failures", "day_failures", "day_end", "blocked_until"),
        reference("totp_secrets", "account", "accounts", "CASCADE"),
        key=("account",),
    )


def _create_recovery_codes() -> None:
    create_table(
        "recovery_codes",
        columns(ID, "account"),
        columns(BYTES, "digest"),
        reference("recovery_codes", "account", "accounts", "CASCADE"),
        key=("account", "digest"),
    )


def _create_account_exports() -> None:
    create_table(
        "account_exports",
        columns(ID, "account"),
        columns(NUMBER, "running_until"),
        optional(NUMBER, "finished"),
        reference("account_exports", "account", "accounts", "CASCADE"),
        key=("account",),
    )


def _create_idempotency_keys() -> None:
    create_table(
        "idempotency_keys",
        columns(ID, "account"),
        columns(String(255), "key"),
        columns(BYTES, "request", "claim"),
        columns(NUMBER, "until"),
        optional(NUMBER, "status"),
        optional(BYTES, "body"),
        reference("idempotency_keys", "account", "accounts", "CASCADE"),
        key=("account", "key"),
    )
    op.create_index("idempotency_keys_until", "idempotency_keys", ["until"])
