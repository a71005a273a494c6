"""Records, domains, limits, passwords and the journal: the visits of one worker share them (decisions 22, 46 to 49).

Records of aliases that are not in the cache are read together: those of one turn of the event loop by one statement.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
import structlog
from sqlalchemy import Connection

from waypost.auth.attempt_limits import PolicyName, RateLimiter
from waypost.clicks import journal
from waypost.clicks.classify import classifier
from waypost.clicks.geo.countries import code_of, name_of
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.journal import Journal
from waypost.core import clock, credentials
from waypost.core.settings import Settings
from waypost.db.change_log import Name
from waypost.db.database import Database
from waypost.http.client_ip import network_of
from waypost.urls import alias_rules, blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.batcher import Batcher, deliver
from waypost.visits.cache import Cache
from waypost.visits.click_limits import ClickTaker, has_clicks_left
from waypost.visits.decide import Decision, Facts, Redirect, Refusal, decide, expired_outcome
from waypost.visits.link_record import LinkView
from waypost.visits.record_queries import (
    NAMED_RECORDS,
    BioView,
    DomainView,
    QrView,
    Resolved,
    find_domain,
    plain_links,
    resolve,
    without_blocked,
)
from waypost.visits.request import VisitRequest

_log = structlog.get_logger("visits")
_MAX_CACHED = 16_384  # characters; larger bio pages and QR codes are read from the database every time
_Key = tuple[int, Name]
LoadResult = Resolved | BaseException | None
"""The record of a name, None if there is none, or the exception that reading it raised."""


class AliasLoader:
    """The loader of one worker."""

    def __init__(self, database: Database, cache: Cache, settings: Settings) -> None:
        self._database = database
        self._cache = cache
        self._settings = settings
        self._reader = database.event_loop_reader(NAMED_RECORDS["postgresql"])
        self._batcher: Batcher[Name, Resolved | None] = Batcher(
            self._read, thread_name="aliases", is_quick=database.is_sqlite, start=self._start_reading
        )
        # By cache version and name: a request after a change does not share an earlier read.
        self._waiting: dict[_Key, list[Callable[[LoadResult], None]]] = {}

    @property
    def is_overloaded(self) -> bool:
        """Return whether many names are waiting, or the database is slow."""
        return self._batcher.is_overloaded

    def load(self, name: Name, done: Callable[[LoadResult], None]) -> None:
        """Read the record of a name, and call `done` with the outcome."""
        key = (self._cache.version, name)
        callbacks = self._waiting.setdefault(key, [])
        callbacks.append(done)
        if len(callbacks) == 1:
            self._batcher.submit(name, partial(self._deliver, key))

    async def read(self, name: Name) -> Resolved | None:
        """Return the record of a name."""
        return await self._batcher.run(name)

    def close(self) -> None:
        """Stop the threads."""
        self._batcher.close()
        if self._reader is not None:
            self._reader.close()

    def _deliver(self, key: _Key, outcome: LoadResult) -> None:
        for done in self._waiting.pop(key):
            deliver(done, outcome)

    def _start_reading(self, names: Sequence[Name], done: Callable[[list[Resolved | None] | None], None]) -> bool:
        """Read the records on the event loop. That is possible if all of them are plain links or unknown."""
        cache = self._cache
        version, blocked = cache.version, cache.blocklist
        if self._reader is None or blocked is None or not all(cache.get_domain(host)[0] for host, _ in names):
            return False

        def finish(rows: Sequence[Sequence[Any]] | None) -> None:
            records = None
            try:
                by_name = None if rows is None else plain_links(rows)
                records = None if by_name is None else self._cache_all(names, by_name, blocked, version)
            except Exception:  # noqa: BLE001  # a thread reads the names again, and reports its fault to the requests
                _log.exception("names could not be read on the event loop")
            done(records)

        return self._reader.fetch_all(finish, names=json.dumps(names))

    def _read(self, names: Sequence[Name]) -> list[Resolved | None]:
        version = self._cache.version
        return self._database.read(lambda tx: self._read_all(tx, names, version), autocommit=True)

    def _read_all(self, tx: Connection, names: Sequence[Name], version: int) -> list[Resolved | None]:
        """Return the records. They, the blocklist and the domains of their hosts are cached."""
        cache = self._cache
        blocked = cache.blocklist
        if blocked is None:
            blocked = blocklist.read(tx)
            cache.put_blocklist(blocked, version=version)
        for host in {host for host, _ in names}:
            if not cache.get_domain(host)[0]:
                cache.put_domain(host, find_domain(tx, host, self._settings), version=version)
        return self._cache_all(names, resolve(tx, names, self._settings), blocked, version)

    def _cache_all(
        self, names: Sequence[Name], by_name: Mapping[Name, Resolved], blocked: Blocklist, version: int
    ) -> list[Resolved | None]:
        records = [without_blocked(by_name.get(name), blocked) for name in names]
        for name, record in zip(names, records, strict=True):
            if not isinstance(record, BioView | QrView) or record.size <= _MAX_CACHED:
                self._cache.put_resolved(name, record, version=version)
        return records


T = TypeVar("T")
_CONCURRENT_READS = 4  # reads spend most of their time in Python, so more threads only compete with each other
MAX_HOST = 253


class PasswordCheck:
    """Verifies passwords. Only wrong passwords count for the rate limit."""

    def __init__(self, rate_limiter: RateLimiter) -> None:
        self._rate_limiter = rate_limiter
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def verify(self, subject: str, password_hash: str, visit: VisitRequest) -> bool | None:
        """Return whether the password is right; None if the rate limit is reached and it was not checked.

        `subject` names the protected object, such as "link 5".
        """
        limited = {"subject": subject, "network": network_of(visit.client_ip)}
        # One check at a time for each object: many right passwords at once would exhaust the limit of wrong ones.
        async with self._locks.setdefault(subject, anyio.Lock()):
            attempt = await anyio.to_thread.run_sync(partial(self._rate_limiter.attempt, "password", **limited))
            if attempt.wait:
                return None
            is_right = await anyio.to_thread.run_sync(credentials.password_matches, password_hash, visit.password)
            if is_right:
                await anyio.to_thread.run_sync(self._rate_limiter.release, attempt)
        return is_right


@dataclass(kw_only=True)
class VisitService:
    """Visits of one worker process, answered from its cache and the database."""

    settings: Settings
    database: Database
    cache: Cache
    journal: Journal
    countries: Countries
    rate_limiter: RateLimiter

    def __post_init__(self) -> None:
        self.password_check = PasswordCheck(self.rate_limiter)
        self.click_taker = ClickTaker(self.database)
        self.loader = AliasLoader(self.database, self.cache, self.settings)
        self._read_limiter = anyio.CapacityLimiter(_CONCURRENT_READS)

    async def resolve(self, host: str, alias: str) -> Resolved | None:
        """Return the record of an alias, from the cache or by one read."""
        max_length = alias_rules.MAX_LENGTH if host else alias_rules.MAX_OWN_LENGTH
        if not (is_valid_name(host, MAX_HOST) and is_valid_name(alias, max_length)):
            return None
        is_cached, resolved = self.cache.get_resolved((host, alias))
        return resolved if is_cached else await self.loader.read((host, alias))

    async def canonical_alias(self, host: str, alias: str) -> str:
        """Return a requested alias as its host stores it."""
        domain = await self.find_domain(host)
        alias = alias_rules.normalize(alias, host)
        return alias_rules.fold_case(alias) if domain and domain.ignorecase else alias

    async def find_domain(self, host: str) -> DomainView | None:
        """Return the branded domain of a host, from the cache or by one read."""
        if not is_valid_name(host, MAX_HOST):
            return None
        cache = self.cache
        is_cached, domain = cache.get_domain(host)
        if not is_cached:
            version = cache.version
            domain = await self.read(lambda tx: find_domain(tx, host, self.settings))
            cache.put_domain(host, domain, version=version)
        return domain

    async def scheme(self, host: str) -> str | None:
        """Return the scheme of a branded domain's short URLs; None for every other host."""
        domain = await self.find_domain(host)
        return (domain.scheme or None) if domain else None

    async def blocklist(self) -> Blocklist:
        """Return the administrator's blocklist, from the cache or by one read."""
        cache = self.cache
        if cache.blocklist is not None:
            return cache.blocklist
        version = cache.version
        blocked = await self.read(blocklist.read)
        cache.put_blocklist(blocked, version=version)
        return blocked

    def close(self) -> None:
        """Stop the threads."""
        self.loader.close()
        self.click_taker.close()

    async def preview(self, link: LinkView) -> Decision:
        """Return the outcome that a visit would have, without one (decision 50)."""
        facts = Facts(now=clock.now())
        outcome = decide(link, facts)
        if isinstance(outcome, Redirect) and outcome.is_click and link.clicklimit is not None:
            is_left = await self.read(lambda tx: has_clicks_left(tx, link.account, link.id))
            outcome = outcome if is_left else expired_outcome(link, "limit")
        return Refusal("blocked") if is_blocked(await self.blocklist(), link, outcome, facts) else outcome

    def is_reachable(self, visit: VisitRequest, link: LinkView, blocked: Blocklist) -> bool:
        """Return whether the visit would be redirected, limits aside."""
        facts = self.facts(link, visit, unlocked=False)
        outcome = decide(link, facts)
        is_click = isinstance(outcome, Redirect) and outcome.is_click
        return is_click and not is_blocked(blocked, link, outcome, facts)

    def log_visit(self, target: bytes, visit: VisitRequest, flags: bytes = b"") -> None:
        """Append a visit of `target` to the journal. `flags` are added to those of the request."""
        headers = (visit.user_agent, visit.referrer, visit.accept_language)
        client = (visit.client_ip.encode(), visit.country_code[:2])
        line = journal.format_line(target, clock.now_ms(), visit.flags + flags, *client, headers)
        self.journal.write(line)

    async def is_rate_limited(self, policy: PolicyName, *, network: str, subject: str = "") -> bool:
        """Count one attempt. Return whether the rate limit rejects it."""
        acquire = partial(self.rate_limiter.acquire, policy, network=network, subject=subject)
        return bool(await anyio.to_thread.run_sync(acquire))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one of a few threads for visits. Each of its statements sees the database as it is then."""
        read = partial(self.database.read, work, autocommit=True)
        return await anyio.to_thread.run_sync(read, limiter=self._read_limiter)

    def facts(self, link: LinkView, visit: VisitRequest, *, unlocked: bool) -> Facts:
        """Return the facts for the decision. Only those that the rules of the link need are looked up."""
        country = os = device = language = ""
        if link.geotarget:
            code = visit.country_code.decode("latin-1")
            country = name_of(code) if code else self.countries.country(visit.client_ip)
        if link.devicetarget or link.deeplink:
            agent = classifier.agent(visit.agent_text)
            os, device = agent.os, agent.device
        if link.languagetarget:
            language = visit.accept_language.decode("latin-1")
        country_code = code_of(country) if country else ""
        return Facts(clock.now(), unlocked, country, country_code, os, device, language, visit.query)


def is_valid_name(name: str, max_length: int) -> bool:
    """Return whether a host, alias or search text can exist. Other names reach neither the database nor the cache."""
    return len(name) <= max_length and name.isprintable()


def is_blocked(blocked: Blocklist, link: LinkView, outcome: Decision, facts: Facts) -> bool:
    """Return whether the administrator has blocked the destination. The visitor's query does not matter."""
    if not isinstance(outcome, Redirect) or not blocked:
        return False
    if outcome.is_click and facts.query:
        outcome = decide(link, facts._replace(query=""))
    return isinstance(outcome, Redirect) and blocked.blocks(outcome.url)
