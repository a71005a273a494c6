"""The tables about links: their part in a rotator, dead-link checks, and bulk actions that can be undone."""

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, String, Table

from waypost.db.schema.columns import Id, flag, id_column, metadata, number, parent, timestamp

# The settings of a link in its campaign's rotator. `given` are its clicks since it has a quota.
rotator_links = Table(
    "rotator_links",
    metadata,
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, doc="Id of the campaign."),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), primary_key=True, doc="Id of the link."),
    Column("account", Id, primary_key=True),
    number("weight", 1, doc="Share of the visitors, relative to the other links."),
    Column("quota", BigInteger, doc="Most visitors; empty for no limit."),
    number("given", doc="Visitors so far, since there is a quota."),
    Index("rotator_links_link", "link"),
    sqlite_with_rowid=False,
)

# The last link of each rotator, the clicks since it is to find a winner, and the winner. A table of its own, because
# the ingester locks rows of `campaigns` while it counts. Ids are never reused, so a deleted link never matches.
rotator_state = Table(
    "rotator_state",
    metadata,
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True),
    Column("account", Id, primary_key=True),
    Column("last_link", Id),
    number("clicks"),
    Column("winner", Id),
)


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
