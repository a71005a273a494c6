"""The usable links of a campaign, in the order in which its rotator tries them (ADR 7).

A campaign may have very many, so none of this reads them all: links are drawn by their number in the index, and who
draws one that is not usable draws again, which leaves the chances of all others as they are.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, func, or_, select

from waypost.db.schema import domains, links, rotations
from waypost.urls.alias_namespace import OWN

_FEW = 64  # links that are read at once
_DRAWS = 64  # before all that are usable are read: then there are few among very many
_STEP = 16


@dataclass(frozen=True)
class Candidate:
    """A usable link of a campaign."""

    id: int
    clicklimit: int | None
    weight: int
    quota: int | None


@dataclass(frozen=True)
class CandidateQuery:
    """The usable links of a campaign at the second `now`; when they are `weighted`, those with a weight."""

    campaign: int
    weighted: bool
    now: int

    def read(self, tx: Connection, chosen: Select[Any], **values: int | None) -> list[Candidate]:
        """The places that a statement of this module chooses."""
        told = {"campaign": self.campaign, "now": self.now, "least": int(self.weighted), **values}
        return [Candidate(*row) for row in tx.execute(chosen, told)]


def usable(chosen: Select[Any], campaign: int | BindParameter[int], now: int | BindParameter[int]) -> Select[Any]:
    """Just the links of a campaign that lead somewhere for everybody (decision 51; index links_campaign)."""
    c = links.c
    is_there = and_(domains.c.host == c.host, domains.c.account == c.account)
    return chosen.outerjoin_from(links, domains, is_there).where(
        c.campaign == campaign,
        c.status != "disabled",
        c.password.is_(None),
        or_(c.expiry.is_(None), c.expiry >= now),
        or_(c.clicklimit.is_(None), c.taken < c.clicklimit),
        or_(c.host == OWN, domains.c.id.is_not(None)),
    )


def has_left() -> ColumnElement[bool]:
    """Whether a link has something left of its quota."""
    return or_(rotations.c.quota.is_(None), rotations.c.given < rotations.c.quota)


_weight = func.coalesce(rotations.c.weight, 1)
_OF_IT = and_(rotations.c.link == links.c.id, rotations.c.campaign == links.c.campaign)
_PLACES = (
    usable(
        select(links.c.id, links.c.clicklimit, _weight.label("weight"), rotations.c.quota),
        bindparam("campaign", type_=links.c.id.type),
        bindparam("now", type_=links.c.expiry.type),
    )
    .outerjoin(rotations, _OF_IT)
    .where(has_left(), _weight >= bindparam("least"))
)
_ONE = _PLACES.where(links.c.id == bindparam("link"))
_BEST = _PLACES.order_by(links.c.clicks.desc(), links.c.id).limit(1)
_NEXT = _PLACES.where(links.c.id > bindparam("after"), links.c.id <= bindparam("upto")).order_by(links.c.id)
_FIRST = _PLACES.order_by(links.c.id)
_MINE = links.c.campaign == bindparam("campaign")
_COUNT = select(func.count()).select_from(links).where(_MINE)
_NTH = select(links.c.id).where(_MINE).order_by(links.c.id).limit(1).offset(bindparam("n"))
_TOLD = rotations.c.campaign == bindparam("campaign")
_WEIGHTS = select(rotations.c.weight, func.count()).where(_TOLD, rotations.c.weight > 0).group_by(rotations.c.weight)
_HAS_WEIGHT = select(rotations.c.link).where(_TOLD, rotations.c.link == bindparam("link"))
_NTH_OF_WEIGHT = (
    select(rotations.c.link)
    .where(_TOLD, rotations.c.weight == bindparam("weight"))
    .order_by(rotations.c.link)
    .limit(1)
    .offset(bindparam("n"))
)
_LAST = 2**62


def one(tx: Connection, field: CandidateQuery, link: int) -> Candidate | None:
    """A link, if it is usable."""
    found = field.read(tx, _ONE, link=link)
    return found[0] if found else None


def most_clicked(tx: Connection, field: CandidateQuery) -> int | None:
    """The link with the most clicks, the oldest of those with as many."""
    found = field.read(tx, _BEST)
    return found[0].id if found else None


def in_turn(tx: Connection, field: CandidateQuery, after: int | None) -> Iterator[Candidate]:
    """All of them once, in a circle that begins behind a link."""
    for low, high in ((after or 0, _LAST), (0, after or 0)):
        found = field.read(tx, _NEXT.limit(_STEP), after=low, upto=high)
        while found:
            yield from found
            found = field.read(tx, _NEXT.limit(_STEP), after=found[-1].id, upto=high)


def by_chance(tx: Connection, field: CandidateQuery) -> Iterator[Candidate]:
    """All of them once; each next one as likely as its weight says, or as any other."""
    few = field.read(tx, _FIRST.limit(_FEW + 1))
    if len(few) <= _FEW:
        yield from _drawn(few, field)
        return
    seen = set[int | None]()
    for link in islice(_numbers(tx, field), _DRAWS):
        if link is not None and link not in seen and (place := one(tx, field, link)):
            yield place
        seen.add(link)
    yield from _drawn([place for place in field.read(tx, _FIRST) if place.id not in seen], field)


def _drawn(pool: list[Candidate], field: CandidateQuery) -> Iterator[Candidate]:
    while pool:
        weights = [place.weight for place in pool] if field.weighted else None
        place = random.choices(pool, weights)[0]  # noqa: S311  # nobody gains by guessing it
        pool.remove(place)
        yield place


def _numbers(tx: Connection, field: CandidateQuery) -> Iterator[int | None]:
    """Links of the campaign by chance, usable or not, for ever; None for a draw that hit nothing.

    By weight: every link has one share, and every weight that somebody set has shares of its own beside them. Who hits
    the one share of a link with a weight of its own draws again: so each has what it should.
    """
    mine = {"campaign": field.campaign}
    count = int(tx.execute(_COUNT, mine).scalar_one())
    weights: Sequence[tuple[int, int]] = [(w, n) for w, n in tx.execute(_WEIGHTS, mine)] if field.weighted else ()
    shares = [weight * n for weight, n in weights]
    while count:
        n = random.randrange(count + sum(shares))  # noqa: S311  # nobody gains by guessing it
        if n >= count:
            weight, among = random.choices(weights, shares)[0]  # noqa: S311
            told = {**mine, "weight": weight, "n": random.randrange(among)}  # noqa: S311
            yield tx.execute(_NTH_OF_WEIGHT, told).scalar_one_or_none()
            continue
        link = tx.execute(_NTH, {**mine, "n": n}).scalar_one_or_none()
        has_own = field.weighted and tx.execute(_HAS_WEIGHT, {**mine, "link": link}).first() is not None
        yield None if has_own else link
