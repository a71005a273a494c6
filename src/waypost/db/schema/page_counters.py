"""The table of page counters."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table

from waypost.db.schema.columns import Id, metadata, number

# Rows of an account in a table by block of ids, for exact totals and constant-time pagination (ADR 2). Updated by
# crud.add and crud.remove.
page_counters = Table(
    "page_counters",
    metadata,
    Column("account", Id, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("noun", String(16), primary_key=True),
    Column("level", Integer, primary_key=True),
    Column("block", BigInteger, primary_key=True),
    number("rows"),
    sqlite_with_rowid=False,
)
