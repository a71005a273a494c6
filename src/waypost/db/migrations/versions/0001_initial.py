"""Create all tables, their partitions, SQLite's search index over links, and the first rows.

Revision: 0001
"""

import secrets

import sqlalchemy as sa
from alembic import op

from waypost.db.migrations.initial import accounts, clicks, links, parts, resources, shared_state
from waypost.db.migrations.initial.tables import BYTES, PARTITIONED, is_postgresql

revision = "0001"
down_revision = None
# The trigrams of `links.search`: finds a literal of at least three characters without reading every link.
_SQLITE_SEARCH = (
    """CREATE VIRTUAL TABLE links_search
        USING fts5(search, content='links', content_rowid='id', tokenize='trigram case_sensitive 1')""",
    """CREATE TRIGGER links_search_added AFTER INSERT ON links BEGIN
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
    """CREATE TRIGGER links_search_removed AFTER DELETE ON links BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
    END""",
    """CREATE TRIGGER links_search_changed AFTER UPDATE OF search ON links WHEN old.search <> new.search BEGIN
        INSERT INTO links_search (links_search, rowid, search) VALUES ('delete', old.id, old.search);
        INSERT INTO links_search (rowid, search) VALUES (new.id, new.search);
    END""",
)


def upgrade() -> None:
    """Create everything."""
    for tables in (accounts, resources, links, parts, clicks, shared_state):
        tables.create()
    if is_postgresql():
        for table in PARTITIONED:
            op.execute(f"CREATE TABLE {table}_rest PARTITION OF {table} DEFAULT")
        # Totals over all days have the day -1.
        op.execute("CREATE TABLE click_labels_all PARTITION OF click_labels FOR VALUES FROM (-1) TO (0)")
    else:
        for statement in _SQLITE_SEARCH:
            op.execute(statement)
    op.execute("INSERT INTO plans (name, status, rate_limit, upload_limit) VALUES ('free', 'free', 30, 536870912)")
    op.bulk_insert(
        sa.table("installation", sa.column("name", sa.String()), sa.column("value", BYTES)),
        [{"name": "secret", "value": secrets.token_bytes(32)}],
    )
