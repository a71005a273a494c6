"""Servers that speak the protocol of PostgreSQL on which waypost would not be exact: other engines and encodings."""

from typing import NamedTuple

from sqlalchemy import Connection, text


class Refusal(NamedTuple):
    """Why a server cannot be used, and the repair."""

    reason: str
    repair: str


_COCKROACH = Refusal(
    "The database is CockroachDB. It has no LISTEN, and its advisory locks lock nothing.",
    "Use PostgreSQL, or Citus for more than one database server.",
)
_YUGABYTE = Refusal(
    "The database is YugabyteDB without notifications.",
    "Set ysql_yb_enable_listen_notify=true for all its yb-master and yb-tserver processes (version 2025.2.3 or newer).",
)


def find_refusal(tx: Connection) -> Refusal | None:
    """Return why waypost cannot use the server; None for PostgreSQL, SQLite, and engines that have what it needs."""
    if tx.dialect.name != "postgresql":
        return None
    encoding = tx.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        reason = f"The database has the encoding {encoding}, which cannot store every text."
        repair = "Create one with ENCODING 'UTF8' TEMPLATE template0; pg_dump and pg_restore move data into it."
        return Refusal(reason, repair)
    version = str(tx.execute(text("SELECT version()")).scalar_one())
    if "CockroachDB" in version:
        return _COCKROACH
    notifies = text("SELECT current_setting('yb_enable_listen_notify', true)")
    return _YUGABYTE if "-YB-" in version and tx.execute(notifies).scalar() != "on" else None
