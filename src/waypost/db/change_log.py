"""The change log: names whose response changed, for cache invalidation in all processes (decision 52).

Ids are assigned before commit, so they can appear out of order. Readers remember gaps and re-check them for two
minutes; so writers never wait for each other.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, func, insert, select

from waypost.core import clock
from waypost.db.schema import changes, links
from waypost.db.statements import DriverChange

_RETENTION_SECONDS = 3600
_MAX_ITEMS = 1000
_GAP_SECONDS = 120  # longer than any transaction that writes a change
_MAX_GAP = 10_000
_COLUMNS = (changes.c.id, changes.c.host, changes.c.alias, changes.c.at)
_INSERT = insert(changes).returning(*_COLUMNS)
_INSERT_ONE = DriverChange(_INSERT.values(host=bindparam("host"), alias=bindparam("alias"), at=bindparam("at")))
_SINCE = select(*_COLUMNS).where(changes.c.id >= bindparam("last")).order_by(changes.c.id)
Name = tuple[str, str]
"""(host, alias), as in the table `aliases`. An empty alias stands for everything under the host."""
NEW_ALIASES = "*"
"""In place of an alias, which never contains it: many aliases are new, so unknown names can be known now."""


class Change(NamedTuple):
    """A row of the log."""

    id: int
    host: str
    alias: str
    at: int


_recorded: WeakKeyDictionary[Connection, list[Change]] = WeakKeyDictionary()
_pending: WeakKeyDictionary[Connection, dict[Name, None]] = WeakKeyDictionary()


@dataclass(frozen=True)
class LogPosition:
    """The last change that a reader has read, and the missing ids before it with the time when each was missed."""

    end: Change | None = None
    missing: Mapping[int, int] = field(default_factory=dict)

    def after(self, recorded: Sequence[Change]) -> "LogPosition | None":
        """Return the position after these changes if no other change lies between, else None."""
        ids = [change.id for change in recorded]
        is_next = ids == list(range(self.last_id + 1, self.last_id + 1 + len(ids)))
        return LogPosition(recorded[-1], self.missing) if ids and is_next else None

    @property
    def last_id(self) -> int:
        """The id of the last change; 0 for an empty log."""
        return self.end.id if self.end else 0


def record(tx: Connection, host: str, alias: str = "") -> None:
    """Log that the response for a name changes with this transaction."""
    _insert(tx, [(host, alias)])


def record_links(tx: Connection, where: ColumnElement[bool]) -> None:
    """Log that the responses of all links that meet `where` change, as `record_items`."""
    record_items(tx, links, where)


def record_items(tx: Connection, table: Table, where: ColumnElement[bool]) -> None:
    """Log that the responses of all items that meet `where` change; of everything for more than 1,000 items.

    `table` has a host and an alias. Call it in the same transaction, before the items or the rows that they refer to
    change.
    """
    names = tx.execute(select(table.c.host, table.c.alias).where(where).limit(_MAX_ITEMS + 1)).all()
    _insert(tx, [(host, alias) for host, alias in names] if len(names) <= _MAX_ITEMS else [("", "")])


@contextmanager
def in_one_batch(tx: Connection) -> Iterator[None]:
    """Log the changes of the block after it, in one statement, each name once.

    A savepoint that was rolled back leaves its names in the log, which drops a cached response without need. A block in
    another one ends with it.
    """
    if tx in _pending:
        yield
        return
    names = _pending[tx] = {}
    try:
        yield
    finally:
        del _pending[tx]
    _insert(tx, names)


def _insert(tx: Connection, names: Iterable[Name]) -> None:
    if (pending := _pending.get(tx)) is not None:
        pending.update(dict.fromkeys(names))
        return
    now = clock.now()
    rows = [{"host": host, "alias": alias, "at": now} for host, alias in names]
    inserted: Iterable[Any] = ()
    if len(rows) == 1:
        inserted = _INSERT_ONE.execute(tx, **rows[0]).fetchall()
    elif rows:
        inserted = tx.execute(_INSERT, rows)
    _recorded.setdefault(tx, []).extend(Change(*row) for row in inserted)


def recorded(tx: Connection) -> list[Change]:
    """Return what the transaction has logged, in the order of the ids."""
    return sorted(_recorded.get(tx, ()))


def current_position(tx: Connection) -> LogPosition:
    """Return the end of the log."""
    now = clock.now()
    row = tx.execute(select(*_COLUMNS).order_by(changes.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        return LogPosition()
    end = Change(*row)
    if tx.dialect.name == "sqlite":  # has a single writer, so no gaps
        return LogPosition(end)
    ids = set(tx.execute(select(changes.c.id).where(changes.c.id > end.id - _MAX_GAP)).scalars())
    return LogPosition(end, _gaps(min(ids, default=end.id), end.id, ids, now))


def read_since(tx: Connection, position: LogPosition) -> tuple[LogPosition, list[Name] | None]:
    """Return the new end of the log and the names changed since `position`; None if they are unknown.

    They are unknown when some may have been purged, and after a failover to a server that lacked the last changes:
    those are undone, and their ids are assigned again.
    """
    now = clock.now()
    rows = tx.execute(_SINCE, {"last": position.last_id}).all()
    if position.missing:
        missed = select(*_COLUMNS).where(changes.c.id.in_(position.missing), changes.c.id < position.last_id)
        rows = [*tx.execute(missed.order_by(changes.c.id)), *rows]
    changed = {change.id: change for change in (Change(*row) for row in rows)}
    has_same_end = changed.pop(position.last_id, None) == position.end
    still_missing = {id_: at for id_, at in position.missing.items() if id_ not in changed}
    has_beginning = position.end is not None or not changed or 1 in changed
    may_be_purged = any(now - at >= _RETENTION_SECONDS - _GAP_SECONDS for at in still_missing.values())
    if not has_same_end or not has_beginning or may_be_purged:
        return current_position(tx), None
    # Old gaps are dropped only after this read, so that a reader that was stalled re-checks them at least once.
    missing = {id_: at for id_, at in still_missing.items() if now - at < _GAP_SECONDS}
    end = changed[max(changed)] if changed else position.end
    if end is None or end.id < position.last_id:
        end = position.end
    elif tx.dialect.name != "sqlite":
        missing |= _gaps(position.last_id + 1, end.id, changed, now)
    return LogPosition(end, missing), [(change.host, change.alias) for change in changed.values()]


def _gaps(first: int, last: int, ids: Container[int], now: int) -> dict[int, int]:
    """The ids that were assigned but are not in the log: not committed yet, or rolled back."""
    return {id_: now for id_ in range(max(first, last - _MAX_GAP), last) if id_ not in ids}


def purge(tx: Connection) -> None:
    """Delete changes older than an hour, except for the newest of them and those with a higher id.

    A reader that finds its last change therefore knows that it has missed none.
    """
    is_old = changes.c.at < clock.now() - _RETENTION_SECONDS
    last = select(func.max(changes.c.id)).where(is_old).scalar_subquery()
    tx.execute(delete(changes).where(changes.c.id < last))
