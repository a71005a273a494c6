"""The tables of the accounts, and what the installation keeps for itself."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from waypost.db.schema.columns import Id, flag, id_column, metadata, moment, number, parent

plans = Table(
    "plans",
    metadata,
    id_column(),
    Column("name", String(64), nullable=False, unique=True),
    Column("status", String(16), nullable=False),
    number("rate_limit", 30),
    number("upload_limit", 512 * 1024 * 1024),
    Column("storage_limit", BigInteger),
    CheckConstraint("status IN ('free', 'pro')", "status"),
)

accounts = Table(
    "accounts",
    metadata,
    id_column(),
    Column("email", Text, nullable=False),
    Column("email_key", Text, nullable=False),
    Column("username", String(64), nullable=False),
    Column("username_key", String(64), nullable=False),
    Column("password", Text, nullable=False),
    Column("password_changed", BigInteger, nullable=False),
    Column("plan", Id, ForeignKey("plans.id", ondelete="RESTRICT"), nullable=False),
    Column("rate_limit", BigInteger),
    flag("owner"),
    flag("suspended"),
    moment("expires", optional=True),
    moment("registered"),
    number("stored"),
    UniqueConstraint("email_key"),
    UniqueConstraint("username_key"),
    sqlite_autoincrement=True,
)

api_keys = Table(
    "api_keys",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("hint", String(16), nullable=False),
    Column("scope", String(8), nullable=False),
    moment("expires", optional=True),
    moment("created"),
    moment("last_used", optional=True),
    number("window_start"),
    number("window_used"),
    CheckConstraint("scope IN ('read', 'write')", "scope"),
    Index("api_keys_account_id", "account", "id"),
    sqlite_autoincrement=True,
)

# Who is signed in to the dashboard, and with what kind of browser. Only a hash of what the browser's cookie says.
sessions = Table(
    "sessions",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("agent", Text, nullable=False),
    moment("created"),
    moment("seen"),
    Index("sessions_account_id", "account", "id"),
    Index("sessions_seen", "seen"),
    sqlite_autoincrement=True,
)

# The authenticator app of an account (RFC 6238). `used` is the last step of time of which a code was taken.
factors = Table(
    "factors",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("secret", String(64), nullable=False),
    number("used"),
    moment("created"),
)

# What opens an account once instead of the app. Struck out by deletion.
recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

# What this installation keeps for itself, such as the secret behind its domain check.
installation = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
