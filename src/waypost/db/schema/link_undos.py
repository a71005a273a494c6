"""The table of bulk actions that can be undone."""

from sqlalchemy import JSON, Column, Index, String, Table

from waypost.db.schema.columns import id_column, metadata, parent, timestamp

# The values that bulk actions of the dashboard replaced (waypost.items.links.bulk_undo), for a day.
link_undos = Table(
    "link_undos",
    metadata,
    id_column(),
    parent("account", "accounts", "CASCADE"),
    Column("batch", String(32), nullable=False),
    timestamp("created"),
    Column("content", JSON, nullable=False),
    Index("link_undos_account_batch", "account", "batch"),
    Index("link_undos_created", "created"),
    sqlite_autoincrement=True,
)
