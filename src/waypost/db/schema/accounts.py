"""The tables of accounts, and of the installation's own values.

An account has credentials, counters of its rows, saved settings, and a trash of items that can be restored.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from waypost.db.schema.columns import Id, flag, id_column, metadata, name_key, number, owned, parent, string, timestamp

UNLIMITED = 2**53 - 1
"""A limit that is none: the largest integer that every JSON client represents exactly."""
plans = Table(
    "plans",
    metadata,
    id_column(),
    Column("name", String(64), nullable=False, unique=True),
    name_key(),
    Column("status", String(16), nullable=False),
    number("rate_limit", 30),
    number("upload_limit", 512 * 1024 * 1024),
    Column("storage_limit", BigInteger),
    Column("item_limit", BigInteger),
    CheckConstraint("status IN ('free', 'pro')", "status"),
    Index("plans_name_key_unique", "name_key", unique=True),
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
    # A suspension changes it too: one-time links are bound to it.
    Column("password_changed", BigInteger, nullable=False),
    Column("plan", Id, ForeignKey("plans.id", ondelete="RESTRICT"), nullable=False),
    Column("rate_limit", BigInteger),
    flag("owner"),
    flag("suspended"),
    timestamp("expires", optional=True),
    timestamp("registered"),
    timestamp("deletion_due", optional=True),
    Column("language", String(8), nullable=False, default=""),
    # The name of a time zone, "" for that of the browser.
    Column("timezone", String(64), nullable=False, default="", server_default=""),
    # The name on the pages of files, "" for none.
    Column("sender", String(64), nullable=False, default="", server_default=""),
    number("stored"),
    number("revoked_start"),
    number("revoked_used"),
    UniqueConstraint("email_key"),
    UniqueConstraint("username_key"),
    Index("accounts_deletion_due", "deletion_due"),
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
    timestamp("expires", optional=True),
    timestamp("created"),
    timestamp("last_used", optional=True),
    number("window_start"),
    number("window_used"),
    CheckConstraint("scope IN ('read', 'write', 'account')", "scope"),
    Index("api_keys_account_id", "account", "id"),
    sqlite_autoincrement=True,
)

# Logins to the dashboard. `digest` is a hash of the session cookie, `agent` the browser's name. Nodes of the older
# version write no `person`: it is then the one with the number of the account.
sessions = Table(
    "sessions",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("agent", Text, nullable=False),
    timestamp("created"),
    timestamp("seen"),
    Column("person", Id, ForeignKey("people.person", ondelete="CASCADE")),
    Index("sessions_account_id", "account", "id"),
    Index("sessions_person_id", "person", "id"),
    Index("sessions_seen", "seen"),
    sqlite_autoincrement=True,
)

# The authenticator app of an account (RFC 6238). `last_step` is the time step of the last accepted code.
# Wrong codes: `failures` in a row, `day_failures` until `day_end`; no code is checked before `blocked_until` (seconds).
totp_secrets = Table(
    "totp_secrets",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("secret", String(64), nullable=False),
    number("last_step"),
    timestamp("created"),
    number("failures"),
    number("day_failures"),
    number("day_end"),
    number("blocked_until"),
)

# One-time codes that replace the authenticator app; deleted when used.
recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
)

# Exports of accounts: until when the running one keeps others out (seconds, 0 for none), and the end of the last one.
account_exports = Table(
    "account_exports",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    number("running_until"),
    timestamp("finished", optional=True),
)

# Responses to requests with an Idempotency-Key (waypost.api.idempotency). `request` is a digest of the request. Until
# it has a response, `claim` identifies the request that runs; `until` is the end of the claim, then of the response.
idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("key", String(255), primary_key=True),
    Column("request", LargeBinary, nullable=False),
    Column("claim", LargeBinary, nullable=False),
    timestamp("until"),
    Column("status", BigInteger),
    Column("body", LargeBinary),
    Index("idempotency_keys_until", "until"),
)

WRITE_PROBE = "write probe"
"""The name of the row of `installation` that health checks write."""
# Values of this installation, such as its secret.
installation = Table(
    "installation",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)


# Rows of an account in a table by block of ids, for exact totals and constant-time pagination (ADR 2). Updated by
# crud.add and crud.remove.
page_counters = Table(
    "page_counters",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("noun", String(16), primary_key=True),
    Column("level", Integer, primary_key=True),
    Column("block", BigInteger, primary_key=True),
    number("rows"),
    sqlite_with_rowid=False,
)


# Settings that an account saved under a name: views of the list of links, and styles of QR codes
# (waypost.dashboard.presets).
presets = Table(
    "presets",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("kind", String(8), nullable=False, doc="links for a view of the list of links, qr for a style of QR codes."),
    Column("name", Text, nullable=False, doc="Name."),
    name_key(),
    Column("settings", JSON, nullable=False, doc="Settings, as JSON."),
    Index("presets_account_kind_name_key_unique", "account", "kind", "name_key", unique=True),
    sqlite_autoincrement=True,
)


# A deleted item. Its rows are no longer in their tables: `content` has them (waypost.trash.snapshots). `batch` is that
# of the items that were deleted by one action. The alias is a tombstone whose `item` is the id of this row.
trash = owned(
    "trash",
    Column("batch", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("item", Id, nullable=False),
    string("name"),
    string("host"),
    Column("alias", String(190)),
    Column("content", JSON, nullable=False),
    Index("trash_account_batch", "account", "batch"),
    Index("trash_account_item", "account", "kind", "item"),
)


Index("trash_created", trash.c.created)
