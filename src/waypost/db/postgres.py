"""PostgreSQL only: names and session settings. Functions do nothing on SQLite."""

from sqlalchemy import Connection, text

CHANNEL = "waypost_changes"
"""The NOTIFY channel for entries of the change log."""
IDLE_IN_TRANSACTION = "25P03"
"""SQLSTATE of a transaction that the server ended because the client sent nothing for too long."""


def disable_timeouts(tx: Connection) -> None:
    """Lift the statement, lock and idle timeouts for this transaction."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("SET LOCAL lock_timeout = 0"))
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))


def set_idle_timeout(tx: Connection, seconds: int) -> None:
    """Allow this transaction to be idle for that many seconds."""
    if tx.dialect.name == "postgresql":
        tx.execute(text(f"SET LOCAL idle_in_transaction_session_timeout = '{seconds:d}s'"))


def partition_names(tx: Connection) -> list[str]:
    """The names of all partitions, sorted; empty on SQLite."""
    if tx.dialect.name != "postgresql":
        return []
    query = "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND pg_table_is_visible(oid)"
    return list(tx.execute(text(f"{query} ORDER BY relname")).scalars())
