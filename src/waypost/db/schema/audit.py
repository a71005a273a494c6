"""The table of the audit log."""

from sqlalchemy import JSON, Column, Index, PrimaryKeyConstraint, String, Table

from waypost.db.schema.columns import Id, metadata, string, timestamp

# One row for each event (waypost.db.audit_log), written in the transaction of the change and never changed. `account`
# is the one that the event is about, empty for the installation; `actor` is that of the session or key. Without foreign
# keys: rows outlive what they name. On PostgreSQL the table is partitioned by time, and ids come from a sequence.
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
    PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"),
    Index("audit_account_id", "account", "id"),
    Index("audit_account_item", "account", "kind", "item", "id"),
    sqlite_autoincrement=True,
    postgresql_partition_by="RANGE (at)",
)
