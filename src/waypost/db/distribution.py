"""Distribute the tables that grow with every click over the nodes of a Citus cluster (docs/scaling.md, ADR 11).

All other tables stay on the coordinator, which has the only address that waypost uses.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, text

from waypost.core.errors import Kind, Problem
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts

COLUMN = "account"
"""The column whose value decides on which node a row is stored."""
TABLES = ("events", "visitors", "click_times", "click_labels", "visit_blocks")
"""The distributed tables: about 95 % of the bytes. No foreign key begins or ends at them."""
_SIZES = text(
    "SELECT part.relid::regclass::text, pg_total_relation_size(part.relid), class.reltuples::bigint"
    " FROM pg_partition_tree(CAST(:name AS regclass)) AS part JOIN pg_class AS class ON class.oid = part.relid"
    " WHERE part.isleaf"
)
_CITUS_SIZE = text("SELECT citus_total_relation_size(CAST(:part AS regclass))")
_DISTRIBUTED = text("SELECT logicalrelid::text FROM pg_dist_partition WHERE partmethod = 'h'")


@dataclass(frozen=True)
class TableState:
    """A table that can be distributed: its size with indexes, and how many rows PostgreSQL estimates."""

    name: str
    bytes: int
    rows: int
    is_distributed: bool


def count_nodes(tx: Connection) -> int | None:
    """Return how many nodes store rows of distributed tables; None if the database is no Citus cluster."""
    if tx.dialect.name != "postgresql":
        return None
    if not tx.execute(text("SELECT to_regprocedure('citus_version()') IS NOT NULL")).scalar_one():
        return None
    nodes = tx.execute(text("SELECT count(*) FROM pg_dist_node WHERE shouldhaveshards AND isactive")).scalar_one()
    return int(nodes)


def require_nodes(tx: Connection) -> int:
    """Return how many nodes there are. Raises UNAVAILABLE if tables cannot be distributed, with reason and repair."""
    if tx.dialect.name != "postgresql":
        raise _refused("SQLite has no nodes. Move to PostgreSQL with waypost migrate-database first.")
    nodes = count_nodes(tx)
    if nodes is None:
        raise _refused("The database lacks the extension of Citus. Run as its administrator: CREATE EXTENSION citus;")
    if not tx.execute(text("SELECT citus_is_coordinator()")).scalar():
        raise _refused("This server is a worker of the cluster. Set WAYPOST_DATABASE_URL to its coordinator.")
    if not nodes:
        raise _refused("The cluster has no worker. Run as its administrator: SELECT citus_add_node('host', 5432);")
    is_owner = text("SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'events'::regclass")
    if not tx.execute(is_owner).scalar():
        raise _refused("The role of WAYPOST_DATABASE_URL does not own the tables. Make it the owner of the database.")
    return nodes


def _refused(message: str) -> Problem:
    return Problem(Kind.UNAVAILABLE, message)


def states(tx: Connection) -> list[TableState]:
    """Return the state of each table. The database is a Citus cluster."""
    distributed = set(tx.execute(_DISTRIBUTED).scalars())
    return [_state(tx, name, is_distributed=name in distributed) for name in TABLES]


def _state(tx: Connection, name: str, *, is_distributed: bool) -> TableState:
    parts = tx.execute(_SIZES, {"name": name}).all()
    size = sum(part[1] for part in parts)
    if is_distributed:  # then the coordinator has empty tables
        size = sum(tx.execute(_CITUS_SIZE, {"part": part[0]}).scalar_one() for part in parts)
    return TableState(name, int(size), sum(max(0, part[2]) for part in parts), is_distributed)


def left_over(tx: Connection) -> list[str]:
    """Return the tables that an interrupted `distribute` or `undo` left on the coordinator; none if all are there."""
    distributed = set(tx.execute(_DISTRIBUTED).scalars()) if count_nodes(tx) is not None else set()
    left = [name for name in TABLES if name not in distributed]
    return left if len(left) < len(TABLES) else []


def distribute(database: Database) -> Iterator[str]:
    """Distribute the tables that are not yet, and yield the name of each one after its commit.

    While its rows are copied, a table cannot be used: redirects continue, and their clicks wait to be counted.
    """
    yield from _convert(database, "SELECT create_distributed_table(:name, :column, colocate_with => :same_as)", to=True)


def undo(database: Database) -> Iterator[str]:
    """Copy the tables back to the coordinator, like `distribute`."""
    yield from _convert(database, "SELECT undistribute_table(:name)", to=False)


def _convert(database: Database, statement: str, *, to: bool) -> Iterator[str]:
    for name in TABLES:

        def work(tx: Connection, name: str = name) -> bool:
            disable_timeouts(tx)
            distributed = set(tx.execute(_DISTRIBUTED).scalars())
            if (name in distributed) == to:
                return False
            same_as = next((table for table in TABLES if table in distributed), "none")
            parameters = {"name": name, "column": COLUMN, "same_as": same_as} if to else {"name": name}
            tx.execute(text(statement), parameters)
            return True

        if database.write(work):
            yield name
