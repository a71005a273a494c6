"""The tables of people, with their logins, and of their membership in accounts, which own everything (ADR 22)."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, String, Table, Text, UniqueConstraint

from waypost.db.schema.columns import Id, flag, metadata, timestamp

ROLES = ("owner", "manager", "editor", "analyst", "viewer")
OWNER = ROLES[0]

# `person` is a number that no account has but the one that the person registered: accounts number both.
people = Table(
    "people",
    metadata,
    Column("person", Id, primary_key=True, autoincrement=False),
    Column("email", Text, nullable=False),
    Column("email_key", Text, nullable=False),
    Column("username", String(64), nullable=False),
    Column("username_key", String(64), nullable=False),
    Column("password", Text, nullable=False),
    # A suspension changes it too: one-time links are bound to it.
    Column("password_changed", BigInteger, nullable=False),
    # An administrator of the installation. The roles in accounts are independent of it.
    flag("admin"),
    flag("suspended"),
    Column("language", String(8), nullable=False, default=""),
    # The name of a time zone, "" for that of the browser.
    Column("timezone", String(64), nullable=False, default=""),
    timestamp("created"),
    UniqueConstraint("email_key"),
    UniqueConstraint("username_key"),
)

members = Table(
    "members",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("person", Id, ForeignKey("people.person", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("role", String(8), nullable=False),
    timestamp("created"),
    CheckConstraint("role IN ('owner', 'manager', 'editor', 'analyst', 'viewer')", "role"),
    Index("members_person_account", "person", "account"),
    sqlite_with_rowid=False,
)
