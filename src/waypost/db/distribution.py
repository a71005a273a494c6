"""Distribute tables over the nodes of a Citus cluster, by account (docs/scaling.md, ADR 11).

First the statistics, which grow with every click; then, if wanted, the items and all that belongs to them, with
e-mails that wait and reports by e-mail. The other tables stay on the coordinator, which has the only address that
waypost uses.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from waypost.core.errors import Kind, Problem
from waypost.db.database import Database
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import metadata

COLUMN = "account"
"""The column whose value decides on which node a row is stored."""
STATISTICS = ("events", "visitors", "click_times", "click_labels", "visit_blocks")
"""The tables that grow with every click: about 95 % of the bytes. No foreign key begins or ends at them."""
COPIED = ("plans", "accounts", "domains")
"""Small tables that others are joined with or refer to: every node has all their rows."""
BY_HOST = "aliases"
"""The table that is read before the account is known. Its rows are distributed by host."""
_OF_DASHBOARD = (
    *("members", "api_keys", "sessions", "recovery_codes", "totp_secrets", "account_exports", "presets", "audit"),
    *("webhook_endpoints", "webhook_messages", "webhook_attempts", "emails", "email_reports", "domain_checks"),
    *("notice_items", "account_notices"),
)
"""Tables of accounts that no item is joined with: members, credentials, exports, presets, audit log, webhooks, mail."""
ITEMS = (
    *(
        table.name
        for table in metadata.sorted_tables
        if COLUMN in table.c and table.name not in (*STATISTICS, *COPIED, *_OF_DASHBOARD, BY_HOST)
    ),
    "links_search",  # which the migrations create
)
"""The tables of items. The small tables of accounts stay on the coordinator."""
_SIZES = text(
    "SELECT part.relid::regclass::text, pg_total_relation_size(part.relid), class.reltuples::bigint"
    " FROM pg_partition_tree(CAST(:name AS regclass)) AS part JOIN pg_class AS class ON class.oid = part.relid"
    " WHERE part.isleaf"
)
_CITUS_SIZE = text("SELECT citus_total_relation_size(CAST(:part AS regclass))")
_HAS_CITUS = text("SELECT to_regprocedure('citus_version()') IS NOT NULL")
_ON_NODES = text(
    "SELECT logicalrelid::text FROM pg_dist_partition"
    " WHERE partmethod = 'h' OR logicalrelid::text = ANY(:copied) AND repmodel = 't'"
)
_FOREIGN_KEYS = text(
    "SELECT conrelid::regclass::text AS name, conname AS key, pg_get_constraintdef(oid) AS definition"
    " FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace"
)
_TRIGGERS = text(
    "SELECT tgname AS name, tgrelid::regclass::text AS on_table, pg_get_triggerdef(pg_trigger.oid) AS definition"
    " FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
    " WHERE NOT tgisinternal AND relnamespace = 'public'::regnamespace AND tgrelid::regclass::text = ANY(:names)"
)


@dataclass(frozen=True)
class TableState:
    """A table that can be distributed: its size with indexes, and how many rows PostgreSQL estimates."""

    name: str
    bytes: int
    rows: int
    is_distributed: bool


def count_nodes(tx: Connection) -> int | None:
    """Return how many nodes store rows of distributed tables; None if the database is no Citus cluster."""
    if not _has_citus(tx):
        return None
    nodes = tx.execute(text("SELECT count(*) FROM pg_dist_node WHERE shouldhaveshards AND isactive")).scalar_one()
    return int(nodes)


def _has_citus(tx: Connection) -> bool:
    return tx.dialect.name == "postgresql" and bool(tx.execute(_HAS_CITUS).scalar_one())


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


def states(tx: Connection, *, everything: bool) -> list[TableState]:
    """Return the state of the statistics, or of all tables that can be distributed. The database is a Citus cluster."""
    distributed = _on_nodes(tx)
    names = (*STATISTICS, *COPIED, BY_HOST, *ITEMS) if everything else STATISTICS
    return [_state(tx, name, is_distributed=name in distributed) for name in names]


def _state(tx: Connection, name: str, *, is_distributed: bool) -> TableState:
    parts = tx.execute(_SIZES, {"name": name}).all()
    size = sum(part[1] for part in parts)
    if is_distributed:  # then the coordinator has empty tables
        size = sum(tx.execute(_CITUS_SIZE, {"part": part[0]}).scalar_one() for part in parts)
    return TableState(name, int(size), sum(max(0, part[2]) for part in parts), is_distributed)


def count_keys(tx: Connection) -> int:
    """Return how many foreign keys are dropped and restored while the items move."""
    return len(_foreign_keys(tx))


def _foreign_keys(tx: Connection) -> list[Any]:
    return [key for key in tx.execute(_FOREIGN_KEYS) if key.name in (*COPIED, BY_HOST, *ITEMS)]


def _on_nodes(tx: Connection) -> set[str]:
    return set(tx.execute(_ON_NODES, {"copied": list(COPIED)}).scalars())


def left_over(tx: Connection) -> list[str]:
    """Return the statistics that an interrupted `distribute` or `undo` left on the coordinator; none if all are there.

    Items are moved by one transaction, so none of them is left over.
    """
    distributed = _on_nodes(tx) if count_nodes(tx) is not None else set()
    left = [name for name in STATISTICS if name not in distributed]
    return left if len(left) < len(STATISTICS) else []


def are_items_distributed(tx: Connection) -> bool:
    """Return whether the nodes store the items."""
    return _has_citus(tx) and ITEMS[0] in _on_nodes(tx)


def distribute(database: Database, *, everything: bool) -> Iterator[str]:
    """Distribute the statistics that are not yet, or everything, and yield the name of each table after its commit.

    While its rows are copied, a table of statistics cannot be used: redirects continue, and their clicks wait to be
    counted. While items are copied, only links in memory redirect.
    """
    yield from _convert(database, _distribute_statistics)
    if everything:
        yield from _convert(database, _distribute_items)


def undo(database: Database) -> Iterator[str]:
    """Copy all tables back to the coordinator, like `distribute`."""
    yield from _convert(database, _undo_items)
    yield from _convert(database, _undo_statistics)


def _convert(database: Database, step: Callable[[Connection, set[str]], Sequence[str]]) -> Iterator[str]:
    """Repeat a step, each time in a transaction of its own, until it moves no more tables; yield what it moved."""

    def work(tx: Connection) -> Sequence[str]:
        disable_timeouts(tx)
        return step(tx, _on_nodes(tx))

    while moved := database.write(work):
        yield from moved


def _distribute_statistics(tx: Connection, distributed: set[str]) -> Sequence[str]:
    """Distribute the next table."""
    left = [name for name in STATISTICS if name not in distributed]
    if left:
        _distribute(tx, left[0], COLUMN, same_as=next((name for name in STATISTICS if name in distributed), "none"))
    return left[:1]


def _undo_statistics(tx: Connection, distributed: set[str]) -> Sequence[str]:
    left = [name for name in STATISTICS if name in distributed]
    if left:
        tx.execute(text("SELECT undistribute_table(:name)"), {"name": left[0]})
    return left[:1]


def _distribute_items(tx: Connection, distributed: set[str]) -> Sequence[str]:
    """Distribute all items at once: between two transactions, foreign keys would be missing."""
    if ITEMS[0] in distributed:
        return ()
    keys = _foreign_keys(tx)
    for name in ("insert", "update", "delete"):  # a node cannot write to people; they serve only an older version
        tx.execute(text(f"DROP TRIGGER IF EXISTS people_{name} ON accounts"))
    with _without_triggers(tx):
        for key in keys:
            tx.execute(text(f"ALTER TABLE {key.name} DROP CONSTRAINT {key.key}"))
        for name in COPIED:
            tx.execute(text("SELECT create_reference_table(:name)"), {"name": name})
        _distribute(tx, BY_HOST, "host", same_as="none")
        for name in ITEMS:
            _distribute(tx, name, COLUMN, same_as=STATISTICS[0])
        for key in keys:
            tx.execute(text(f"ALTER TABLE {key.name} ADD CONSTRAINT {key.key} {key.definition}"))
    return (*COPIED, BY_HOST, *ITEMS)


@contextmanager
def _without_triggers(tx: Connection) -> Iterator[None]:
    """Drop the triggers of the items, which would run for every copied row, and create them after the block."""
    tx.execute(text("SET LOCAL citus.enable_unsafe_triggers TO on"))  # they only change rows of the same account
    triggers = tx.execute(_TRIGGERS, {"names": list(ITEMS)}).all()
    for trigger in triggers:
        tx.execute(text(f"DROP TRIGGER {trigger.name} ON {trigger.on_table}"))
    yield
    for trigger in triggers:
        tx.execute(text(trigger.definition))


def _undo_items(tx: Connection, distributed: set[str]) -> Sequence[str]:
    if ITEMS[0] not in distributed:
        return ()
    with _without_triggers(tx):
        with_keys = text("SELECT undistribute_table(:name, cascade_via_foreign_keys => true)")
        tx.execute(with_keys, {"name": ITEMS[0]})  # foreign keys connect all tables but these:
        left = [name for name in ITEMS if name in _on_nodes(tx)]
        for name in left:
            tx.execute(text("SELECT undistribute_table(:name)"), {"name": name})
    return (*COPIED, BY_HOST, *ITEMS)


def _distribute(tx: Connection, name: str, column: str, *, same_as: str) -> None:
    statement = text("SELECT create_distributed_table(:name, :column, colocate_with => :same_as)")
    tx.execute(statement, {"name": name, "column": column, "same_as": same_as})
