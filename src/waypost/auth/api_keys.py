"""API keys of an account, their rate limit and the authentication of requests with them.

The limit is exact over all processes (decisions 8 and 9), and counted in the statement that authenticates. Its window
is that of `auth/attempt_limits.py`; its size is a setting of accounts and plans.
"""

import threading
import time
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Integer,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from waypost.auth.attempt_limits import WINDOW_MS
from waypost.core import clock, credentials
from waypost.core.errors import Problem, invalid, not_found, unavailable
from waypost.db import account_rows, audit_log
from waypost.db.database import Database
from waypost.db.schema import accounts, api_keys, plans

MAX_KEYS = 25
ACCOUNT_FACTOR = 10
"""The limit of all keys of an account, as a multiple of the limit of one key."""
Scope = Literal["read", "write", "account"]
"""Rights of a key: read; also write; also change the e-mail address and password."""
_MAX_CACHED = 10_000
_BLOCK_SECONDS = 0.5  # a revoked key or a suspended account ends within a second
_SHARE_OF_USED = 50
_SHARE_OF_LIMIT = 100
_LOCK_SECONDS = 2.0  # that a request that only reads waits for other writers of SQLite's file
_RETRY_SECONDS = 5.0  # after a failed write, until a request that only reads tries the next one
_MAX_ATTEMPTS = 3  # other processes can use up or renew a window between a read and the write that follows


@dataclass(frozen=True)
class Caller:
    """Account and permissions of a valid API key, and its rate limit at the time of the query."""

    key: int
    account: int
    scope: Scope
    suspended: bool
    limit: int
    window_start: int
    window_used: int
    account_used: int = 0
    """Requests in the current windows of all keys of the account."""


@dataclass(frozen=True)
class Key:
    """An API key for display: `hint` is its beginning; the key itself is not stored."""

    id: int
    name: str
    hint: str
    scope: Scope
    expires: int | None
    created: int
    last_used: int | None


def find_caller(tx: Connection, digest: bytes) -> Caller | None:
    """Return the caller of the key with this digest, if the key exists and has not expired."""
    c = api_keys.c
    limit = func.coalesce(accounts.c.rate_limit, plans.c.rate_limit).label("limit")
    query = (
        select(c.id.label("key"), c.account, c.scope, accounts.c.suspended, limit, c.window_start, c.window_used)
        .add_columns(used_by_account(c.account, clock.now_ms()).label("account_used"))
        .join(accounts, accounts.c.id == c.account)
        .join(plans, plans.c.id == accounts.c.plan)
        .where(c.digest == digest, or_(c.expires.is_(None), c.expires > clock.now()))
    )
    row = tx.execute(query).mappings().first()
    return Caller(**row) if row else None


def used_by_account(account: ColumnElement[int], now: ColumnElement[int] | int) -> ColumnElement[int]:
    """Return the requests in the windows that are not over at `now` (milliseconds), of keys present and revoked."""
    keys = api_keys.alias("all_keys")
    owner = accounts.alias("key_owner")
    present = select(func.coalesce(func.sum(keys.c.window_used), 0)).where(
        keys.c.account == account, keys.c.window_start > now - WINDOW_MS, keys.c.window_start <= now + WINDOW_MS
    )
    revoked = select(func.coalesce(func.sum(owner.c.revoked_used), 0)).where(
        owner.c.id == account, owner.c.revoked_start > now - WINDOW_MS, owner.c.revoked_start <= now + WINDOW_MS
    )
    return present.scalar_subquery() + revoked.scalar_subquery()


def add(tx: Connection, account: int, *, name: str, scope: Scope = "write", expires: int | None = None) -> str:
    """Create a key and return it. It cannot be read later.

    Raises INVALID if the account has MAX_KEYS keys, NOT_FOUND if it was deleted.
    """
    account_rows.lock(tx, account)
    count = select(func.count()).select_from(api_keys).where(api_keys.c.account == account)
    if tx.execute(count).scalar_one() >= MAX_KEYS:
        raise invalid("name", f"An account can have {MAX_KEYS} API keys. Revoke one that is no longer needed.")
    key = credentials.new_key()
    stored_key = {"digest": credentials.digest(key), "hint": key[: credentials.HINT_LENGTH]}
    fields = {"account": account, "name": name, "scope": scope, "expires": expires, "created": clock.now()}
    item = tx.execute(insert(api_keys).values(**stored_key, **fields).returning(api_keys.c.id)).scalar_one()
    after = {"scope": scope, "expires": expires, "hint": stored_key["hint"]}
    audit_log.record(tx, account, "key.created", item, label=name, after=after)
    return key


