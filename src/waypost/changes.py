"""The log of changes: under which names the answer is another one now, for all who remember (decision 52).

Their numbers are given before they are committed, so a lower one may come after a higher one. Who follows the log keeps
in mind which numbers he has not seen, and looks for them for a while. So nobody who writes waits for another who does.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select

from waypost import clock
from waypost.schema import changes, links

_KEPT_SECONDS = 3600
_MOST_LINKS = 1000
_LATE_SECONDS = 120.0  # longer than anything takes that writes a change
_MOST_LATE = 10_000
_LOOKED_BACK = 100
Name = tuple[str, str]
"""(host, alias), as in the namespace; an empty alias is everything under the host."""


@dataclass(frozen=True)
class Place:
    """How far somebody has read the log: to the number `last`, but for those in `unseen`, missed at that moment."""

    last: int = 0
    unseen: Mapping[int, float] = field(default_factory=dict)


def note(tx: Connection, host: str, alias: str = "") -> None:
    """Log that a name leads elsewhere, in the transaction that makes it so."""
    _log(tx, [(host, alias)])


def note_links(tx: Connection, which: ColumnElement[bool]) -> None:
    """Log that the links of which `which` is true lead elsewhere; that everything does, when there are very many.

    To be called before the links change, and before what they use is deleted, in the same transaction.
    """
    names = tx.execute(select(links.c.host, links.c.alias).where(which).limit(_MOST_LINKS + 1)).all()
    _log(tx, [(host, alias) for host, alias in names] if len(names) <= _MOST_LINKS else [("", "")])


def _log(tx: Connection, names: Iterable[Name]) -> None:
    now = clock.now()
    if new := [{"host": host, "alias": alias, "at": now} for host, alias in names]:
        tx.execute(insert(changes), new)


def newest(tx: Connection) -> Place:
    """The end of the log."""
    last = int(tx.execute(select(func.coalesce(func.max(changes.c.id), 0))).scalar_one())
    if tx.dialect.name == "sqlite":  # one writes at a time
        return Place(last)
    there = set(tx.execute(select(changes.c.id).where(changes.c.id > last - _LOOKED_BACK)).scalars())
    return Place(last, _missed(max(0, last - _LOOKED_BACK), last, there))


def since(tx: Connection, place: Place) -> tuple[Place, list[Name] | None]:
    """The new end of the log, and the names changed since `place`; None when some are forgotten already."""
    last, now = place.last, time.monotonic()
    wanted = changes.c.id > last
    if place.unseen:
        wanted = or_(wanted, changes.c.id.in_(place.unseen))
    found = tx.execute(select(changes.c.id, changes.c.host, changes.c.alias).where(wanted).order_by(changes.c.id)).all()
    there = {row.id for row in found}
    missing = {number: at for number, at in place.unseen.items() if number not in there}
    # Given up only now: who stood still, or could not reach the database, looks for them at least once afterwards.
    unseen = {number: at for number, at in missing.items() if now - at < _LATE_SECONDS}
    if any(now - at >= _KEPT_SECONDS for at in missing.values()):  # it may have come and been purged meanwhile
        return newest(tx), None
    if not found:
        return Place(last, unseen), []
    end = max(last, found[-1].id)
    names = [(row.host, row.alias) for row in found]
    if end == last:
        return Place(last, unseen), names
    complete = tx.execute(select(changes.c.id).where(changes.c.id <= last + 1).limit(1)).first() is not None
    if tx.dialect.name != "sqlite":
        unseen |= _missed(last, end, there)
    return Place(end, unseen), names if complete else None


def _missed(after: int, newest: int, there: set[int]) -> dict[int, float]:
    """The numbers that were given, and are not there: not yet, or their transaction came to nothing."""
    now = time.monotonic()
    return {n: now for n in range(max(after + 1, newest - _MOST_LATE), newest) if n not in there}


def forget_old(tx: Connection) -> None:
    """Delete what every living process has seen long ago. The newest stays: who slept can tell that he did."""
    last = select(func.max(changes.c.id)).scalar_subquery()
    tx.execute(delete(changes).where(changes.c.at < clock.now() - _KEPT_SECONDS, changes.c.id < last))
