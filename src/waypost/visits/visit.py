"""One visit: found, decided, and then acted on once: the limit taken, the click written down (decisions 46 to 49)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from sqlalchemy import Connection, or_, select, update

from waypost import clock, credentials
from waypost.aliases import words
from waypost.clicks import classify, journal
from waypost.clicks.countries import code_of
from waypost.clicks.geo import Countries
from waypost.db import Database
from waypost.net.guesses import Guesses
from waypost.net.proxies import network_of
from waypost.schema import links
from waypost.visits.decide import Answer, Facts, Redirect, Refusal, decide, used_up
from waypost.visits.find import Domain, Target, find_domain, find_link
from waypost.visits.lane import Traffic

T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A request for a name, as far as it matters. The words are as they came."""

    host: str
    alias: str
    address: str
    country_code: bytes
    agent: bytes
    referrer: bytes
    language: bytes
    query: str = ""
    password: str = ""
    is_head: bool = False
    is_prefetch: bool = False

    @property
    def flags(self) -> bytes:
        """The journal's flags for this request."""
        return (journal.HEAD if self.is_head else b"") + (journal.PREFETCH if self.is_prefetch else b"")


class Visitor:
    """Answers visits with what this process remembers, and what the database knows."""

    def __init__(self, *, database: Database, traffic: Traffic, countries: Countries) -> None:
        self._database = database
        self._traffic = traffic
        self._countries = countries
        self._by_link_and_address = Guesses(limit=10)
        self._by_link = Guesses(limit=100)
        self._in_all = Guesses(limit=1000)
        self._guessing: WeakValueDictionary[int, anyio.Lock] = WeakValueDictionary()

    async def target(self, host: str, alias: str) -> Target | None:
        """What a name leads to, from memory or by one read."""
        if not (_can_be(host, _LONGEST_HOST) and _can_be(alias, words.MAX_LENGTH)):
            return None
        memory = self._traffic.memory
        known, target = memory.target((host, alias))
        if not known:
            version = memory.version
            target = await self._read(lambda tx: find_link(tx, host, alias))
            memory.keep_target((host, alias), target, version=version)
        return target

    async def domain(self, host: str) -> Domain | None:
        """The branded domain that a host is, from memory or by one read."""
        if not _can_be(host, _LONGEST_HOST):
            return None
        memory = self._traffic.memory
        known, domain = memory.domain(host)
        if not known:
            version = memory.version
            domain = await self._read(lambda tx: find_domain(tx, host))
            memory.keep_domain(host, domain, version=version)
        return domain

    async def visit(self, asked: Asked) -> tuple[Target | None, Answer]:
        """Decide and act. When this returns, what is to be counted is on disk."""
        target = await self.target(asked.host, asked.alias)
        unlocked: bool | None = False
        if target and target.password and asked.password:
            unlocked = await self._unlocks(target, asked)
            if unlocked is None:
                return target, Refusal("guessing")
        answer = decide(target, self._facts(target, asked, unlocked=bool(unlocked)))
        if target is None:
            await self._note_missing(asked)
            return target, answer
        if isinstance(answer, Redirect) and answer.counts:
            left = await self._has_left(target, takes=target.clicklimit is not None and self._would_count(asked))
            answer = answer if left else used_up(target)
        if isinstance(answer, Redirect) or answer.why == "gone":
            late = not (isinstance(answer, Redirect) and answer.counts)
            flags = asked.flags + (journal.LATE if late else b"")
            self._write(journal.target_of(target.account, "link", target.id), asked, flags)
        return target, answer

    async def look(self, host: str, alias: str) -> tuple[Target | None, Answer]:
        """What a name would answer to a visit, without one (decision 50)."""
        target = await self.target(host, alias)
        answer = decide(target, Facts(now=clock.now()))
        if target is not None and isinstance(answer, Redirect) and answer.counts:
            answer = answer if await self._has_left(target, takes=False) else used_up(target)
        return target, answer

    def _facts(self, target: Target | None, asked: Asked, *, unlocked: bool) -> Facts:
        """Only what the target asks for is looked up."""
        now = clock.now()
        if target is None or target.is_plain:
            return Facts(now=now, unlocked=unlocked, query=asked.query)
        who = classify.agent(asked.agent.decode("utf-8", "replace"))
        code = asked.country_code.decode("latin-1")
        country = self._countries.name_of(code) if code else self._countries.country(asked.address)
        return Facts(
            now=now,
            unlocked=unlocked,
            country=country,
            country_code=code_of(country),
            os=who.os,
            device=who.device,
            language=classify.language(asked.language.decode("latin-1")),
            query=asked.query,
        )

    async def _has_left(self, target: Target, *, takes: bool) -> bool:
        """Whether a link has a click left; one with a limit has one less when this visit takes it."""
        if target.clicklimit is None:
            return True
        if takes:
            return await anyio.to_thread.run_sync(self._database.count, lambda tx: _take(tx, target.id))
        return await self._read(lambda tx: _is_left(tx, target.id))

    def _would_count(self, asked: Asked) -> bool:
        """Whether this visit is a click, so that it may use up a limit (decision 47)."""
        if asked.is_head or asked.is_prefetch:
            return False
        return classify.agent(asked.agent.decode("utf-8", "replace")).kind in ("human", "tool")

    async def _unlocks(self, target: Target, asked: Asked) -> bool | None:
        """Whether the password is right; None when it was not looked at, because of too many wrong ones before."""
        hashed = target.password or ""
        # One at a time for each link, or many at once would all be let in before the first of them is found wrong.
        async with self._guessing.setdefault(target.id, anyio.Lock()):
            if self._must_wait(target, asked):
                return None
            right = await anyio.to_thread.run_sync(credentials.password_matches, hashed, asked.password)
            if not right:
                self._by_link_and_address.failed(f"{target.id} {network_of(asked.address)}")
                self._by_link.failed(str(target.id))
                self._in_all.failed("")
        return right

    def _must_wait(self, target: Target, asked: Asked) -> bool:
        one = self._by_link_and_address.wait(f"{target.id} {network_of(asked.address)}")
        return bool(one or self._by_link.wait(str(target.id)) or self._in_all.wait(""))

    async def _note_missing(self, asked: Asked) -> None:
        domain = await self.domain(asked.host)
        if domain is not None:
            self._write(journal.target_of(domain.account, "missing", domain.id), asked, asked.flags)

    def _write(self, target: bytes, asked: Asked, flags: bytes) -> None:
        words = (asked.agent, asked.referrer, asked.language)
        entry = journal.line(target, clock.now_ms(), flags, asked.address.encode(), asked.country_code[:2], words)
        self._traffic.journal.write(entry)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._database.read, work)


_LONGEST_HOST = 253
_LEFT = or_(links.c.clicklimit.is_(None), links.c.taken < links.c.clicklimit)


def _can_be(name: str, longest: int) -> bool:
    """Whether anything can have this name; the database and the memory never meet those that cannot be."""
    return len(name) <= longest and name.isprintable()


def _take(tx: Connection, link: int) -> bool:
    """Take one of a limited link's clicks, if there is one left: one statement, so exact."""
    return tx.execute(update(links).where(links.c.id == link, _LEFT).values(taken=links.c.taken + 1)).rowcount == 1


def _is_left(tx: Connection, link: int) -> bool:
    """Whether a limited link has a click left."""
    return tx.execute(select(links.c.id).where(links.c.id == link, _LEFT)).first() is not None