def of(tx: Connection, account: int) -> list[Key]:
    """Return the account's keys, newest first."""
    c = api_keys.c
    query = select(c.id, c.name, c.hint, c.scope, c.expires, c.created, c.last_used).where(c.account == account)
    return [Key(**row) for row in tx.execute(query.order_by(c.id.desc())).mappings()]


def revoke_all(tx: Connection, account: int) -> None:
    """Delete all keys of the account."""
    _delete(tx, account, api_keys.c.account == account)


def revoke(tx: Connection, account: int, key: int) -> None:
    """Delete a key. Raises NOT_FOUND if the account has no such key."""
    if not _delete(tx, account, api_keys.c.id == key):
        raise not_found("API key")


def _delete(tx: Connection, account: int, condition: ColumnElement[bool]) -> int:
    """Delete keys and return their number.

    Their requests still count for the limit of the account: a new key is no new limit.
    """
    c, now = api_keys.c, clock.now_ms()
    deleted = api_keys.delete().where(c.account == account, condition)
    rows = tx.execute(deleted.returning(c.id, c.name, c.hint, c.window_start, c.window_used)).all()
    for row in rows:
        audit_log.record(tx, account, "key.deleted", row.id, label=row.name, before={"hint": row.hint})
    if used := sum(row.window_used for row in rows if now - WINDOW_MS < row.window_start <= now + WINDOW_MS):
        is_current = accounts.c.revoked_start > now - WINDOW_MS
        values = {"revoked_start": now, "revoked_used": case((is_current, accounts.c.revoked_used), else_=0) + used}
        tx.execute(update(accounts).where(accounts.c.id == account).values(values))
    return len(rows)


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


@dataclass
class _Block:
    """Requests of a key that were taken at once: `left` can be used until a time of the monotonic clock."""

    caller: Caller
    left: int
    until: float


class _NotWritable(Exception):
    """The database refused to take a request; a key that it does not find is no such case."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class ApiKeyLimiter:
    """Authenticates API keys and takes each request from the key's limit.

    The next request of a recently accepted key is taken by one statement that also returns its account. Requests with
    other keys are read first, so that unknown and exhausted keys write nothing and wait for no writer.
    A key with a large limit that is in heavy use takes several requests at once, so most of its requests write nothing.
    What it does not use within half a second is lost. So this is at most a hundredth of the limit, and the second half
    of a window is taken one by one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blocks: dict[bytes, _Block] = {}  # by key digest
        self._lock = threading.Lock()
        self._writable_at = 0.0  # of the monotonic clock

    def is_recent(self, key: str) -> bool:
        """Return whether the last request with this key was accepted."""
        return credentials.digest(key) in self._blocks

    def acquire(self, key: str, *, only_reads: bool = False) -> tuple[Caller, Usage] | None:
        """Take one request from the key's limit, if it allows that. Return None for an unknown key.

        While the disk is full or the database locked, a request that only reads is answered without being taken.
        """
        digest = credentials.digest(key)
        if only_reads and self._writable_at:
            if time.monotonic() < self._writable_at:
                return self._read(digest)
            self._writable_at = time.monotonic() + _RETRY_SECONDS  # others do not wait for this attempt
        try:
            acquired = self._take_one(digest, _LOCK_SECONDS if only_reads else None)
        except _NotWritable as error:
            if not only_reads:
                raise error.problem from error
            acquired = self._read(digest)  # raises the problem if the database does not answer either
            self._writable_at = time.monotonic() + _RETRY_SECONDS  # a lock would delay each request
        else:
            self._writable_at = 0.0
        return acquired

    def _read(self, digest: bytes) -> tuple[Caller, Usage] | None:
        """Return a key and its usage without taking a request."""
        caller = self._database.read(lambda tx: find_caller(tx, digest))
        if caller is None:
            return None
        usage = Usage(caller.limit, 0, _reset_second(caller.window_start), allowed=not _is_exhausted(caller))
        return caller, replace(usage, remaining=max(0, caller.limit - caller.window_used))

    def _take_one(self, digest: bytes, lock_seconds: float | None) -> tuple[Caller, Usage] | None:
        block = self._blocks.get(digest)
        if block is not None and self._take(block):
            return block.caller, _usage(block.caller, block.left)
        account = None if block is None else block.caller.account
        size = _next_size(block)
        for _ in range(_MAX_ATTEMPTS):
            if account is not None and (acquired := self._acquire(account, digest, size, lock_seconds)):
                return acquired
            caller = self._database.read(lambda tx: find_caller(tx, digest))
            if caller is None:
                return None
            if _is_exhausted(caller):
                return caller, Usage(caller.limit, 0, _reset_second(caller.window_start), allowed=False)
            if caller.account_used >= caller.limit * ACCOUNT_FACTOR:
                limit = caller.limit * ACCOUNT_FACTOR
                return caller, Usage(limit, 0, _reset_second(clock.now_ms()), allowed=False, of_account=True)
            account, size = caller.account, 1
        raise unavailable()  # reads are stale: the server has become a standby

    def take(self, key: str, account: int, size: int) -> Usage:
        """Take further requests of an accepted key, all of them or none."""
        digest = credentials.digest(key)
        caller = self._database.write(
            lambda tx: claim(tx, account, digest, size), durability="relaxed", autocommit=True
        )
        if caller is not None:
            return _usage(caller, 0)
        present = self._database.read(lambda tx: find_caller(tx, digest))
        if present is None:
            raise unavailable()  # the key was just revoked
        left = max(0, present.limit - present.window_used)
        return Usage(present.limit, left, _reset_second(present.window_start), allowed=False)

    def _take(self, block: _Block) -> bool:
        """Take one request from the block, if one is left and neither its time nor its window is over."""
        is_current = time.monotonic() < block.until and clock.now_ms() < block.caller.window_start + WINDOW_MS
        with self._lock:
            has_taken = is_current and block.left > 0
            block.left -= has_taken
        return has_taken

    def _acquire(
        self, account: int, digest: bytes, size: int, lock_seconds: float | None
    ) -> tuple[Caller, Usage] | None:
        try:
            caller = self._database.write(
                lambda tx: claim(tx, account, digest, size),
                durability="relaxed",
                autocommit=True,
                lock_seconds=lock_seconds,
            )
        except Problem as problem:
            raise _NotWritable(problem) from problem
        if caller is None or caller.window_used >= caller.limit:
            self._blocks.pop(digest, None)
        else:
            if len(self._blocks) >= _MAX_CACHED:
                self._blocks.clear()
            self._blocks[digest] = _Block(caller, size - 1, time.monotonic() + _BLOCK_SECONDS)
        return None if caller is None else (caller, _usage(caller, size - 1))


