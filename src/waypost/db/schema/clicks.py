"""The tables of the clicks: how far they are counted, and what is known of them.

On PostgreSQL those that grow are partitioned by time. The account is in their keys, so that
a distributed database can keep what belongs to an account together (ADR 11); it comes last, since all reads know the
thing, and a thing has one account.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, String, Table, Text

from waypost.db.schema.columns import Id, flag, id_column, metadata, moment, number, words

# What changed, for the memories of the processes (waypost.db.change_log). Purged after an hour.
changes = Table(
    "changes",
    metadata,
    id_column(),
    words("host"),
    words("alias"),
    moment("at"),
    sqlite_autoincrement=True,
)

# How far each journal segment is counted: written in the transaction that counted it.
segments = Table(
    "segments",
    metadata,
    Column("name", String(80), primary_key=True),
    number("position"),
)

# Clicks by quarter of an hour: fine enough for every time zone. `at` is its first second.
click_times = Table(
    "click_times",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("item", Id, primary_key=True),
    Column("at", BigInteger, primary_key=True),
    Column("account", Id, primary_key=True),
    number("clicks"),
    number("uniques"),
    number("bots"),
    number("previews"),
    number("others"),
    number("late"),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (at)",
)

# Clicks by day (days since 1970, UTC; -1 for all days) and label of each dimension.
click_labels = Table(
    "click_labels",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("item", Id, primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("dimension", String(10), primary_key=True),
    Column("label", Text, primary_key=True),
    Column("account", Id, primary_key=True),
    number("n"),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (day)",
)

# The distinct visitors of a day, as hashes with that day's salt; both are thrown away when the day is over. The account
# is -1 where it is not known: on the days that began before migration 0010 (waypost.clicks.ingest.ingester).
visitors = Table(
    "visitors",
    metadata,
    Column("day", Integer, primary_key=True),
    Column("account", Id, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (day)",
)
salts = Table(
    "salts",
    metadata,
    Column("day", Integer, primary_key=True),
    Column("salt", LargeBinary, nullable=False),
)

# Every visit as it was classified, without address, for as long as the operator keeps them. PostgreSQL wants the moment
# in a key of a table that is partitioned by it, so there is none there; the numbers come from a sequence all the same.
events = Table(
    "events",
    metadata,
    Column("id", Id, autoincrement=True),
    Column("account", Id, nullable=False),
    Column("kind", String(8), nullable=False),
    Column("item", Id, nullable=False),
    number("at_ms"),
    Column("sort", String(8), nullable=False),
    flag("first"),
    words("country"),
    words("referrer"),
    words("browser"),
    words("os"),
    words("device"),
    words("language"),
    words("source"),
    PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"),
    Index("events_account_id", "account", "id"),
    sqlite_autoincrement=True,
    postgresql_partition_by="RANGE (at_ms)",
)

# Work that one process does for all (waypost.db.leases): until when nobody needs to do it again.
leases = Table(
    "leases",
    metadata,
    Column("name", String(32), primary_key=True),
    moment("until"),
)
