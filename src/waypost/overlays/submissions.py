"""What visitors sent by an overlay: kept, listed, written out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select

from waypost import clock, csv_export
from waypost.db import crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import Database
from waypost.db.schema import links, overlays, submissions

MOST = 100_000
"""Submissions that one overlay keeps: what comes after is refused, so that nobody can fill the disk with them."""
_AT_ONCE = 2000
COLUMNS = ("id", "date", "link", "name", "email", "message", "choice")


@dataclass(frozen=True)
class Sent:
    """What a visitor filled in; what the overlay's type does not ask for is ""."""

    name: str = ""
    email: str = ""
    message: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Submission:
    """Something that was sent; `link` is the link on whose way it was, None when that is gone."""

    id: int
    link: int | None
    name: str
    email: str
    message: str
    choice: str
    created: int


@dataclass(frozen=True)
class _Id:
    id: int


def add(tx: Connection, account: int, overlay: int, sent: Sent, *, link: int) -> bool:
    """Keep what was sent; whether there was room for it."""
    of_it = select(submissions.c.id).where(_of(account, overlay)).limit(MOST).subquery()
    if tx.execute(select(func.count()).select_from(of_it)).scalar_one() >= MOST:
        return False
    there = select(links.c.id).where(links.c.id == link, links.c.account == account).with_for_update(key_share=True)
    still = tx.execute(there).scalar()  # it may have been deleted while somebody wrote
    row = {"account": account, "overlay": overlay, "link": still, "created": clock.now(), **vars(sent)}
    tx.execute(insert(submissions).values(row))
    return True


def page(tx: Connection, account: int, overlay: int, window: PageRequest) -> Page[Submission]:
    """What was sent, newest first (index submissions_overlay_id). Raises NOT_FOUND as every gate."""
    crud.get_owned(tx, overlays, account, overlay, _Id)
    of_it = _of(account, overlay)
    result = tx.execute(select(func.count()).select_from(submissions).where(of_it)).scalar_one()
    newest = crud.columns(submissions, Submission).where(of_it).order_by(submissions.c.id.desc())
    found = tx.execute(newest.limit(window.limit).offset(window.offset)).mappings() if window.offset < result else ()
    return Page([Submission(**row) for row in found], result, window)


def votes(tx: Connection, account: int, overlay: int) -> Mapping[str, int]:
    """How often each answer of a poll that went through the gate was chosen, the most chosen first."""
    c, count = submissions.c, func.count()
    chosen = select(c.choice, count).where(_of(account, overlay)).group_by(c.choice)
    return {str(row[0]): int(row[1]) for row in tx.execute(chosen.order_by(count.desc(), c.choice))}


def remove(tx: Connection, account: int, overlay: int, chosen: Sequence[int]) -> int:
    """Delete some of what was sent; how many of it there were. Raises NOT_FOUND as every gate."""
    crud.get_owned(tx, overlays, account, overlay, _Id)
    mine = submissions.delete().where(_of(account, overlay), submissions.c.id.in_(chosen))
    return int(tx.execute(mine).rowcount)


def export(database: Database, account: int, overlay: int) -> Iterator[str]:
    """Everything as CSV, oldest first, a piece at a time; of an overlay that went through the gate.

    Each piece is a transaction of its own, so that a slow reader holds nothing.
    """
    yield ",".join(COLUMNS) + "\r\n"
    last = 0
    while found := database.read(lambda tx, after=last: _after(tx, account, overlay, after)):  # type: ignore[misc]
        last = found[-1].id
        yield csv_export.lines(
            (one.id, clock.text(one.created), one.link or "", one.name, one.email, one.message, one.choice)
            for one in found
        )


def _after(tx: Connection, account: int, overlay: int, last: int) -> list[Submission]:
    chosen = crud.columns(submissions, Submission)
    next_ones = chosen.where(_of(account, overlay), submissions.c.id > last).order_by(submissions.c.id)
    return [Submission(*row) for row in tx.execute(next_ones.limit(_AT_ONCE))]


def _of(account: int, overlay: int) -> ColumnElement[bool]:
    return and_(submissions.c.overlay == overlay, submissions.c.account == account)
