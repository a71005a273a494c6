"""The tables of clicks: progress of the ingester, roll-ups, and single visits.

On PostgreSQL the tables that grow are partitioned by time. Their keys contain the account, so that a distributed
database can store an account's rows together (ADR 11). It comes last because every query names the item, and an item
has one account.
"""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, String, Table, Text

from waypost.db.schema.columns import Id, flag, id_column, metadata, number, string, timestamp

# Names whose response changed, for cache invalidation (waypost.db.change_log). Purged after an hour.
changes = Table(
    "changes",
    metadata,
    id_column(),
    string("host"),
    string("alias"),
    timestamp("at"),
    sqlite_autoincrement=True,
)

# The counted bytes of each journal segment, written in the transaction that counted them.
segments = Table(
    "segments",
    metadata,
    Column("name", String(80), primary_key=True),
    number("position"),
)

# Items that an administrator moved to another account: lines of the journal can still name an earlier one. Hashes of
# visitors stay under the first one, `visitors_of`. Each move has a higher `revision`.
moved_items = Table(
    "moved_items",
    metadata,
    Column("kind", String(8), primary_key=True),
    Column("item", Id, primary_key=True),
    Column("owner", Id, nullable=False),
    Column("visitors_of", Id, nullable=False),
    number("revision"),
    Index("moved_items_revision", "revision"),
    Index("moved_items_visitors_of", "visitors_of"),
    sqlite_with_rowid=False,
)

# Clicks per quarter of an hour, the greatest common unit of all time zones. `at` is its first second.
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

# Clicks per day (days since 1970, UTC; -1 for all days) and label of each dimension.
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

# The distinct visitors of a day, as hashes with that day's salt. Both are deleted after the day.
visitors = Table(
    "visitors",
    metadata,
    Column("day", Integer, primary_key=True),
    Column("account", Id, primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (day)",
)
visitor_salts = Table(
    "visitor_salts",
    metadata,
    Column("day", Integer, primary_key=True),
    Column("salt", LargeBinary, nullable=False),
)

# Every visit as classified, without its IP address, for the retention time of the settings. On PostgreSQL the table has
# no primary key, because it would have to contain the partitioning column; ids come from a sequence there too.
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
    string("country"),
    string("referrer"),
    string("browser"),
    string("os"),
    string("device"),
    string("language"),
    string("source"),
    PrimaryKeyConstraint("id").ddl_if(dialect="sqlite"),
    Index("events_account_id", "account", "id"),
    sqlite_autoincrement=True,
    postgresql_partition_by="RANGE (at_ms)",
)

# Copies of the visits from `first_id` to `last_id` in columns, for filters (waypost.clicks.blocks).
visit_blocks = Table(
    "visit_blocks",
    metadata,
    Column("account", Id, primary_key=True),
    Column("last_id", BigInteger, primary_key=True),
    number("first_id"),
    number("first_ms"),
    number("last_ms"),
    number("visits"),
    Column("layout", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# Work that one process does for all others (waypost.db.leases), and until when.
leases = Table(
    "leases",
    metadata,
    Column("name", String(32), primary_key=True),
    timestamp("until"),
)
