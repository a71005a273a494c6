"""The usable links of a campaign, in the order in which its rotator tries them (ADR 7).

A campaign can have many links, so they are not all read: a link is drawn by its number in the index, and an unusable
one is rejected and drawn again, which keeps the odds of all others (rejection sampling).
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select, and_, bindparam, func, or_, select

from waypost.db.schema import domains, links, rotator_links
from waypost.db.statements import DriverSelect
from waypost.urls.alias_namespace import OWN

FEW_LINKS = 64
"""Up to so many usable links are read at once."""
MAX_DRAWS = 64
"""After so many draws all usable links are read: they are then few among many."""
_BATCH = 16
_MAX_ID = 2**62


@dataclass(frozen=True)
class RotatorLink:
    """A usable link of a campaign."""

    id: int
    clicklimit: int | None
    weight: int
    quota: int | None


@dataclass(frozen=True)
class CandidateQuery:
    """Parameters of this module's statements. `now` is in seconds; `weighted`: only links with a weight above 0."""

    account: int
    campaign: int
    weighted: bool
    now: int

    def read(self, tx: Connection, query: DriverSelect, **values: int) -> list[RotatorLink]:
        """Return the links that a statement selects."""
        rows = query.fetch_all(tx, **self.key, now=self.now, min_weight=int(self.weighted), **values)
        return [RotatorLink(*row) for row in rows]

    @property
    def key(self) -> dict[str, int]:
        """The parameters that identify the campaign."""
        return {"account": self.account, "campaign": self.campaign}


_Value = int | BindParameter[int]


def usable(query: Select[Any], account: _Value, campaign: _Value, now: _Value) -> Select[Any]:
    """Restrict a query to a campaign's links that redirect every visitor (decision 51; index links_campaign)."""
    c = links.c
    is_domain_of_link = and_(domains.c.host == c.host, domains.c.account == c.account)
    return query.outerjoin_from(links, domains, is_domain_of_link).where(
        c.account == account,
        c.campaign == campaign,
        c.status != "disabled",
        c.password.is_(None),
        or_(c.expiry.is_(None), c.expiry >= now),
        or_(c.clicklimit.is_(None), c.taken < c.clicklimit),
        or_(c.host == OWN, domains.c.id.is_not(None)),
    )


def is_below_quota() -> ColumnElement[bool]:
    """Return whether a link's quota is not exhausted."""
    return or_(rotator_links.c.quota.is_(None), rotator_links.c.given < rotator_links.c.quota)


_weight = func.coalesce(rotator_links.c.weight, 1)
_SETTINGS_OF_LINK = and_(
    rotator_links.c.link == links.c.id,
    rotator_links.c.campaign == links.c.campaign,
    rotator_links.c.account == links.c.account,
)
_CANDIDATES = (
    usable(
        select(links.c.id, links.c.clicklimit, _weight.label("weight"), rotator_links.c.quota),
        bindparam("account", type_=links.c.account.type),
        bindparam("campaign", type_=links.c.id.type),
        bindparam("now", type_=links.c.expiry.type),
    )
    .outerjoin(rotator_links, _SETTINGS_OF_LINK)
    .where(is_below_quota(), _weight >= bindparam("min_weight"))
)
_ONE = DriverSelect(_CANDIDATES.where(links.c.id == bindparam("link")))
_MOST_CLICKED = DriverSelect(_CANDIDATES.order_by(links.c.clicks.desc(), links.c.id).limit(1))
_IS_BETWEEN = and_(links.c.id > bindparam("after"), links.c.id <= bindparam("upto"))
_BETWEEN = DriverSelect(_CANDIDATES.where(_IS_BETWEEN).order_by(links.c.id).limit(_BATCH))
_ALL = DriverSelect(_CANDIDATES.order_by(links.c.id))
_FIRST = DriverSelect(_CANDIDATES.order_by(links.c.id).limit(FEW_LINKS + 1))
_IN_CAMPAIGN = and_(links.c.account == bindparam("account"), links.c.campaign == bindparam("campaign"))
_COUNT = select(func.count()).select_from(links).where(_IN_CAMPAIGN)
_NTH = select(links.c.id).where(_IN_CAMPAIGN).order_by(links.c.id).limit(1).offset(bindparam("n"))
_OF_CAMPAIGN = and_(rotator_links.c.account == bindparam("account"), rotator_links.c.campaign == bindparam("campaign"))
_WEIGHTS = (
    select(rotator_links.c.weight, func.count())
    .where(_OF_CAMPAIGN, rotator_links.c.weight > 0)
    .group_by(rotator_links.c.weight)
)
_HAS_WEIGHT = select(rotator_links.c.link).where(_OF_CAMPAIGN, rotator_links.c.link == bindparam("link"))
_NTH_OF_WEIGHT = (
    select(rotator_links.c.link)
    .where(_OF_CAMPAIGN, rotator_links.c.weight == bindparam("weight"))
    .order_by(rotator_links.c.link)
    .limit(1)
    .offset(bindparam("n"))
)


