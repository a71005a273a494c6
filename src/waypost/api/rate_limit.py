"""Who a key speaks for, and how often it may ask: exact over all processes (decisions 8 and 9)."""

from dataclasses import dataclass

from sqlalchemy import BigInteger, Boolean, Connection, Integer, bindparam, case, literal_column, or_, update

from waypost import clock, credentials
from waypost.auth import api_keys as auth_api_keys
from waypost.auth.api_keys import Caller
from waypost.db.database import Database
from waypost.db.schema import api_keys
from waypost.errors import unavailable

WINDOW_MS = 60_000
_MOST_REMEMBERED = 10_000
_ROUNDS = 3  # others may take the last request, and a window end, between a look and what follows


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


class Callers:
    """Knows callers by their keys, and takes each of their requests from the limit.

    A key that was let in and has more to take is most likely let in again: its next request is taken at once, by one
    statement that also says whose it is. All others are looked at first: they write nothing, and wait for no writer,
    but for one that another process used up, or that was revoked, since.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._accounts: dict[bytes, int] = {}  # by digests of keys; only where to look

    def let_in(self, key: str) -> tuple[Caller, Usage] | None:
        """The caller, and one request taken from its limit if that allows it. None for a key that is not known."""
        digest = credentials.digest(key)
        account = self._accounts.get(digest)
        for _ in range(_ROUNDS):
            if account is not None and (taken := self._take(account, digest)):
                return taken
            caller = self._database.read(lambda tx: auth_api_keys.find_caller(tx, digest))
            if caller is None or _is_full(caller):
                return None if caller is None else (caller, _refused(caller))
            account = caller.account
        raise unavailable()  # it reads what is not so any more: a server that has become a standby

    def _take(self, account: int, digest: bytes) -> tuple[Caller, Usage] | None:
        taken = self._database.write(lambda tx: claim(tx, account, digest), durability="relaxed", autocommit=True)
        if taken is None or not taken[1].remaining:
            self._accounts.pop(digest, None)
        else:
            if len(self._accounts) >= _MOST_REMEMBERED:
                self._accounts.clear()
            self._accounts[digest] = account
        return taken


def claim(tx: Connection, account: int, digest: bytes) -> tuple[Caller, Usage] | None:
    """Take one request from the key's window, opening a new one when the last is over. One statement, so exact.

    None when there is nothing to take, or no such key (any more).
    """
    now = clock.now_ms()
    row = tx.execute(_CLAIM, {"owner": account, "shown": digest, "ms": now, "s": now // 1000}).mappings().one_or_none()
    if row is None:
        return None
    caller = Caller(**row)
    left = caller.limit - caller.window_used
    return caller, Usage(caller.limit, left, _second_after(caller.window_start), allowed=True)


_MS = bindparam("ms", type_=BigInteger)
_S = bindparam("s", type_=BigInteger)
_OVER = or_(api_keys.c.window_start <= _MS - WINDOW_MS, api_keys.c.window_start > _MS + WINDOW_MS)
# In SQL, because SQLAlchemy leaves out the names of tables in all that SQLite is to return.
_OF_ACCOUNT = "FROM accounts JOIN plans ON plans.id = accounts.plan WHERE accounts.id = api_keys.account"
_LIMIT = literal_column(f"(SELECT coalesce(accounts.rate_limit, plans.rate_limit) {_OF_ACCOUNT})", Integer)
_SUSPENDED = literal_column(f"(SELECT accounts.suspended {_OF_ACCOUNT})", Boolean)
_CLAIM = (
    update(api_keys)
    .where(api_keys.c.account == bindparam("owner"), api_keys.c.digest == bindparam("shown"))
    .where(or_(api_keys.c.expires.is_(None), api_keys.c.expires > _S))
    .where(or_(_OVER, api_keys.c.window_used < _LIMIT))
    .values(
        window_start=case((_OVER, _MS), else_=api_keys.c.window_start),
        window_used=case((_OVER, 1), else_=api_keys.c.window_used + 1),
        last_used=_S,
    )
    .returning(
        api_keys.c.id.label("key"),
        api_keys.c.account,
        api_keys.c.scope,
        _SUSPENDED.label("suspended"),
        _LIMIT.label("limit"),
        api_keys.c.window_start,
        api_keys.c.window_used,
    )
)


def _is_full(caller: Caller) -> bool:
    """Whether a window read a moment ago is still on and used up.

    It has ended a minute after its start; one that begins far ahead was opened by a clock that has been set back since.
    """
    now = clock.now_ms()
    is_on = now - WINDOW_MS < caller.window_start <= now + WINDOW_MS
    return is_on and caller.window_used >= caller.limit


def _refused(caller: Caller) -> Usage:
    return Usage(caller.limit, 0, _second_after(caller.window_start), allowed=False)


def _second_after(start: int) -> int:
    return -(-(start + WINDOW_MS) // 1000)
