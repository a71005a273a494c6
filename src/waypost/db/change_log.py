"""The log of changes: under which names the answer is another one now, for all who remember (decision 52).

Their numbers are given before they are committed, so a lower one may come after a higher one. Who follows the log keeps
in mind which numbers he has not seen, and looks for them for a while. So nobody who writes waits for another who does.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from waypost import clock
from waypost.db.schema import changes, links

_KEPT_SECONDS = 3600
_MOST_LINKS = 1000
_LATE_SECONDS = 120  # longer than anything takes that writes a change
_MOST_LATE = 10_000
_CHANGE = (changes.c.id, changes.c.host, changes.c.alias, changes.c.at)
Name = tuple[str, str]
"""(host, alias), as in the namespace; an empty alias is everything under the host."""


class Change(NamedTuple):
    """A row of the log."""

    id: int
    host: str
    alias: str
    at: int


@dataclass(frozen=True)
class LogPosition:
    """How far somebody has read the log: to the change `end`, but for the numbers in `unseen`, missed at that time."""

    end: Change | None = None
    unseen: Mapping[int, int] = field(default_factory=dict)

    @property
    def last(self) -> int:
        """The number of the last change."""
        return self.end.id if self.end else 0


def record(tx: Connection, host: str, alias: str = "") -> None:
    """Log that a name leads elsewhere, in the transaction that makes it so."""
    _log(tx, [(host, alias)])


def record_links(tx: Connection, which: ColumnElement[bool]) -> None:
    """Log that the links of which `which` is true lead elsewhere; that everything does, when there are very many.

    To be called before the links change, and before what they use is deleted, in the same transaction.
    """
    names = tx.execute(select(links.c.host, links.c.alias).where(which).limit(_MOST_LINKS + 1)).all()
    _log(tx, [(host, alias) for host, alias in names] if len(names) <= _MOST_LINKS else [("", "")])


def _log(tx: Connection, names: Iterable[Name]) -> None:
    now = clock.now()
    if new := [{"host": host, "alias": alias, "at": now} for host, alias in names]:
        tx.execute(insert(changes), new)


def newest(tx: Connection) -> LogPosition:
    """The end of the log."""
    now = clock.now()
    row = tx.execute(select(*_CHANGE).order_by(changes.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        return LogPosition()
    end = Change(*row)
    if tx.dialect.name == "sqlite":  # one writes at a time
        return LogPosition(end)
    there = set(tx.execute(select(changes.c.id).where(changes.c.id > end.id - _MOST_LATE)).scalars())
    return LogPosition(end, _missed(min(there, default=end.id), end.id, there, now))


def since(tx: Connection, place: LogPosition) -> tuple[LogPosition, list[Name] | None]:
    """The new end of the log, and the names changed since `place`; None when nobody can tell which.

    That is when some may be forgotten already, and when the log is another one: after a fail-over to a server that had
    not taken over everything, changes are undone, and their numbers may be given once more.
    """
    now = clock.now()
    wanted = changes.c.id >= place.last
    if place.unseen:
        wanted = or_(wanted, changes.c.id.in_(place.unseen))
    rows = tx.execute(select(*_CHANGE).where(wanted).order_by(changes.c.id))
    found = {change.id: change for change in (Change(*row) for row in rows)}
    is_same = found.pop(place.last, None) == place.end
    missing = {number: at for number, at in place.unseen.items() if number not in found}
    is_whole = place.end is not None or not found or 1 in found
    may_be_purged = any(now - at >= _KEPT_SECONDS - _LATE_SECONDS for at in missing.values())
    if not is_same or not is_whole or may_be_purged:
        return newest(tx), None
    # Given up only now: who stood still, or could not reach the database, looks for them at least once afterwards.
    unseen = {number: at for number, at in missing.items() if now - at < _LATE_SECONDS}
    end = found[max(found)] if found else place.end
    if end is None or end.id < place.last:
        end = place.end
    elif tx.dialect.name != "sqlite":
        unseen |= _missed(place.last + 1, end.id, found, now)
    return LogPosition(end, unseen), [(change.host, change.alias) for change in found.values()]


def _missed(first: int, newest: int, there: Container[int], now: int) -> dict[int, int]:
    """The numbers that were given, and are not there: not yet, or their transaction came to nothing."""
    return {number: now for number in range(max(first, newest - _MOST_LATE), newest) if number not in there}


def forget_old(tx: Connection) -> None:
    """Delete what every living process has seen long ago.

    The newest of them stays, with all that is behind it: so who finds there what he has seen last misses nothing.
    """
    is_old = changes.c.at < clock.now() - _KEPT_SECONDS
    last = select(func.max(changes.c.id)).where(is_old).scalar_subquery()
    tx.execute(delete(changes).where(changes.c.id < last))
