"""Records, domains, limits, passwords and the journal: the visits of one worker share them (decisions 22, 46 to 49)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from sqlalchemy import Connection

from waypost.auth.attempt_limits import PolicyName, RateLimiter
from waypost.clicks import journal
from waypost.clicks.geo.lookup import Countries
from waypost.clicks.journal import Journal
from waypost.core import clock, credentials
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.http.client_ip import network_of
from waypost.urls import alias_rules, blocklist
from waypost.urls.blocklist import Blocklist
from waypost.visits.cache import AliasLoader, Cache
from waypost.visits.click_limits import ClickTaker, has_clicks_left
from waypost.visits.decide import Decision, Facts, Redirect, Refusal, decide, expired_outcome, facts_of, is_blocked
from waypost.visits.link_record import LinkView
from waypost.visits.record_queries import DomainView, Resolved, find_domain
from waypost.visits.request import VisitRequest

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
        facts = facts_of(link, visit, self.countries)
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


def is_valid_name(name: str, max_length: int) -> bool:
    """Return whether a host, alias or search text can exist. Other names reach neither the database nor the cache."""
    return len(name) <= max_length and name.isprintable()
