"""The tables of moderation: the blocklist, abuse reports, and limits of attempts."""

from sqlalchemy import Column, Index, LargeBinary, String, Table, Text

from waypost.db.schema.columns import id_column, metadata, number, string, timestamp

# Hosts and words that no destination may contain (waypost.urls.blocklist).
blocklist_entries = Table(
    "blocklist_entries",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("value", Text, primary_key=True),
    timestamp("created"),
    sqlite_with_rowid=False,
)

# Short URLs that visitors reported, with the reason. `reporter` is a hash of the reporter's network.
reports = Table(
    "reports",
    metadata,
    id_column(),
    string("host"),
    Column("alias", String(190), nullable=False),
    Column("reason", String(16), nullable=False),
    string("comment"),
    Column("reporter", LargeBinary, nullable=False),
    timestamp("created"),
    timestamp("closed", optional=True),
    Index("reports_name", "host", "alias"),
    Index("reports_reporter", "reporter", "created"),
    sqlite_autoincrement=True,
)

# Attempts that remain to an unauthenticated client until `window_end` (milliseconds).
# On SQLite this table is in a file of its own, so that unauthenticated requests never lock the other tables.
attempt_limits = Table(
    "attempt_limits",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    number("window_end"),
    number("remaining"),
    Index("attempt_limits_window_end", "window_end"),
)
