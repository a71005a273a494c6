"""How often a key may ask: exact over all processes (decisions 8 and 9)."""

from dataclasses import dataclass

from sqlalchemy import Connection, case, or_, select, update

from waypost import clock
from waypost.schema import api_keys

WINDOW_MS = 60_000


@dataclass(frozen=True)
class Usage:
    """Where a key stands in its window: requests left, and the Unix second in which a new window may begin."""

    limit: int
    remaining: int
    reset: int
    allowed: bool

    def headers(self) -> list[tuple[bytes, bytes]]:
        """The three headers of section 8 of the API document."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]


def is_full(*, limit: int, start: int, used: int) -> bool:
    """Whether a window read a moment ago is still on and used up: then there is nothing to write."""
    return used >= limit and not _is_over(start, clock.now_ms())


def refused(*, limit: int, start: int) -> Usage:
    """The usage of a window that is full."""
    return Usage(limit, 0, _second_after(start), allowed=False)


def claim(tx: Connection, account: int, key: int, *, limit: int) -> Usage:
    """Take one request from the key's window, opening a new one when the last is over. One statement, so exact."""
    now = clock.now_ms()
    mine = (api_keys.c.id == key, api_keys.c.account == account)
    over = or_(api_keys.c.window_start <= now - WINDOW_MS, api_keys.c.window_start > now + WINDOW_MS)
    taken = (
        update(api_keys)
        .where(*mine, or_(over, api_keys.c.window_used < limit))
        .values(
            window_start=case((over, now), else_=api_keys.c.window_start),
            window_used=case((over, 1), else_=api_keys.c.window_used + 1),
            last_used=now // 1000,
        )
        .returning(api_keys.c.window_start, api_keys.c.window_used)
    )
    row = tx.execute(taken).one_or_none()
    if row is None:
        start = tx.execute(select(api_keys.c.window_start).where(*mine)).scalar_one_or_none()
        return refused(limit=limit, start=now if start is None else start)
    return Usage(limit, limit - row.window_used, _second_after(row.window_start), allowed=True)


def _is_over(start: int, now: int) -> bool:
    """Whether a window has ended; one that begins far ahead was opened by a clock that has been set back since."""
    return start <= now - WINDOW_MS or start > now + WINDOW_MS


def _second_after(start: int) -> int:
    return -(-(start + WINDOW_MS) // 1000)
