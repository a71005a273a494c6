"""Rate limit of unauthenticated requests, and the policies of all rate limits.

The counts are exact over all processes of a node and, with PostgreSQL, over all nodes. With SQLite they are in a
separate file next to the database: unauthenticated requests never take the write lock of the service.
An attempt is counted before it is checked, so that parallel attempts count too. Limits shared by all networks count
failures only, and throttle when they are exhausted: a few attempts of each network remain, so that an attacker cannot
lock out others.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from sqlalchemy import Connection, TextClause, delete, select, text, update

from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import attempt_limits
from waypost.db.signing import installation_signer
from waypost.http.client_ip import UNKNOWN, site_of

WINDOW_MS = 60_000
"""Window of most limits below, and of API keys, whose limits are settings of accounts and plans."""
REPORTS_PER_HOUR = 5
"""Abuse reports of a network, counted in the table of reports (`items/moderation/reports.py`)."""
_UNKNOWN_FACTOR = 5  # below the ratio of shared limits to those of one network

PolicyName = Literal[
    "login",
    "known browser",
    "form",
    "e-mail",
    "notice",
    "report confirmation",
    "report recipient",
    "test report",
    "password",
    "bad API key",
    "overlay form",
    "report",
    "export",
    "preview",
    "shared statistics",
]
_HOUR_MS = 60 * WINDOW_MS
_DAY_MS = 24 * _HOUR_MS


class Limit(NamedTuple):
    """How many attempts with the same key are allowed in a window. `key` is a format string.

    `site` in the key is the /48 of an IPv6 address, which may be one customer, or the IPv4 address. A `shared` limit
    counts all networks together. With `failures_only`, `release` undoes the count.
    """

    key: str
    attempts: int
    window_ms: int = WINDOW_MS
    shared: bool = False
    failures_only: bool = False


class Attempt(NamedTuple):
    """An attempt: counted if `wait` is 0, otherwise rejected for `wait` seconds; `is_shared`: by a shared limit."""

    wait: int = 0
    is_shared: bool = False
    failures: Sequence[bytes] = ()


# The limits of one network are lower than the totals: otherwise one network could block all others.
POLICIES: dict[PolicyName, tuple[Limit, ...]] = {
    "login": (
        Limit("login to {subject} from {network}", 10),
        Limit("login to {subject} from site {site}", 20),
        Limit("logins from {network}", 100),
        Limit("logins from site {site}", 200),
        Limit("login to {subject}", 100, shared=True, failures_only=True),
        Limit("logins", 1000, shared=True, failures_only=True),
    ),
    # A browser that is or was signed in to the account: `network` is the id of the browser.
    "known browser": (
        Limit("login to {subject} from browser {network}", 10),
        Limit("login to {subject} from browser {network} today", 50, _DAY_MS, failures_only=True),
    ),
    "form": (  # registration and password reset
        Limit("{subject} from {network}", 10),
        Limit("{subject} from site {site}", 20),
        Limit("forms", 1000, shared=True),
    ),
    "e-mail": (Limit("e-mails to {subject}", 3, _HOUR_MS),),
    "notice": (Limit("notices to {subject}", 10, _HOUR_MS),),
    "report confirmation": (Limit("confirmations of reports of {subject}", 10, _DAY_MS),),  # by account
    "report recipient": (Limit("confirmations of reports to {subject}", 3, _DAY_MS),),  # of all accounts
    "test report": (Limit("test reports of {subject}", 10, _HOUR_MS),),
    "preview": (Limit("previews of {subject}", 30),),  # each fetches a page and an image
    "shared statistics": (  # pages that are not in the cache
        Limit("statistics from {network}", 30),
        Limit("statistics from site {site}", 60),
        Limit("statistics of {subject}", 300),
    ),
    "export": (Limit("exports of {subject}", 10, _HOUR_MS),),
    "password": (  # of links and files: only wrong passwords count
        Limit("password of {subject} from {network}", 10, failures_only=True),
        Limit("password of {subject} from site {site}", 20, failures_only=True),
        Limit("passwords from {network}", 100, failures_only=True),
        Limit("passwords from site {site}", 200, failures_only=True),
        Limit("password of {subject}", 100, shared=True, failures_only=True),
        Limit("passwords", 1000, shared=True, failures_only=True),
    ),
    "bad API key": (Limit("bad API keys from {network}", 30),),
    "overlay form": (
        Limit("forms of {subject} from {network}", 5),
        Limit("forms of {subject}", 300),
    ),
    # Keeps floods of reports away from the write lock; REPORTS_PER_HOUR is the exact limit.
    "report": (Limit("reports from {network}", 2 * REPORTS_PER_HOUR),),
}

_SLOW = Limit("attempts of site {site} beyond the shared limits", 5, _HOUR_MS)
"""Attempts of each network when a shared limit is exhausted."""
_MAX_CACHED = 20_000
_PURGE_INTERVAL = 256  # attempts


class RateLimiter:
    """Counts attempts. All methods block; call them in a thread. Close it when done."""

    def __init__(self, folder: Path, database: Database) -> None:
        self._database = database
        self._own = Database(f"sqlite:///{folder.resolve() / 'attempt_limits.db'}") if database.is_sqlite else None
        self._key = b""
        self._attempts = 0
        self._exhausted: OrderedDict[bytes, int] = OrderedDict()  # end of the window in milliseconds, by digest
        self._lock = threading.Lock()

    def acquire(self, policy: PolicyName, *, network: str, subject: str = "") -> int:
        """Count one attempt. Return 0 if it is allowed; else nothing is counted, and the result is the wait in seconds.

        Raises UNAVAILABLE when the database does not answer.
        """
        return self.attempt(policy, network=network, subject=subject).wait

    def attempt(self, policy: PolicyName, *, network: str, subject: str = "") -> Attempt:
        """Like `acquire`. Call `release` with the result when the attempt was right."""
        limits = POLICIES[policy]
        attempt = self._attempt(limits, network, subject)
        if attempt.wait and attempt.is_shared:
            own = (*(limit for limit in limits if not limit.shared), _SLOW)
            attempt = self._attempt(own, network, subject)
        return attempt

    def release(self, attempt: Attempt) -> None:
        """Undo the count of an attempt that was right, in the limits that count failures only."""
        if not attempt.failures:
            return
        statement = (
            update(attempt_limits)
            .where(attempt_limits.c.digest.in_(attempt.failures))
            .values(remaining=attempt_limits.c.remaining + 1)
        )
        self._counts().write(lambda tx: tx.execute(statement), durability="relaxed")

    def _attempt(self, limits: Sequence[Limit], network: str, subject: str) -> Attempt:
        now, by_digest = clock.now_ms(), self._by_digest(limits, network, subject)
        with self._lock:
            known = ((self._exhausted.get(digest, 0), digest) for digest in by_digest)
            exhausted = next((pair for pair in known if now < pair[0] <= now + 2 * by_digest[pair[1]].window_ms), None)
        if exhausted is None:
            try:
                self._counts().write(lambda tx: _acquire(tx, by_digest, now), durability="relaxed")
            except _Exhausted as error:
                exhausted = error.until, error.digest
                self._cache(error)
            else:
                self._purge(now)
                return Attempt(failures=[digest for digest, limit in by_digest.items() if limit.failures_only])
        until, digest = exhausted
        return Attempt(wait=max(1, -(-(until - now) // 1000)), is_shared=by_digest[digest].shared)

    def hash_of(self, network: str) -> str:
        """Return a keyed hash of a network, 16 hexadecimal digits, which is the same as long as the installation."""
        return hashlib.blake2b(network.encode(), digest_size=8, key=self._derived_key()).hexdigest()

    def close(self) -> None:
        """Close the file of counts."""
        if self._own is not None:
            self._own.close()

    def _by_digest(self, limits: Sequence[Limit], network: str, subject: str) -> dict[bytes, Limit]:
        """Return the limits by digest, in one order, so that transactions cannot deadlock.

        Digests are keyed: the stored counts do not reveal addresses.
        """
        self._derived_key()
        site = site_of(network)
        pairs = (
            (
                self._digest(limit.key.format(network=network, site=site, subject=subject)),
                limit if limit.shared else limit._replace(attempts=attempts_of(network, limit.attempts)),
            )
            for limit in limits
        )
        return dict(sorted(pairs))

    def _derived_key(self) -> bytes:
        if not self._key:
            self._key = self._database.read(installation_signer).derive_key("rate limit")
        return self._key

    def _digest(self, key: str) -> bytes:
        return hashlib.blake2b(key.encode(), digest_size=16, key=self._key).digest()

    def _counts(self) -> Database:
        if self._own is None:
            return self._database
        if not self._attempts:
            self._own.write(lambda tx: attempt_limits.create(tx, checkfirst=True))
        return self._own

    def _cache(self, exhausted: "_Exhausted") -> None:
        """Reject further attempts without asking the database until the window ends."""
        with self._lock:
            self._exhausted[exhausted.digest] = exhausted.until
            if len(self._exhausted) > _MAX_CACHED:
                self._exhausted.popitem(last=False)

    def _purge(self, now: int) -> None:
        self._attempts += 1
        if self._attempts % _PURGE_INTERVAL == 0:
            statement = delete(attempt_limits).where(attempt_limits.c.window_end <= now)
            self._counts().write(lambda tx: tx.execute(statement), durability="relaxed")


def attempts_of(network: str, attempts: int) -> int:
    """Return how many attempts a network has, given those of one client.

    Clients whose address a proxy does not tell are one network. It has several times the attempts, so that one client
    cannot lock out the others as easily, but fewer than the shared limits, so that it cannot lock out known networks.
    """
    return attempts * _UNKNOWN_FACTOR if network == UNKNOWN else attempts


class _Exhausted(Exception):
    """A limit has no attempts left until the time `until`, in milliseconds."""

    def __init__(self, digest: bytes, until: int) -> None:
        super().__init__()
        self.digest = digest
        self.until = until


def _acquire(tx: Connection, limits: Mapping[bytes, Limit], now: int) -> None:
    """Take one attempt of each limit in one statement. Raises _Exhausted, which rolls it back, if one has none left."""
    parameters: dict[str, object] = {"now": now}
    for n, (digest, limit) in enumerate(limits.items()):
        parameters |= {f"digest{n}": digest, f"end{n}": now + limit.window_ms, f"left{n}": limit.attempts - 1}
    acquired = {bytes(digest) for digest in tx.execute(_acquire_statement(len(limits)), parameters).scalars()}
    for digest in limits:
        if digest not in acquired:
            query = select(attempt_limits.c.window_end).where(attempt_limits.c.digest == digest)
            raise _Exhausted(digest, int(tx.execute(query).scalar_one()))


@cache
def _acquire_statement(number: int) -> TextClause:
    """Return the statement for a number of limits, as text: SQLAlchemy does not cache inserts of several rows."""
    rows = ", ".join(f"(:digest{n}, :end{n}, :left{n})" for n in range(number))
    # A window that ends far in the future was opened before the clock was set back. It must be far, because clocks of
    # nodes differ, and `now` is outdated for a request that waited.
    latest_end = "excluded.window_end + (excluded.window_end - :now)"
    is_over = f"(attempt_limits.window_end <= :now OR attempt_limits.window_end > {latest_end})"
    return text(
        f"INSERT INTO attempt_limits (digest, window_end, remaining) VALUES {rows} ON CONFLICT (digest) DO UPDATE SET"  # noqa: S608  # only our own words
        f" window_end = CASE WHEN {is_over} THEN excluded.window_end ELSE attempt_limits.window_end END,"
        f" remaining = CASE WHEN {is_over} THEN excluded.remaining ELSE attempt_limits.remaining - 1 END"
        f" WHERE {is_over} OR attempt_limits.remaining > 0 RETURNING digest"
    )
