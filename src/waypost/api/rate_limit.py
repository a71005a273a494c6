"""Rate limit of API keys, exact over all processes (decisions 8 and 9), and authentication in the same statement.

The window is that of `http/rate_limit.py`; the limit is a setting of accounts and plans.
"""

from dataclasses import dataclass

from sqlalchemy import BigInteger, Boolean, Connection, Integer, bindparam, case, literal_column, or_, update

from waypost import clock, credentials
from waypost.auth import api_keys as auth_api_keys
from waypost.auth.api_keys import ACCOUNT_FACTOR, Caller, used_by_account
from waypost.db.database import Database
from waypost.db.schema import api_keys
from waypost.errors import unavailable
from waypost.http.rate_limit import WINDOW_MS

_MAX_CACHED = 10_000
_MAX_ATTEMPTS = 3  # other processes can use up or renew a window between a read and the write that follows


@dataclass(frozen=True)
class Usage:
    """State of a key's window: remaining requests, and the Unix second in which a new window can begin."""

    limit: int
    remaining: int
    reset: int
    allowed: bool
    of_account: bool = False
    """The limit is that of all keys of the account."""

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the rate limit headers of a response."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]


class ApiKeyLimiter:
    """Authenticates API keys and takes each request from the key's limit.

    The next request of a recently accepted key is taken by one statement that also returns its account. Requests with
    other keys are read first, so that unknown and exhausted keys write nothing and wait for no writer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._accounts: dict[bytes, int] = {}  # by key digest; a hint only, the statement verifies it

    def is_recent(self, key: str) -> bool:
        """Return whether the last request with this key was accepted."""
        return credentials.digest(key) in self._accounts

    def acquire(self, key: str) -> tuple[Caller, Usage] | None:
        """Take one request from the key's limit, if it allows that. Return None for an unknown key."""
        digest = credentials.digest(key)
        account = self._accounts.get(digest)
        for _ in range(_MAX_ATTEMPTS):
            if account is not None and (acquired := self._acquire(account, digest)):
                return acquired
            caller = self._database.read(lambda tx: auth_api_keys.find_caller(tx, digest))
            if caller is None:
                return None
            if _is_exhausted(caller):
                return caller, Usage(caller.limit, 0, _reset_second(caller.window_start), allowed=False)
            if caller.account_used >= caller.limit * ACCOUNT_FACTOR:
                limit = caller.limit * ACCOUNT_FACTOR
                return caller, Usage(limit, 0, _reset_second(clock.now_ms()), allowed=False, of_account=True)
            account = caller.account
        raise unavailable()  # reads are stale: the server has become a standby

    def _acquire(self, account: int, digest: bytes) -> tuple[Caller, Usage] | None:
        acquired = self._database.write(lambda tx: claim(tx, account, digest), durability="relaxed", autocommit=True)
        if acquired is None or not acquired[1].remaining:
            self._accounts.pop(digest, None)
        else:
            if len(self._accounts) >= _MAX_CACHED:
                self._accounts.clear()
            self._accounts[digest] = account
        return acquired


def claim(tx: Connection, account: int, digest: bytes) -> tuple[Caller, Usage] | None:
    """Take one request from the key's window, or open a new window if it is over. One statement, so exact.

    Return None if no request is left or the key does not exist.
    """
    now = clock.now_ms()
    parameters = {"owner": account, "key_digest": digest, "ms": now, "s": now // 1000}
    row = tx.execute(_CLAIM, parameters).mappings().one_or_none()
    if row is None:
        return None
    caller = Caller(**row)
    remaining = caller.limit - caller.window_used
    return caller, Usage(caller.limit, remaining, _reset_second(caller.window_start), allowed=True)


_MS = bindparam("ms", type_=BigInteger)
_S = bindparam("s", type_=BigInteger)
_IS_OVER = or_(api_keys.c.window_start <= _MS - WINDOW_MS, api_keys.c.window_start > _MS + WINDOW_MS)
# In SQL, because SQLAlchemy omits table names in RETURNING for SQLite.
_OF_ACCOUNT = "FROM accounts JOIN plans ON plans.id = accounts.plan WHERE accounts.id = api_keys.account"
_LIMIT = literal_column(f"(SELECT coalesce(accounts.rate_limit, plans.rate_limit) {_OF_ACCOUNT})", Integer)
_SUSPENDED = literal_column(f"(SELECT accounts.suspended {_OF_ACCOUNT})", Boolean)
_CLAIM = (
    update(api_keys)
    .where(api_keys.c.account == bindparam("owner"), api_keys.c.digest == bindparam("key_digest"))
    .where(or_(api_keys.c.expires.is_(None), api_keys.c.expires > _S))
    .where(or_(_IS_OVER, api_keys.c.window_used < _LIMIT))
    .where(used_by_account(bindparam("owner", type_=BigInteger), _MS) < _LIMIT * ACCOUNT_FACTOR)
    .values(
        window_start=case((_IS_OVER, _MS), else_=api_keys.c.window_start),
        window_used=case((_IS_OVER, 1), else_=api_keys.c.window_used + 1),
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


def _is_exhausted(caller: Caller) -> bool:
    """Return whether the window is not over yet and has no request left.

    A window that starts far in the future was opened before the clock was set back; it counts as over.
    """
    now = clock.now_ms()
    is_current = now - WINDOW_MS < caller.window_start <= now + WINDOW_MS
    return is_current and caller.window_used >= caller.limit


def _reset_second(start: int) -> int:
    return -(-(start + WINDOW_MS) // 1000)
