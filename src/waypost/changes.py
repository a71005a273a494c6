"""The log of changes: under which names the answer is another one now, for all who remember (decision 52)."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from waypost import clock
from waypost.postgres import CHANGES
from waypost.schema import changes, links

_KEPT_SECONDS = 3600
_LOCK = 0x77617970  # any number that nobody else locks by
_MOST_LINKS = 1000
Name = tuple[str, str]
"""(host, alias), as in the namespace; an empty alias is everything under the host."""


def note(tx: Connection, host: str, alias: str = "") -> None:
    """Log that a name leads elsewhere, in the transaction that makes it so."""
    _queue(tx)
    _log(tx, [(host, alias)])


def note_links(tx: Connection, which: ColumnElement[bool]) -> None:
    """Log that the links of which `which` is true lead elsewhere; that everything does, when there are very many.

    To be called before the links change, and before what they use is deleted, in the same transaction.
    """
    _queue(tx)
    names = tx.execute(select(links.c.host, links.c.alias).where(which).limit(_MOST_LINKS + 1)).all()
    _log(tx, [(host, alias) for host, alias in names] if len(names) <= _MOST_LINKS else [("", "")])


def _queue(tx: Connection) -> None:
    """PostgreSQL: from here to the commit one at a time, or a reader could see a change before one with a lower
    number."""
    if tx.dialect.name == "postgresql":
        tx.execute(select(func.pg_advisory_xact_lock(_LOCK)))


def _log(tx: Connection, names: Iterable[Name]) -> None:
    now = clock.now()
    if new := [{"host": host, "alias": alias, "at": now} for host, alias in names]:
        tx.execute(insert(changes), new)
        if tx.dialect.name == "postgresql":
            tx.execute(select(func.pg_notify(CHANGES, "")))  # heard when the transaction is committed


def newest(tx: Connection) -> int:
    """The number of the last change; 0 when there was none."""
    return int(tx.execute(select(func.coalesce(func.max(changes.c.id), 0))).scalar_one())


def since(tx: Connection, last: int) -> tuple[int, list[Name] | None]:
    """The number of the newest change, and the names changed after `last`; None when some are forgotten already."""
    found = tx.execute(select(changes.c.id, changes.c.host, changes.c.alias).where(changes.c.id > last)).all()
    if not found:
        return last, []
    complete = tx.execute(select(changes.c.id).where(changes.c.id <= last + 1).limit(1)).first() is not None
    names = [(row.host, row.alias) for row in found]
    return max(row.id for row in found), names if complete else None


def forget_old(tx: Connection) -> None:
    """Delete what every living process has seen long ago. The newest stays: who slept can tell that he did."""
    last = select(func.max(changes.c.id)).scalar_subquery()
    tx.execute(delete(changes).where(changes.c.at < clock.now() - _KEPT_SECONDS, changes.c.id < last))
