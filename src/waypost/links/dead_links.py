"""Looking at the targets of links now and then: which are due, what was seen, which are dead.

One that fails is looked at every day. It is dead when it failed three times in a row and for two days, since the
internet is shaky; once it answers it is not. Redirects do not care.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, and_, case, false, func, insert, or_, select, true, update

from waypost.db.schema import accounts, link_checks, links

DAY = 86_400
_FAILURES = 3
_FAILING_SECONDS = 2 * DAY
_AGAIN_SECONDS = 600  # when one that was taken and of which nobody told anything is due again
_AT_ONCE = 1000
_LOOKED_BACK = 1000  # a link with a lower number may have been made later
_UNKNOWN = {"checked": None, "status": 0, "failing": None, "failures": 0, "dead": False}


@dataclass(frozen=True)
class Due:
    """A target to look at. `until`: nobody else takes it before."""

    account: int
    link: int
    url: str
    until: int


@dataclass(frozen=True)
class Seen:
    """What is known of a link's target: when it was looked at, the status of the answer (0: none), since when it fails.

    Without an answer and without failing, it could not be looked at.
    """

    checked: int
    status: int
    failing: int | None
    dead: bool


def enroll(tx: Connection, now: int) -> bool:
    """Let links that were made since be looked at soon; whether there may be more of them (index looks_link)."""
    newest = select(func.coalesce(func.max(link_checks.c.link), 0)).scalar_subquery()
    known = select(link_checks.c.link).where(link_checks.c.link == links.c.id).exists()
    chosen = select(links.c.account, links.c.id.label("link")).where(links.c.id > newest - _LOOKED_BACK, ~known)
    # Locked against being deleted meanwhile, which SQLite does by itself.
    held = chosen.order_by(links.c.id).limit(_AT_ONCE).with_for_update(read=True, key_share=True, of=links)
    new = [{**row, "due": now} for row in tx.execute(held).mappings()]
    if new:
        tx.execute(insert(link_checks), new)
    return len(new) == _AT_ONCE


def take(tx: Connection, now: int, *, most: int, period: int) -> tuple[list[Due], bool]:
    """Targets that are due, for the caller to look at soon, and whether anything was (index looks_due).

    Of links that nobody can follow, and of what is no website, nothing is known; they come up again after `period`
    seconds.
    """
    c = links.c
    is_followed = and_(
        c.status != "disabled",
        or_(c.expiry.is_(None), c.expiry >= now),
        or_(c.url.ilike("http://%"), c.url.ilike("https://%")),
        accounts.c.suspended == false(),
    )
    chosen = (
        select(c.account, c.id, c.url, is_followed.label("is_followed"))
        .join(link_checks, and_(link_checks.c.account == c.account, link_checks.c.link == c.id))
        .join(accounts, accounts.c.id == c.account)
        .where(link_checks.c.due <= now)
        .order_by(link_checks.c.due)
        .limit(most)
    )
    found = tx.execute(chosen).all()
    _set(tx, [row.id for row in found if not row.is_followed], {**_UNKNOWN, "due": now + period})
    until = now + _AGAIN_SECONDS
    _set(tx, [row.id for row in found if row.is_followed], {"due": until})
    return [Due(row.account, row.id, row.url, until) for row in found if row.is_followed], bool(found)


def note(tx: Connection, due: Due, *, status: int, fails: bool, now: int, period: int) -> None:
    """Note what was seen, unless the link got another target meanwhile."""
    c = link_checks.c
    values: dict[str, object] = {**_UNKNOWN, "checked": now, "status": status, "due": now + _varied(period)}
    if fails:
        since = func.coalesce(c.failing, now)
        is_dead = and_(c.failures + 1 >= _FAILURES, since <= now - _FAILING_SECONDS)
        values |= {"failing": since, "failures": c.failures + 1, "dead": case((is_dead, true()), else_=false())}
        values["due"] = now + DAY
    mine = (c.account == due.account, c.link == due.link, c.due == due.until)
    tx.execute(update(link_checks).where(*mine).values(values))


def follow(tx: Connection, account: int, link: int, *, old: str, new: str) -> None:
    """Forget what is known when a link leads elsewhere now."""
    if new != old:
        mine = (link_checks.c.account == account, link_checks.c.link == link)
        tx.execute(update(link_checks).where(*mine).values(**_UNKNOWN, due=0))


def dead(account: int) -> Select[int]:
    """The ids of the account's links with a dead target (index looks_dead_account)."""
    return select(link_checks.c.link).where(link_checks.c.dead == true(), link_checks.c.account == account)


def count(tx: Connection) -> int:
    """How many links have a dead target, of all accounts."""
    return int(
        tx.execute(select(func.count()).select_from(link_checks).where(link_checks.c.dead == true())).scalar_one()
    )


def among(tx: Connection, account: int, ids: Iterable[int]) -> set[int]:
    """Which of these links have a dead target."""
    return set(tx.execute(dead(account).where(link_checks.c.link.in_(ids))).scalars())


def of(tx: Connection, account: int, link: int) -> Seen | None:
    """What is known of a link's target, if somebody looked."""
    c = link_checks.c
    chosen = select(c.checked, c.status, c.failing, c.dead)
    mine = (c.account == account, c.link == link, c.checked.is_not(None))
    row = tx.execute(chosen.where(*mine)).mappings().first()
    return None if row is None else Seen(**row)


def _set(tx: Connection, ids: Sequence[int], values: dict[str, object]) -> None:
    if ids:
        tx.execute(update(link_checks).where(link_checks.c.link.in_(ids)).values(values))


def _varied(period: int) -> int:
    """About so long, so that what was looked at together does not stay together."""
    return period - random.randrange(period // 10)  # noqa: S311  # no secret