def claim(tx: Connection, account: int, digest: bytes, size: int = 1) -> Caller | None:
    """Take requests from the key's window, or open a new window if it is over. One statement, so exact.

    Return None if fewer are left or the key does not exist.
    """
    now = clock.now_ms()
    parameters = {"owner": account, "key_digest": digest, "ms": now, "s": now // 1000, "size": size}
    row = tx.execute(_CLAIM, parameters).mappings().one_or_none()
    return None if row is None else Caller(**row)


def _usage(caller: Caller, left: int) -> Usage:
    remaining = caller.limit - caller.window_used + left
    return Usage(caller.limit, remaining, _reset_second(caller.window_start), allowed=True)


def _next_size(block: _Block | None) -> int:
    """Return how many requests a key takes at once: several in heavy use, if the last ones were used in time."""
    if block is None or block.left or time.monotonic() > block.until:
        return 1
    used, limit = block.caller.window_used, block.caller.limit
    return max(1, min(used // _SHARE_OF_USED, limit // _SHARE_OF_LIMIT, limit // 2 - used))


_MS = bindparam("ms", type_=BigInteger)
_S = bindparam("s", type_=BigInteger)
_SIZE = bindparam("size", type_=Integer)
_IS_OVER = or_(api_keys.c.window_start <= _MS - WINDOW_MS, api_keys.c.window_start > _MS + WINDOW_MS)
# In SQL, because SQLAlchemy omits table names in RETURNING for SQLite.
_OF_ACCOUNT = "FROM accounts JOIN plans ON plans.id = accounts.plan WHERE accounts.id = api_keys.account"
_LIMIT = literal_column(f"(SELECT coalesce(accounts.rate_limit, plans.rate_limit) {_OF_ACCOUNT})", Integer)
_SUSPENDED = literal_column(f"(SELECT accounts.suspended {_OF_ACCOUNT})", Boolean)
_CLAIM = (
    update(api_keys)
    .where(api_keys.c.account == bindparam("owner"), api_keys.c.digest == bindparam("key_digest"))
    .where(or_(api_keys.c.expires.is_(None), api_keys.c.expires > _S))
    .where(or_(_IS_OVER, api_keys.c.window_used + _SIZE <= _LIMIT), _SIZE <= _LIMIT)
    .where(used_by_account(bindparam("owner", type_=BigInteger), _MS) + _SIZE <= _LIMIT * ACCOUNT_FACTOR)
    .values(
        window_start=case((_IS_OVER, _MS), else_=api_keys.c.window_start),
        window_used=case((_IS_OVER, _SIZE), else_=api_keys.c.window_used + _SIZE),
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
