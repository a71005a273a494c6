"""What a distributed PostgreSQL needs (ADR 11): every key says whose a row is, or under which host."""

import pytest
from sqlalchemy import Connection, text

from waypost.db.database import Database

# Tables whose keys say neither, and why none of them is ever cut into shards.
NOBODYS = {
    "accounts": "an account is itself; addresses and names are unique over all of them",
    "alembic_version": "of the installation",
    "blocks": "what the operator blocks, for everybody",
    "changes": "the log that every process follows, kept for an hour",
    "facts": "of the installation",
    "guesses": "of strangers, kept for a minute",
    "leases": "work that one process does for all",
    "leftovers": "objects in the store that are nobody's yet, or no longer",
    "plans": "of the installation",
    "reports": "what visitors report to the operator, about a name that may be nobody's",
    "salts": "one a day",
    "segments": "the journals of the machines",
}
_UNIQUE = """
    SELECT t.relname, i.relname, array_agg(a.attname::text)
    FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (x.indkey::int2[])
    WHERE t.relnamespace = 'public'::regnamespace AND x.indisunique GROUP BY 1, 2"""
_FOREIGN = """
    SELECT t.relname, p.relname, c.conname, c.confdeltype, array_agg(a.attname::text)
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class p ON p.oid = c.confrelid
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (c.conkey)
    WHERE c.contype = 'f' AND t.relnamespace = 'public'::regnamespace GROUP BY 1, 2, 3, 4"""
_BY_HOST = {"aliases"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_every_unique_index_has_the_account_or_the_host(database: Database) -> None:
    found = database.read(lambda tx: tx.execute(text(_UNIQUE)).all())
    loose = {(table, index) for table, index, columns in found if not {"account", "host"} & set(columns)}
    assert {index for table, index in loose if table not in NOBODYS} == set()
    assert NOBODYS.keys() == {table for table, _ in loose}  # nobody is on the list for nothing


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_every_row_with_a_key_of_its_own_has_a_primary_key(database: Database) -> None:
    """A shard that is moved while it is written to needs one; only single visits have none."""
    without = """SELECT relname FROM pg_class t WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        AND NOT relispartition AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = t.oid AND indisprimary)"""
    assert database.read(lambda tx: set(tx.execute(text(without)).scalars())) == {"events"}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_nothing_refers_to_what_is_on_another_shard(database: Database) -> None:
    """A reference stays with its account, or goes to a table that every shard has; and nothing has to be set to null
    together with the account, which Citus refuses."""

    def work(tx: Connection) -> None:
        found = tx.execute(text(_FOREIGN)).all()
        assert len(found) > 30
        for table, parent, name, on_delete, columns in found:
            assert parent in ("accounts", "plans") or "account" in columns, name
            assert on_delete != "n" or table in _BY_HOST, name

    database.read(work)
