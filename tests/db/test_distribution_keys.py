"""Keys for a distributed PostgreSQL (ADR 11): every key contains the account or the host."""

from sqlalchemy import Connection, text

from tests.support.databases import ON_POSTGRESQL
from waypost.db.database import Database
from waypost.db.distribution import ITEMS

# Tables whose keys contain neither, and why they are never distributed.
NOT_DISTRIBUTED = {
    "accounts": "identifies the account; e-mail addresses and user names are unique over all accounts",
    "alembic_version": "belongs to the installation",
    "attempt_limits": "unauthenticated clients; kept for a day",
    "audit_checkpoints": "signed sizes of the log of all accounts",
    "audit_tiles": "hashes of the log of all accounts",
    "audit_tombstones": "positions in the log of all accounts",
    "blocklist_entries": "apply to all accounts",
    "emails": "e-mails that wait, also to people without an account",
    "changes": "the log that every process reads; kept for a day",
    "installation": "belongs to the installation",
    "leases": "work that one process does for all",
    "moved_items": "items of any account, which every ingester reads",
    "people": "sign in before the account is known; e-mail addresses and user names are unique over all",
    "orphan_objects": "stored objects without an account",
    "plans": "belong to the installation",
    "reports": "abuse reports about any alias, also of no account",
    "segments": "journals of the nodes",
    "visitor_salts": "one per day",
}
_UNIQUE_INDEXES = """
    SELECT t.relname, i.relname, array_agg(a.attname::text)
    FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey::int2[])
    WHERE t.relnamespace = 'public'::regnamespace AND x.indisunique GROUP BY 1, 2"""
_FOREIGN_KEYS = """
    SELECT t.relname, p.relname, c.conname, c.confdeltype, array_agg(a.attname::text)
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class p ON p.oid = c.confrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (c.conkey)
    WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace GROUP BY 1, 2, 3, 4"""
_KEYED_BY_HOST = {"aliases"}


@ON_POSTGRESQL
def test_unique_indexes_contain_account_or_host(database: Database) -> None:
    indexes = database.read(lambda tx: tx.execute(text(_UNIQUE_INDEXES)).all())
    without_account = {(table, index) for table, index, columns in indexes if not {"account", "host"} & set(columns)}
    assert {index for table, index in without_account if table not in NOT_DISTRIBUTED} == set()
    assert NOT_DISTRIBUTED.keys() == {table for table, _ in without_account}  # the list has no extra tables


@ON_POSTGRESQL
def test_all_distributed_tables_but_events_have_primary_key(database: Database) -> None:
    """Moving a shard during writes needs a primary key. The audit log stays on the coordinator."""
    without = """SELECT relname FROM pg_class t WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = t.oid AND indisprimary)"""
    assert database.read(lambda tx: set(tx.execute(text(without)).scalars())) == {"audit", "events"}


@ON_POSTGRESQL
def test_foreign_keys_stay_within_account(database: Database) -> None:
    """References stay within the account or point to a table that is on every shard.

    Those to people are of tables that stay next to them.

    No foreign key sets the account to null, which Citus rejects.
    """

    def work(tx: Connection) -> None:
        foreign_keys = tx.execute(text(_FOREIGN_KEYS)).all()
        assert len(foreign_keys) > 30
        for table, parent, name, on_delete, columns in foreign_keys:
            is_local = parent == "people" and table not in ITEMS
            assert parent in ("accounts", "plans") or "account" in columns or is_local, name
            assert on_delete != "n" or table in _KEYED_BY_HOST, name

    database.read(work)
