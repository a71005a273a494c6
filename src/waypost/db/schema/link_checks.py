"""The table of what was seen where links lead."""

from sqlalchemy import Column, ForeignKey, Index, Table

from waypost.db.schema.columns import Id, flag, metadata, moment, number

# When the target of a link is looked at next, and what came of it the last time: `status` is the answer's, 0 without
# one. `failing` is since when it fails, `failures` how often in a row; both are empty when it works.
link_checks = Table(
    "looks",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("link", Id, ForeignKey("links.id", ondelete="CASCADE"), primary_key=True),
    moment("due"),
    moment("checked", optional=True),
    number("status"),
    moment("failing", optional=True),
    number("failures"),
    flag("dead"),
    Index("looks_due", "due"),
    Index("looks_link", "link"),
    Index("looks_dead_account", "dead", "account", "link"),
    sqlite_with_rowid=False,
)
