"""One visit: found, decided, and then acted on once: the limit taken, the click written down (decisions 46 to 49)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import Connection, or_, select, update

from waypost import clock
from waypost.clicks.classify import classifier
from waypost.clicks.geo.countries import code_of
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.db.schema import links
from waypost.http.attempt_limiter import AttemptLimiter
from waypost.urls import alias_rules, blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.blocklist_filter import without_blocked
from waypost.visits.decide import Outcome, Facts, Redirect, Refusal, decide, expired_outcome
from waypost.visits.fast_path import WorkerState
from waypost.visits.lookup import BioView, DomainView, LinkView, Resolved, find_domain, resolve
from waypost.visits.password_check import PasswordCheck
from waypost.visits.request import VisitRequest

T = TypeVar("T")
_LARGE_BIO = 16_384  # characters: very many larger ones would be too much to remember
_READS_AT_ONCE = 4  # reads take most of their time in Python, so more threads only get in each other's way


class VisitService:
    """Answers visits with what this process remembers, and what the database knows."""

    def __init__(
        self, *, database: Database, worker_state: WorkerState, countries: Countries, attempt_limiter: AttemptLimiter
    ) -> None:
        self._database = database
        self._traffic = worker_state
        self._countries = countries
        self.attempt_limiter = attempt_limiter
        self.password_check = PasswordCheck(attempt_limiter)
        self._reading = anyio.CapacityLimiter(_READS_AT_ONCE)

    async def resolve(self, host: str, alias: str) -> Resolved | None:
        """What a name leads to, from memory or by one read."""
        if not (is_valid_name(host, _LONGEST_HOST) and is_valid_name(alias, alias_rules.MAX_LENGTH)):
            return None
        memory = self._traffic.cache
        known, found = memory.get_resolved((host, alias))
        if not known:
            version = memory.version
            forbidden = await self.blocklist()
            found = await self.read(lambda tx: without_blocked(resolve(tx, host, alias), forbidden))
            if not isinstance(found, BioView) or found.size <= _LARGE_BIO:
                memory.put_resolved((host, alias), found, version=version)
        return found

    async def find_domain(self, host: str) -> DomainView | None:
        """The branded domain that a host is, from memory or by one read."""
        if not is_valid_name(host, _LONGEST_HOST):
            return None
        memory = self._traffic.cache
        known, domain = memory.get_domain(host)
        if not known:
            version = memory.version
            domain = await self.read(lambda tx: find_domain(tx, host))
            memory.put_domain(host, domain, version=version)
        return domain

    async def blocklist(self) -> Blocklist:
        """What nothing may lead to, from memory or by one read."""
        memory = self._traffic.cache
        if memory.blocklist is not None:
            return memory.blocklist
        version = memory.version
        found = await self.read(blocklist.read)
        memory.put_blocklist(found, version=version)
        return found

    async def visit(self, asked: VisitRequest, target: LinkView, *, has_taken: bool = False) -> Outcome:
        """Decide on a link and act. When this returns, what is to be counted is on disk.

        `has_taken`: the click is taken from the link's limit already, if it has one.
        """
        unlocked: bool | None = False
        if target.password and asked.password:
            unlocked = await self.password_check.verify(f"link {target.id}", target.password, asked)
            if unlocked is None:
                return Refusal("guessing")
        facts = self._facts(target, asked, unlocked=bool(unlocked))
        answer = decide(target, facts)
        takes = target.clicklimit is not None and asked.is_click
        forbidden = await self.blocklist()
        if is_blocked(forbidden, target, answer, facts):
            return Refusal("blocked")
        if isinstance(answer, Redirect) and answer.is_click and not has_taken:
            answer = answer if await self._has_left(target, takes=takes) else expired_outcome(target)
            if is_blocked(forbidden, target, answer, facts):
                return Refusal("blocked")
        if isinstance(answer, Redirect) or answer.reason == "gone":
            counts = isinstance(answer, Redirect) and answer.is_click
            fate = (journal.TAKEN if takes else b"") if counts else journal.LATE
            self.log_visit(journal.target_of(target.account, "link", target.id), asked, fate)
        return answer

    async def peek(self, target: LinkView) -> Outcome:
        """What a link would answer to a visit, without one (decision 50)."""
        facts = Facts(now=clock.now())
        answer = decide(target, facts)
        if isinstance(answer, Redirect) and answer.is_click:
            answer = answer if await self._has_left(target, takes=False) else expired_outcome(target)
        return Refusal("blocked") if is_blocked(await self.blocklist(), target, answer, facts) else answer

    def is_reachable(self, asked: VisitRequest, target: LinkView, forbidden: Blocklist) -> bool:
        """Whether this visitor would get anywhere, as far as no limit is asked."""
        facts = self._facts(target, asked, unlocked=False)
        answer = decide(target, facts)
        good = isinstance(answer, Redirect) and answer.is_click
        return good and not is_blocked(forbidden, target, answer, facts)

    async def log_missing(self, asked: VisitRequest) -> None:
        """Write down that a branded domain, or the service's own host, was asked for what it does not have."""
        domain = await self.find_domain(asked.host)
        if domain is not None:
            self.log_visit(journal.target_of(domain.account, "missing", domain.id), asked)

    def log_visit(self, target: bytes, asked: VisitRequest, flags: bytes = b"") -> None:
        """Write a visit of `target` into the journal, with flags beside those of the request."""
        words = (asked.user_agent, asked.referrer, asked.accept_language)
        told = (asked.client_ip.encode(), asked.country_code[:2], words)
        self._traffic.journal.write(journal.line(target, clock.now_ms(), asked.flags + flags, *told))

    def _facts(self, target: LinkView, asked: VisitRequest, *, unlocked: bool) -> Facts:
        """Only what the target asks for is looked up."""
        now = clock.now()
        if target.is_plain:
            return Facts(now=now, unlocked=unlocked, query=asked.query)
        who = classifier.agent(asked.user_agent.decode("utf-8", "replace"))
        code = asked.country_code.decode("latin-1")
        country = self._countries.name_of(code) if code else self._countries.country(asked.client_ip)
        return Facts(
            now=now,
            unlocked=unlocked,
            country=country,
            country_code=code_of(country),
            os=who.os,
            device=who.device,
            language=classifier.language(asked.accept_language.decode("latin-1")),
            query=asked.query,
        )

    async def _has_left(self, target: LinkView, *, takes: bool) -> bool:
        """Whether a link has a click left; one with a limit has one less when this visit takes it."""
        if target.clicklimit is None:
            return True
        if takes:
            return await anyio.to_thread.run_sync(
                partial(self._database.write, durability="process"), lambda tx: take_click(tx, target.account, target.id)
            )
        return await self.read(lambda tx: has_clicks_left(tx, target.account, target.id))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a snapshot, with few others at once."""
        return await anyio.to_thread.run_sync(self._database.read, work, limiter=self._reading)


_LONGEST_HOST = 253
_LEFT = or_(links.c.clicklimit.is_(None), links.c.taken < links.c.clicklimit)


def is_valid_name(name: str, longest: int) -> bool:
    """Whether anything can have this name; the database and the memory never meet those that cannot be."""
    return len(name) <= longest and name.isprintable()


def is_blocked(forbidden: Blocklist, target: LinkView, answer: Outcome, facts: Facts) -> bool:
    """Whether the operator has blocked where an answer leads. What the visitor adds to it has no say."""
    if not isinstance(answer, Redirect) or not forbidden:
        return False
    if answer.is_click and facts.query:
        answer = decide(target, replace(facts, query=""))
    return isinstance(answer, Redirect) and forbidden.has(answer.url)


def take_click(tx: Connection, account: int, link: int) -> bool:
    """Take one of a limited link's clicks, if there is one left: one statement, so exact."""
    mine = (links.c.id == link, links.c.account == account)
    return tx.execute(update(links).where(*mine, _LEFT).values(taken=links.c.taken + 1)).rowcount == 1


def has_clicks_left(tx: Connection, account: int, link: int) -> bool:
    """Whether a limited link has a click left."""
    mine = (links.c.id == link, links.c.account == account)
    return tx.execute(select(links.c.id).where(*mine, _LEFT)).first() is not None