def find_candidate(tx: Connection, query: CandidateQuery, link: int) -> RotatorLink | None:
    """Return a link if it is usable."""
    rows = query.read(tx, _ONE, link=link)
    return rows[0] if rows else None


def most_clicked(tx: Connection, query: CandidateQuery) -> int | None:
    """Return the id of the link with the most clicks, the oldest one among equals."""
    rows = query.read(tx, _MOST_CLICKED)
    return rows[0].id if rows else None


def in_order(tx: Connection, query: CandidateQuery, after: int | None) -> Iterator[RotatorLink]:
    """Yield all links once, by id, starting after a given link and wrapping around."""
    for low, high in ((after or 0, _MAX_ID), (0, after or 0)):
        batch = query.read(tx, _BETWEEN, after=low, upto=high)
        while batch:
            yield from batch
            batch = query.read(tx, _BETWEEN, after=batch[-1].id, upto=high)


def random_order(tx: Connection, query: CandidateQuery) -> Iterator[RotatorLink]:
    """Yield all links once, in random order: weighted, or with equal odds."""
    first_links = query.read(tx, _FIRST)
    if len(first_links) <= FEW_LINKS:
        yield from _shuffled(first_links, query)
        return
    drawn = set[int | None]()
    for link in islice(_draw_links(tx, query), MAX_DRAWS):
        if link is not None and link not in drawn and (candidate := find_candidate(tx, query, link)):
            yield candidate
        drawn.add(link)
    yield from _shuffled([candidate for candidate in query.read(tx, _ALL) if candidate.id not in drawn], query)


def _shuffled(candidates: list[RotatorLink], query: CandidateQuery) -> Iterator[RotatorLink]:
    while candidates:
        weights = [candidate.weight for candidate in candidates] if query.weighted else None
        candidate = random.choices(candidates, weights)[0]
        candidates.remove(candidate)
        yield candidate


def _draw_links(tx: Connection, query: CandidateQuery) -> Iterator[int | None]:
    """Yield random links of the campaign, usable or not, without end; None for a rejected draw.

    With weights: every link has one ticket, and every explicit weight has tickets of its own. A default ticket drawn
    for a link with an explicit weight is rejected, so each link gets exactly its weight.
    """
    parameters = query.key
    count = int(tx.execute(_COUNT, parameters).scalar_one())
    weights: Sequence[tuple[int, int]] = ()
    if query.weighted:
        weights = [(weight, number) for weight, number in tx.execute(_WEIGHTS, parameters)]
    tickets = [weight * number for weight, number in weights]
    while count:
        n = random.randrange(count + sum(tickets))
        if n >= count:
            weight, number = random.choices(weights, tickets)[0]
            nth = {"weight": weight, "n": random.randrange(number)}
            yield tx.execute(_NTH_OF_WEIGHT, {**parameters, **nth}).scalar_one_or_none()
            continue
        link = tx.execute(_NTH, {**parameters, "n": n}).scalar_one_or_none()
        is_rejected = query.weighted and tx.execute(_HAS_WEIGHT, {**parameters, "link": link}).first() is not None
        yield None if is_rejected else link
