"""The tables against abuse: what the operator blocks, and what visitors report."""

from sqlalchemy import Column, Index, LargeBinary, String, Table, Text

from waypost.db.schema.columns import id_column, metadata, moment, number, words

# Hosts and words that no target may have (waypost.urls.blocklist).
blocks = Table(
    "blocks",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("value", Text, primary_key=True),
    moment("created"),
    sqlite_with_rowid=False,
)

# What visitors reported: a name, and why. `reporter` is a hash of the network that it came from.
reports = Table(
    "reports",
    metadata,
    id_column(),
    words("host"),
    Column("alias", String(50), nullable=False),
    Column("reason", String(16), nullable=False),
    words("comment"),
    Column("reporter", LargeBinary, nullable=False),
    moment("created"),
    moment("closed", optional=True),
    Index("reports_name", "host", "alias"),
    Index("reports_reporter", "reporter", "created"),
    sqlite_autoincrement=True,
)

# What strangers may still try in a minute that began at the millisecond `start`. With SQLite this
# table is used in a file of its own, so that no stranger takes the lock of the other tables.
guesses = Table(
    "guesses",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    number("start"),
    number("left"),
    Index("guesses_start", "start"),
)
