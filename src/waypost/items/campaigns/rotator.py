"""Choose the link that a visitor of a rotator gets, and take the click by conditional statements (ADR 7)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select, update

from waypost.db.database import upsert
from waypost.db.schema import accounts, campaigns, rotator_links, rotator_state
from waypost.db.statements import DriverSelect
from waypost.items.campaigns import rotator_candidates
from waypost.items.campaigns.rotator_candidates import CandidateQuery, RotatorLink
from waypost.urls import alias_namespace
from waypost.urls.alias_namespace import ROTATORS
from waypost.visits.click_limits import take_click
from waypost.visits.link_record import LinkView, find_link

FindRotator = Callable[[Connection, str], "Rotator | None"]
ReadLink = Callable[[Connection, int, int], LinkView | None]
_MAX_TRIES = 256  # links for one visitor; if all of them are blocked, others hardly help


@dataclass(frozen=True)
class Rotator:
    """A campaign as a visit of its rotator needs it.

    `winner`: number of clicks after which the most clicked link wins; `won`: the id of that link.
    """

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
        """Return whether each click changes the rotator's state, so that choosing a link is a write."""
        return self.rotation == "ordered" or (self.winner is not None and self.won is None)

    def candidates(self, now: int) -> CandidateQuery:
        """Return the query for the usable links at the second `now`."""
        return CandidateQuery(self.account, self.id, self.rotation == "weighted", now)


@dataclass(frozen=True)
class RotatorVisit:
    """A visit to a rotator. `sticky_link` is the link that this visitor got before."""

    is_click: bool
    sticky_link: int | None
    is_reachable: Callable[[LinkView], bool]
    now: int


_c = campaigns.c
_ROTATOR = DriverSelect(
    select(
        *(_c.id, _c.account, accounts.c.username, _c.slug, _c.public, _c.rotation, _c.sticky, _c.winner),
        rotator_state.c.winner.label("won"),
    )
    .join(accounts, accounts.c.id == _c.account)
    .outerjoin(rotator_state, and_(rotator_state.c.campaign == _c.id, rotator_state.c.account == _c.account))
    .where(_c.id == bindparam("campaign"), _c.account == bindparam("account"))
)


def find_rotator(tx: Connection, slug: str) -> Rotator | None:
    """Return the rotator at `/r/<slug>`."""
    holder = alias_namespace.find(tx, ROTATORS, slug)
    if holder is None or holder.kind != "campaign":
        return None
    rows = _ROTATOR.fetch_all(tx, campaign=holder.item, account=holder.account)
    return Rotator(*rows[0]) if rows else None


def peek(
    tx: Connection,
    slug: str,
    visit: RotatorVisit,
    *,
    find: FindRotator = find_rotator,
    read_link: ReadLink = find_link,
) -> tuple[Rotator | None, LinkView | None, bool]:
    """Return (rotator, a link, whether a click must be taken by `take`).

    It must be if the link has a quota or click limit. If clicks change the rotator's state, no link is chosen.
    `find` returns a rotator by slug, `read_link` a link by account and id.
    """
    rotator = find(tx, slug)
    if rotator is None:
        return None, None, False
    if visit.is_click and rotator.counts_turns:
        return rotator, None, True
    if not rotator.sticky:
        visit = replace(visit, sticky_link=None)
    for candidate, _ in islice(_candidates(tx, rotator, visit, rotator.won, None), _MAX_TRIES):
        link = read_link(tx, rotator.account, candidate.id)
        if link is not None and visit.is_reachable(link):
            return rotator, link, candidate.quota is not None or candidate.clicklimit is not None
    return rotator, None, False


def take(tx: Connection, rotator: Rotator, visit: RotatorVisit) -> LinkView | None:
    """Return a link, and take the click from its quota and its click limit atomically."""
    state = _lock_state(tx, rotator) if rotator.counts_turns else (None, 0, rotator.won)
    if state is None:
        return None
    last, clicks, won = state
    if rotator.winner is not None and won is None and clicks >= rotator.winner:
        won = rotator_candidates.most_clicked(tx, rotator.candidates(visit.now))
    for candidate, is_preferred in islice(_candidates(tx, rotator, visit, won, last), _MAX_TRIES):
        link = find_link(tx, rotator.account, candidate.id)
        if link is not None and visit.is_reachable(link) and _take_click(tx, rotator, candidate):
            if rotator.counts_turns:
                last_link = last if is_preferred else candidate.id
                values = {"last_link": last_link, "clicks": clicks + 1, "winner": won}
                tx.execute(update(rotator_state).where(*_by_rotator(rotator)).values(values))
            return link
    return None


def _candidates(
    tx: Connection, rotator: Rotator, visit: RotatorVisit, won: int | None, last: int | None
) -> Iterator[tuple[RotatorLink, bool]]:
    """Yield each usable link once, in the order of trying: (link, whether it is preferred).

    Preferred links do not depend on the rotation: the winner, and the visitor's sticky link.
    """
    query = rotator.candidates(visit.now)
    tried = set()
    for link in (won, visit.sticky_link):
        if link and link not in tried and (candidate := rotator_candidates.find_candidate(tx, query, link)):
            tried.add(link)
            yield candidate, True
    if rotator.rotation == "ordered":
        candidates = rotator_candidates.in_order(tx, query, last)
    else:
        candidates = rotator_candidates.random_order(tx, query)
    for candidate in candidates:
        if candidate.id not in tried:
            yield candidate, False


def _lock_state(tx: Connection, rotator: Rotator) -> tuple[int | None, int, int | None] | None:
    """Return (last link, clicks, winner), locked until the end of the transaction; None for a deleted campaign."""
    owned_by = (campaigns.c.id == rotator.id, campaigns.c.account == rotator.account)
    existing = select(campaigns.c.id, campaigns.c.account).where(*owned_by)
    new = upsert(tx, rotator_state).from_select(["campaign", "account"], existing)
    tx.execute(new.on_conflict_do_nothing())
    c = rotator_state.c
    row = tx.execute(select(c.last_link, c.clicks, c.winner).where(*_by_rotator(rotator)).with_for_update()).first()
    return (row.last_link, row.clicks, row.winner) if row else None


def _by_rotator(rotator: Rotator) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return rotator_state.c.campaign == rotator.id, rotator_state.c.account == rotator.account


def _take_click(tx: Connection, rotator: Rotator, candidate: RotatorLink) -> bool:
    """Take a click from the quota and the click limit; from neither if one of them is exhausted."""
    c = rotator_links.c
    by_key = (c.campaign == rotator.id, c.link == candidate.id, c.account == rotator.account)
    if candidate.quota is not None:
        stmt = update(rotator_links).where(*by_key, rotator_candidates.is_below_quota()).values(given=c.given + 1)
        if tx.execute(stmt).rowcount == 0:
            return False
    if candidate.clicklimit is None or take_click(tx, rotator.account, candidate.id):
        return True
    if candidate.quota is not None:
        tx.execute(update(rotator_links).where(*by_key).values(given=c.given - 1))
    return False
