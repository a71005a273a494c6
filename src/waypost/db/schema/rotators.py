"""The tables of the rotators: what they are told of each link, and whose turn it was."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Table

from waypost.db.schema.columns import Id, metadata, number

# What a rotator is told of a link of its campaign. `given` are its clicks since there is a quota.
rotations = Table(
    "rotations",
    metadata,
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), primary_key=True),
    Column("account", Id, primary_key=True),
    number("weight", 1),
    Column("quota", BigInteger),
    number("given"),
    Index("rotations_link", "link"),
    sqlite_with_rowid=False,
)

# Where a rotator stands: the link that had its turn last, clicks in all since there is to be a winner, and the winner.
# Apart from `campaigns`, whose rows the ingester holds while it counts. Ids are never used twice, so a link that is
# gone is just never met again.
turns = Table(
    "turns",
    metadata,
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True),
    Column("account", Id, primary_key=True),
    Column("link", Id),
    number("given"),
    Column("winner", Id),
)
