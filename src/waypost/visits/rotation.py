"""Which link of a campaign a visitor of its rotator gets: a usable one, taken by conditional statements (ADR 7)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select, update

from waypost.aliases.namespace import OWN, ROTATORS
from waypost.db import upsert
from waypost.schema import accounts, aliases, campaigns, domains, links, rotations, turns
from waypost.visits.find import Target, find_link
from waypost.visits.visit import take


@dataclass(frozen=True)
class Rotator:
    """A campaign as a visit of its rotator needs it. `winner`: after how many clicks there is one; `won`: which."""

    id: int
    account: int
    username: str
    slug: str
    public: bool
    rotation: str
    sticky: bool
    winner: int | None
    won: int | None

    @property
    def counts_turns(self) -> bool:
        """Whether each click moves it on: then the choice itself is a write."""
        return self.rotation == "ordered" or (self.winner is not None and self.won is None)


@dataclass(frozen=True)
class Spin:
    """Somebody in front of a rotator. `takes`: the visit is a click; `kept`: the link that he should get again."""

    takes: bool
    kept: int | None
    leads_on: Callable[[Target], bool]
    now: int


@dataclass(frozen=True)
class _Place:
    """A usable link of a campaign."""

    id: int
    clicks: int
    clicklimit: int | None
    weight: int
    quota: int | None


def find_rotator(tx: Connection, slug: str) -> Rotator | None:
    """The rotator at `/r/<slug>`."""
    c = campaigns.c
    shown = (c.id, c.account, accounts.c.username, c.slug, c.public, c.rotation, c.sticky, c.winner)
    chosen = (
        select(*shown, turns.c.winner.label("won"))
        .join(aliases, and_(aliases.c.item == c.id, aliases.c.kind == "campaign"))
        .join(accounts, accounts.c.id == c.account)
        .outerjoin(turns, turns.c.campaign == c.id)
        .where(aliases.c.host == ROTATORS, aliases.c.alias == slug)
    )
    row = tx.execute(chosen).mappings().first()
    return Rotator(**row) if row else None


def usable(chosen: Select[Any], campaign: int, now: int) -> Select[Any]:
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


def look(tx: Connection, rotator: Rotator, spin: Spin) -> tuple[Target | None, bool]:
    """A link, and whether it is there only for who takes it: then `give` decides."""
    pool = _pool(tx, rotator, spin.now)
    while pool:
        place = _favourite(pool, rotator.won, spin.kept) or _draw(pool, rotator, None)
        target = find_link(tx, place.id)
        if target is not None and spin.leads_on(target):
            return target, place.quota is not None or place.clicklimit is not None
        del pool[place.id]
    return None, False


def give(tx: Connection, rotator: Rotator, spin: Spin) -> Target | None:
    """A link, taken from its quota and its click limit: nobody else gets that click, whatever happens at once."""
    last, given, won = _turn(tx, rotator) if rotator.counts_turns else (None, 0, rotator.won)
    pool = _pool(tx, rotator, spin.now)
    if rotator.winner is not None and won is None and given >= rotator.winner and pool:
        won = max(pool.values(), key=lambda place: (place.clicks, -place.id)).id
    while pool:
        favourite = _favourite(pool, won, spin.kept)
        place = favourite or _draw(pool, rotator, last)
        target = find_link(tx, place.id)
        if target is not None and spin.leads_on(target) and _take(tx, rotator, place):
            if rotator.counts_turns:
                now = {"link": last if favourite else place.id, "given": given + 1, "winner": won}
                tx.execute(update(turns).where(turns.c.campaign == rotator.id).values(now))
            return target
        del pool[place.id]
    return None


def _pool(tx: Connection, rotator: Rotator, now: int) -> dict[int, _Place]:
    """The usable links with something left of their quota, oldest first."""
    c, r = links.c, rotations.c
    of_it = and_(r.link == c.id, r.campaign == rotator.id)
    shown = select(c.id, c.clicks, c.clicklimit, r.weight, r.quota)
    chosen = usable(shown, rotator.id, now).outerjoin(rotations, of_it).where(_left()).order_by(c.id)
    found = tx.execute(chosen).all()
    places = (_Place(row.id, row.clicks, row.clicklimit, _weight(row.weight), row.quota) for row in found)
    if rotator.rotation == "weighted":
        return {place.id: place for place in places if place.weight}
    return {place.id: place for place in places}


def _weight(stored: int | None) -> int:
    return 1 if stored is None else stored


def _left() -> ColumnElement[bool]:
    return or_(rotations.c.quota.is_(None), rotations.c.given < rotations.c.quota)


def _favourite(pool: dict[int, _Place], won: int | None, kept: int | None) -> _Place | None:
    """The link that this visitor gets whoever's turn it is: the winner, or the one that he had."""
    return pool.get(won or 0) or pool.get(kept or 0)


def _draw(pool: dict[int, _Place], rotator: Rotator, last: int | None) -> _Place:
    places = list(pool.values())
    if rotator.rotation == "ordered":
        return next((place for place in places if last is not None and place.id > last), places[0])
    weights = [place.weight for place in places] if rotator.rotation == "weighted" else None
    return random.choices(places, weights)[0]  # noqa: S311  # nobody gains by guessing it


def _turn(tx: Connection, rotator: Rotator) -> tuple[int | None, int, int | None]:
    """(last link, clicks given, winner), with everybody else waiting until this is committed."""
    tx.execute(upsert(tx, turns).values(campaign=rotator.id).on_conflict_do_nothing())
    t = turns.c
    row = tx.execute(select(t.link, t.given, t.winner).where(t.campaign == rotator.id).with_for_update()).one()
    return row.link, row.given, row.winner


def _take(tx: Connection, rotator: Rotator, place: _Place) -> bool:
    """Take a click from the quota and from the click limit; from neither when one of them has none left."""
    r = rotations.c
    mine = (r.campaign == rotator.id, r.link == place.id)
    if place.quota is not None:
        taken = update(rotations).where(*mine, _left()).values(given=r.given + 1)
        if tx.execute(taken).rowcount == 0:
            return False
    if place.clicklimit is None or take(tx, place.id):
        return True
    if place.quota is not None:
        tx.execute(update(rotations).where(*mine).values(given=r.given - 1))
    return False
