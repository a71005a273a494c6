"""The table of dead-link checks."""

from sqlalchemy import Column, ForeignKey, Index, Table

from waypost.db.schema.columns import Id, flag, metadata, number, timestamp

# The last and the next check of each link's destination. `status` is that of the HTTP response, 0 without one.
# `failing_since` and `failures` describe the current row of failures; both are empty while the destination works.
link_checks = Table(
    "link_checks",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), primary_key=True),
    timestamp("due"),
    timestamp("checked", optional=True),
    number("status"),
    timestamp("failing_since", optional=True),
    number("failures"),
    flag("dead"),
    Index("link_checks_due", "due"),
    Index("link_checks_link", "link"),
    Index("link_checks_dead_account", "dead", "account", "link"),
    sqlite_with_rowid=False,
)
