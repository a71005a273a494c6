"""How often strangers may try something in a minute: over all processes of a node and, on PostgreSQL, over all nodes.

A try is counted before it is looked at, so many at once are as many tries. With SQLite the counts are in a file of
their own beside the database: no stranger ever takes the lock under which the service writes.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, TextClause, delete, select, text, update

from waypost import clock
from waypost.db.database import Database
from waypost.db.schema import attempt_limits, installation

_WINDOW_MS = 60_000
_REMEMBERED = 20_000
_TIDY_EVERY = 256  # claims


class Limit(NamedTuple):
    """Who tries what, in words that tell it from everything else, and how often a minute that may be."""

    what: str
    most: int


class AttemptLimiter:
    """The counts. Close them when done. Everything here blocks, and is for threads."""

    def __init__(self, folder: Path, database: Database) -> None:
        self._database = database
        self._own = Database(f"sqlite:///{folder.resolve() / 'attempt_limits.db'}") if database.is_sqlite else None
        self._key = b""
        self._taken = 0
        self._full: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def acquire(self, *tries: Limit) -> int:
        """Count one of each. 0 when they may be made; else none is counted, and the answer is the seconds to wait.

        Raises UNAVAILABLE when nobody can say.
        """
        now, digests = clock.now_ms(), self._digests(tries)
        with self._lock:
            known = max((self._full.get(digest, 0) for digest, _ in digests), default=0)
        if not now < known <= now + _WINDOW_MS:
            try:
                self._counts().write(lambda tx: _take(tx, digests, now), durability="relaxed")
            except _Full as full:
                known = full.until
                self._remember(full)
            else:
                self._tidy(now)
                return 0
        return max(1, -(-(known - now) // 1000))

    def release(self, *tries: Limit) -> None:
        """What was tried was right: it does not count."""
        digests = [digest for digest, _ in self._digests(tries)]
        mine = (
            update(attempt_limits)
            .where(attempt_limits.c.digest.in_(digests))
            .values(remaining=attempt_limits.c.remaining + 1)
        )
        self._counts().write(lambda tx: tx.execute(mine), durability="relaxed")

    def close(self) -> None:
        """Give everything back that is our own."""
        if self._own is not None:
            self._own.close()

    def _digests(self, tries: Sequence[Limit]) -> list[tuple[bytes, int]]:
        """In one order for everybody, so that no two wait for each other. Nobody can read an address out of them."""
        if not self._key:
            secret = select(installation.c.value).where(installation.c.name == "secret")
            found = bytes(self._database.read(lambda tx: tx.execute(secret).scalar_one()))
            self._key = hashlib.sha256(b"guesses of strangers:" + found).digest()
        keyed = (
            (hashlib.blake2b(one.what.encode(), digest_size=16, key=self._key).digest(), one.most) for one in tries
        )
        return sorted(keyed)

    def _counts(self) -> Database:
        if self._own is None:
            return self._database
        if not self._taken:
            self._own.write(lambda tx: attempt_limits.create(tx, checkfirst=True))
        return self._own

    def _remember(self, full: "_Full") -> None:
        """Who is over a limit is refused without being looked up, until his minute is over."""
        with self._lock:
            self._full[full.digest] = full.until
            if len(self._full) > _REMEMBERED:
                self._full.popitem(last=False)

    def _tidy(self, now: int) -> None:
        self._taken += 1
        if self._taken % _TIDY_EVERY == 0:
            self._counts().write(
                lambda tx: tx.execute(delete(attempt_limits).where(attempt_limits.c.window_start <= now - _WINDOW_MS)),
                durability="relaxed",
            )


class _Full(Exception):
    """One of them has nothing left until that millisecond."""

    def __init__(self, digest: bytes, until: int) -> None:
        super().__init__()
        self.digest = digest
        self.until = until


def _take(tx: Connection, digests: list[tuple[bytes, int]], now: int) -> None:
    """One statement, so exact; raises _Full, which undoes it, when one of them has nothing left."""
    told: dict[str, object] = {"now": now, "past": now - _WINDOW_MS, "ahead": now + _WINDOW_MS}
    for n, (digest, most) in enumerate(digests):
        told |= {f"digest{n}": digest, f"left{n}": most - 1}
    taken = {bytes(digest) for digest in tx.execute(_taking(len(digests)), told).scalars()}
    for digest, _ in digests:
        if digest not in taken:
            start = tx.execute(
                select(attempt_limits.c.window_start).where(attempt_limits.c.digest == digest)
            ).scalar_one()
            raise _Full(digest, int(start) + _WINDOW_MS)


@cache
def _taking(number: int) -> TextClause:
    """The statement for so many. In SQL: SQLAlchemy works out anew, every time, one that inserts several rows."""
    new = ", ".join(f"(:digest{n}, :now, :left{n})" for n in range(number))
    # A window that begins far ahead was opened by a clock that has been set back since.
    over = "(attempt_limits.window_start <= :past OR attempt_limits.window_start > :ahead)"
    return text(
        f"INSERT INTO attempt_limits (digest, window_start, remaining) VALUES {new} ON CONFLICT (digest) DO UPDATE SET"  # noqa: S608  # no word of anybody's
        f" window_start = CASE WHEN {over} THEN excluded.window_start ELSE attempt_limits.window_start END,"
        f" remaining = CASE WHEN {over} THEN excluded.remaining ELSE attempt_limits.remaining - 1 END"
        f" WHERE {over} OR attempt_limits.remaining > 0 RETURNING digest"
    )
