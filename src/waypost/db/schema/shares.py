"""The table of shares: pages with the statistics of an item or a whole account, for visitors."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, String, Text

from waypost.db.schema.columns import Id, owned, string, timestamp

# One of link, qr, bio and campaign has an id; without one, the whole account is shared. With a `slug` the address is
# public and ends with the id of the share; otherwise it is `token`. `password` is a hash, `firstday` and `lastday` are
# in `timezone`, "" for none; `days` are the last ones until today.
shares = owned(
    "shares",
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), doc="Id of the link."),
    Column("qr", Id, ForeignKey("qrs.id", ondelete="CASCADE"), doc="Id of the QR code."),
    Column("bio", Id, ForeignKey("bios.id", ondelete="CASCADE"), doc="Id of the bio page."),
    Column("campaign", Id, ForeignKey("campaigns.id", ondelete="CASCADE"), doc="Id of the campaign."),
    string("title", doc="Heading of the page."),
    Column("slug", String(50), nullable=False, default="", doc="Part of a public address; empty for a secret one."),
    Column("token", Text, nullable=False, unique=True),
    Column("password", Text),
    string("firstday", doc="First day that is shown; empty for all."),
    string("lastday", doc="Last day that is shown; empty for all."),
    Column("days", BigInteger, doc="Days until today that are shown; empty for all."),
    string("timezone", "UTC", doc="Time zone of the days."),
    timestamp("expiry", optional=True, doc="Last second in which the page works, UTC; empty for none."),
    CheckConstraint(
        "(CASE WHEN link IS NULL THEN 0 ELSE 1 END + CASE WHEN qr IS NULL THEN 0 ELSE 1 END"
        " + CASE WHEN bio IS NULL THEN 0 ELSE 1 END + CASE WHEN campaign IS NULL THEN 0 ELSE 1 END) <= 1",
        "one_item",
    ),
    Index("shares_link", "link"),
    Index("shares_qr", "qr"),
    Index("shares_bio", "bio"),
    Index("shares_campaign", "campaign"),
)
