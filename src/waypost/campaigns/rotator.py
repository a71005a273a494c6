"""Which link of a campaign a visitor of its rotator gets: a usable one, taken by conditional statements (ADR 7)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import ColumnElement, Connection, and_, select, update

from waypost.campaigns import rotator_candidates
from waypost.campaigns.rotator_candidates import Candidate, CandidateQuery
from waypost.db.database import upsert
from waypost.db.schema import accounts, aliases, campaigns, rotations, turns
from waypost.urls.alias_namespace import ROTATORS
from waypost.visits.lookup import LinkView, find_link
from waypost.visits.visit import take as take_from_click_limit

_MOST = 256  # links that are tried for one visitor: all of them blocked, there is hardly another one


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

    def field(self, now: int) -> CandidateQuery:
        """The links that it may give at a second."""
        return CandidateQuery(self.id, self.rotation == "weighted", now)


@dataclass(frozen=True)
class Pick:
    """Somebody in front of a rotator. `takes`: the visit is a click; `kept`: the link that he should get again."""

    takes: bool
    kept: int | None
    leads_on: Callable[[LinkView], bool]
    now: int


def find_rotator(tx: Connection, slug: str) -> Rotator | None:
    """The rotator at `/r/<slug>`."""
    c = campaigns.c
    shown = (c.id, c.account, accounts.c.username, c.slug, c.public, c.rotation, c.sticky, c.winner)
    chosen = (
        select(*shown, turns.c.winner.label("won"))
        .join(aliases, and_(aliases.c.item == c.id, aliases.c.kind == "campaign"))
        .join(accounts, accounts.c.id == c.account)
        .outerjoin(turns, and_(turns.c.campaign == c.id, turns.c.account == c.account))
        .where(aliases.c.host == ROTATORS, aliases.c.alias == slug)
    )
    row = tx.execute(chosen).mappings().first()
    return Rotator(**row) if row else None


def peek(tx: Connection, rotator: Rotator, spin: Pick) -> tuple[LinkView | None, bool]:
    """A link, and whether it is there only for who takes it: then `give` decides."""
    for place, _ in islice(_tries(tx, rotator, spin, rotator.won, None), _MOST):
        target = find_link(tx, rotator.account, place.id)
        if target is not None and spin.leads_on(target):
            return target, place.quota is not None or place.clicklimit is not None
    return None, False


def take(tx: Connection, rotator: Rotator, spin: Pick) -> LinkView | None:
    """A link, taken from its quota and its click limit: nobody else gets that click, whatever happens at once."""
    last, given, won = _turn(tx, rotator) if rotator.counts_turns else (None, 0, rotator.won)
    if rotator.winner is not None and won is None and given >= rotator.winner:
        won = rotator_candidates.most_clicked(tx, rotator.field(spin.now))
    for place, is_favourite in islice(_tries(tx, rotator, spin, won, last), _MOST):
        target = find_link(tx, rotator.account, place.id)
        if target is not None and spin.leads_on(target) and _take(tx, rotator, place):
            if rotator.counts_turns:
                now = {"link": last if is_favourite else place.id, "given": given + 1, "winner": won}
                tx.execute(update(turns).where(*_its_turn(rotator)).values(now))
            return target
    return None


def _tries(
    tx: Connection, rotator: Rotator, spin: Pick, won: int | None, last: int | None
) -> Iterator[tuple[Candidate, bool]]:
    """The usable links in the order in which they are tried, each once, and whether one is this visitor's whoever's
    turn it is: the winner, or the one that he had.
    """
    field = rotator.field(spin.now)
    tried = set()
    for favourite in (won, spin.kept):
        if favourite and favourite not in tried and (place := rotator_candidates.one(tx, field, favourite)):
            tried.add(favourite)
            yield place, True
    ordered = rotator.rotation == "ordered"
    for place in rotator_candidates.in_turn(tx, field, last) if ordered else rotator_candidates.by_chance(tx, field):
        if place.id not in tried:
            yield place, False


def _turn(tx: Connection, rotator: Rotator) -> tuple[int | None, int, int | None]:
    """(last link, clicks given, winner), with everybody else waiting until this is committed."""
    tx.execute(upsert(tx, turns).values(campaign=rotator.id, account=rotator.account).on_conflict_do_nothing())
    t = turns.c
    row = tx.execute(select(t.link, t.given, t.winner).where(*_its_turn(rotator)).with_for_update()).one()
    return row.link, row.given, row.winner


def _its_turn(rotator: Rotator) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return turns.c.campaign == rotator.id, turns.c.account == rotator.account


def _take(tx: Connection, rotator: Rotator, place: Candidate) -> bool:
    """Take a click from the quota and from the click limit; from neither when one of them has none left."""
    r = rotations.c
    mine = (r.campaign == rotator.id, r.link == place.id, r.account == rotator.account)
    if place.quota is not None:
        taken = update(rotations).where(*mine, rotator_candidates.has_left()).values(given=r.given + 1)
        if tx.execute(taken).rowcount == 0:
            return False
    if place.clicklimit is None or take_from_click_limit(tx, rotator.account, place.id):
        return True
    if place.quota is not None:
        tx.execute(update(rotations).where(*mine).values(given=r.given - 1))
    return False
