"""Rotators on the fast path: those that neither take from a limit nor remember the visitor."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from waypost.clicks import journal
from waypost.core import clock
from waypost.interstitials.link_visits import link_outcome
from waypost.items.campaigns import rotator
from waypost.items.campaigns.rotator import Rotator, RotatorVisit
from waypost.urls import blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.batcher import Batcher
from waypost.visits.link_record import LinkView, find_link
from waypost.visits.outcome import JournalFields, Outcome
from waypost.visits.record_queries import without_blocked_link
from waypost.visits.request import VisitRequest
from waypost.visits.visit import VisitService

_MAX_SLOW, _MAX_RECORDS = 10_000, 10_000
_SLOW_SECONDS = 60


class RotatorChoice(NamedTuple):
    """The link that a visitor of a rotator gets."""

    campaign: Rotator
    link: LinkView


class _ReadRecords:
    """Rotators and links that were read since a change in the cache, which every change of them is."""

    def __init__(self, version: int = -1) -> None:
        self.version = version
        self._rotators: dict[str, Rotator] = {}
        self._links: dict[tuple[int, int], LinkView] = {}

    @property
    def size(self) -> int:
        return len(self._rotators) + len(self._links)

    def rotator(self, tx: Connection, slug: str) -> Rotator | None:
        campaign = self._rotators.get(slug) or rotator.find_rotator(tx, slug)
        if campaign is not None and not campaign.counts_turns:  # clicks change the others
            self._rotators[slug] = campaign
        return campaign

    def link(self, tx: Connection, account: int, item: int) -> LinkView | None:
        link = self._links.get((account, item)) or find_link(tx, account, item)
        if link is not None:
            self._links[account, item] = link
        return link


class RotatorLoader:
    """Chooses links for the visits of one turn of the event loop in one read. Runs on the event loop of one worker."""

    def __init__(self, visits: VisitService) -> None:
        self._visits = visits
        self._batcher: Batcher[VisitRequest, RotatorChoice | None] = Batcher(self._choose_all, thread_name="rotators")
        self._slow: dict[str, int] = {}  # slugs that need the slow path, and until when
        self._read = _ReadRecords()

    def accepts(self, visit: VisitRequest) -> bool:
        """Return whether the visit probably needs no slow path, and the database is not slow."""
        is_fast = self._slow.get(visit.alias, 0) < clock.now() and visit.is_click
        return is_fast and not self._batcher.is_overloaded

    def load(self, visit: VisitRequest, done: Callable[[RotatorChoice | BaseException], None]) -> None:
        """Call `done` with the choice for a visit; with an exception if it needs the whole request."""

        def finish(choice: RotatorChoice | BaseException | None) -> None:
            if choice is None:
                self._remember_slow(visit.alias)
            done(LookupError(visit.alias) if choice is None else choice)

        self._batcher.submit(visit, finish)

    def _remember_slow(self, slug: str) -> None:
        if len(self._slow) >= _MAX_SLOW:
            self._slow.clear()
        self._slow[slug] = clock.now() + _SLOW_SECONDS

    def close(self) -> None:
        """Stop the threads."""
        self._batcher.close()

    def _choose_all(self, visits: Sequence[VisitRequest]) -> list[RotatorChoice | None]:
        return self._visits.database.read(lambda tx: [self._choose(tx, visit) for visit in visits], autocommit=True)

    def _choose(self, tx: Connection, visit: VisitRequest) -> RotatorChoice | None:
        rotator_visit = visit_of_rotator(self._visits, visit, self._blocklist(tx))
        read = self._records()
        campaign, link, is_limited = rotator.peek(
            tx, visit.alias, rotator_visit, find=read.rotator, read_link=read.link
        )
        if campaign is None or link is None or is_limited or campaign.sticky:
            return None
        return RotatorChoice(campaign, link)

    def _records(self) -> "_ReadRecords":
        """Return the records as they were at the cache's version."""
        version = self._visits.cache.version
        if self._read.version != version or self._read.size >= _MAX_RECORDS:
            self._read = _ReadRecords(version)
        return self._read

    def _blocklist(self, tx: Connection) -> Blocklist:
        cache = self._visits.cache
        if cache.blocklist is not None:
            return cache.blocklist
        version = cache.version
        blocked = blocklist.read(tx)
        cache.put_blocklist(blocked, version=version)
        return blocked


def visit_of_rotator(
    visits: VisitService, visit: VisitRequest, blocked: Blocklist, sticky_link: int | None = None
) -> RotatorVisit:
    """Return what the choice of a link depends on. `sticky_link`: the link that this visitor got before."""
    return RotatorVisit(
        visit.is_click, sticky_link, lambda link: visits.is_reachable(visit, link, blocked), clock.now()
    )


def rotator_outcome(visits: VisitService, visit: VisitRequest, choice: RotatorChoice, blocked: Blocklist) -> Outcome:
    """Return the outcome of a visit, whose click was taken from the limits. It is logged for the campaign, too."""
    campaign, link = choice
    target = journal.item_fields(campaign.account, "campaign", campaign.id)
    rotation = JournalFields(target, journal.rotated(link.id))
    return link_outcome(visits, visit, without_blocked_link(link, blocked), blocked, rotation=rotation)
