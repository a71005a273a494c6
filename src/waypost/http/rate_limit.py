"""Rate limit of unauthenticated requests, and the policies of all rate limits.

The counts are exact over all processes of a node and, with PostgreSQL, over all nodes. With SQLite they are in a
separate file next to the database: unauthenticated requests never take the write lock of the service.
An attempt is counted before it is checked, so that parallel attempts count too.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from sqlalchemy import Connection, TextClause, delete, select, text, update

from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import attempt_limits
from waypost.signing import installation_signer

WINDOW_MS = 60_000
"""Window of every policy below, and of API keys, whose limits are settings of accounts and plans."""
REPORTS_PER_HOUR = 5
"""Abuse reports of a network, counted in the table of reports (`moderation/reports.py`)."""

PolicyName = Literal["login", "password", "bad API key", "overlay form", "report"]


class Limit(NamedTuple):
    """How many attempts with the same key are allowed in a window. `key` is a format string."""

    key: str
    attempts: int


# The limits of one network are lower than the totals: otherwise one network could block all others.
POLICIES: dict[PolicyName, tuple[Limit, ...]] = {
    "login": (
        Limit("login to {subject} from {network}", 10),
        Limit("login to {subject}", 100),
        Limit("logins from {network}", 100),
        Limit("logins", 1000),
    ),
    "password": (  # of links and files: only wrong passwords count
        Limit("password of {subject} from {network}", 10),
        Limit("password of {subject}", 100),
        Limit("passwords from {network}", 100),
        Limit("passwords", 1000),
    ),
    "bad API key": (Limit("bad API keys from {network}", 30),),
    "overlay form": (
        Limit("forms of {subject} from {network}", 5),
        Limit("forms of {subject}", 300),
    ),
    # Keeps floods of requests away from the write lock; REPORTS_PER_HOUR is the exact limit.
    "report": (Limit("reports from {network}", 2 * REPORTS_PER_HOUR),),
}

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
        now, limits = clock.now_ms(), self._limits(policy, network=network, subject=subject)
        with self._lock:
            until = max((self._exhausted.get(digest, 0) for digest, _ in limits), default=0)
        if not now < until <= now + WINDOW_MS:
            try:
                self._counts().write(lambda tx: _acquire(tx, limits, now), durability="relaxed")
            except _Exhausted as exhausted:
                until = exhausted.until
                self._cache(exhausted)
            else:
                self._purge(now)
                return 0
        return max(1, -(-(until - now) // 1000))

    def release(self, policy: PolicyName, *, network: str, subject: str = "") -> None:
        """Undo the count of one attempt that was correct."""
        digests = [digest for digest, _ in self._limits(policy, network=network, subject=subject)]
        statement = (
            update(attempt_limits)
            .where(attempt_limits.c.digest.in_(digests))
            .values(remaining=attempt_limits.c.remaining + 1)
        )
        self._counts().write(lambda tx: tx.execute(statement), durability="relaxed")

    def close(self) -> None:
        """Close the file of counts."""
        if self._own is not None:
            self._own.close()

    def _limits(self, policy: PolicyName, *, network: str, subject: str) -> list[tuple[bytes, int]]:
        """Return the digest and attempts of each limit, sorted so that transactions cannot deadlock.

        Digests are keyed: the stored counts do not reveal addresses.
        """
        if not self._key:
            self._key = self._database.read(installation_signer).derive_key("rate limit")
        return sorted(
            (self._digest(limit.key.format(network=network, subject=subject)), limit.attempts)
            for limit in POLICIES[policy]
        )

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
            statement = delete(attempt_limits).where(attempt_limits.c.window_start <= now - WINDOW_MS)
            self._counts().write(lambda tx: tx.execute(statement), durability="relaxed")


class _Exhausted(Exception):
    """A limit has no attempts left until the time `until`, in milliseconds."""

    def __init__(self, digest: bytes, until: int) -> None:
        super().__init__()
        self.digest = digest
        self.until = until


def _acquire(tx: Connection, limits: Sequence[tuple[bytes, int]], now: int) -> None:
    """Take one attempt of each limit in one statement. Raises _Exhausted, which rolls it back, if one has none left."""
    parameters: dict[str, object] = {"now": now, "past": now - WINDOW_MS, "ahead": now + WINDOW_MS}
    for n, (digest, attempts) in enumerate(limits):
        parameters |= {f"digest{n}": digest, f"left{n}": attempts - 1}
    acquired = {bytes(digest) for digest in tx.execute(_acquire_statement(len(limits)), parameters).scalars()}
    for digest, _ in limits:
        if digest not in acquired:
            query = select(attempt_limits.c.window_start).where(attempt_limits.c.digest == digest)
            raise _Exhausted(digest, int(tx.execute(query).scalar_one()) + WINDOW_MS)


@cache
def _acquire_statement(number: int) -> TextClause:
    """Return the statement for a number of limits, as text: SQLAlchemy does not cache inserts of several rows."""
    rows = ", ".join(f"(:digest{n}, :now, :left{n})" for n in range(number))
    # A window that starts in the future was opened before the clock was set back.
    is_over = "(attempt_limits.window_start <= :past OR attempt_limits.window_start > :ahead)"
    return text(
        f"INSERT INTO attempt_limits (digest, window_start, remaining) VALUES {rows} ON CONFLICT (digest) DO UPDATE SET"  # noqa: S608  # only our own words
        f" window_start = CASE WHEN {is_over} THEN excluded.window_start ELSE attempt_limits.window_start END,"
        f" remaining = CASE WHEN {is_over} THEN excluded.remaining ELSE attempt_limits.remaining - 1 END"
        f" WHERE {is_over} OR attempt_limits.remaining > 0 RETURNING digest"
    )
