"""The tables of the audit log."""

from sqlalchemy import JSON, BigInteger, Column, Index, LargeBinary, PrimaryKeyConstraint, String, Table, Text, text

from waypost.db.schema.columns import Id, metadata, number, string, timestamp

# One row for each event (waypost.db.audit_log), written in the transaction of the change. Afterwards only `position` is
# set, once (waypost.db.audit_sequence). `account` is the one that the event is about, empty for the installation;
# `actor` is that of the session or key. Without foreign keys: rows outlive what they name. On PostgreSQL the table is
# partitioned by time, and ids come from a sequence.
audit = Table(
    "audit",
    metadata,
    Column("id", Id, autoincrement=True, doc="Id; a later event has a higher one."),
    timestamp("at", doc="Time of the event, UTC."),
    Column("account", Id, nullable=True),
    Column("name", String(40), nullable=False, doc="Name of the event, such as link.updated."),
    Column("kind", String(16), nullable=False, default="", doc="Kind of the thing; empty for the account itself."),
    Column("item", Id, doc="Id of the thing."),
    string("label", doc="Name of the thing at that time."),
    Column("origin", String(10), nullable=False, doc="api, dashboard, agent, command, import or system."),
    Column("actor", Id, doc="Account of the session or key."),
    Column("key", String(16), nullable=False, default="", doc="Beginning of the API key."),
    Column("network", String(16), nullable=False, default="", doc="Keyed hash of the client's network."),
    Column("before", JSON(none_as_null=True), doc="Values that were replaced or deleted."),
    Column("after", JSON(none_as_null=True), doc="New values."),
    Column("salt", String(32), nullable=False, server_default=""),
    Column("position", BigInteger),
    PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"),
    Index("audit_account_id", "account", "id"),
    Index("audit_account_item", "account", "kind", "item", "id"),
    Index("audit_account_at", "account", "at"),
    Index(
        "audit_without_position",
        "id",
        sqlite_where=text("position IS NULL"),
        postgresql_where=text("position IS NULL"),
    ),
    Index("audit_position", "position"),
    sqlite_autoincrement=True,
    postgresql_partition_by="RANGE (at)",
)
# The Merkle tree over all events that have a position (waypost.audit.merkle): 256 hashes of 32 bytes in each full tile.
audit_tiles = Table(
    "audit_tiles",
    metadata,
    number("level"),
    number("number"),
    Column("hashes", LargeBinary, nullable=False),
    PrimaryKeyConstraint("level", "number"),
)
# Signed sizes and root hashes of that tree.
audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    Column("size", BigInteger, primary_key=True, autoincrement=False),
    timestamp("at"),
    Column("note", Text, nullable=False),
)
# Positions of the events that were deleted with their account, the owner.
audit_tombstones = Table(
    "audit_tombstones",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    number("owner"),
)
