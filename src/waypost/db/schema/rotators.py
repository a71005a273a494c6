"""The tables of rotators: weight and quota of each link, and the rotator's state."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from waypost.db.schema.columns import Id, metadata, number

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
