"""API keys of an account."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, case, func, insert, or_, select, update

from waypost.auth.attempt_limits import WINDOW_MS
from waypost.core import clock, credentials
from waypost.core.errors import invalid, not_found
from waypost.db import account_rows, audit_log
from waypost.db.schema import accounts, api_keys, plans

MAX_KEYS = 25
ACCOUNT_FACTOR = 10
"""The limit of all keys of an account, as a multiple of the limit of one key."""
Scope = Literal["read", "write", "account"]
"""Rights of a key: read; also write; also change the e-mail address and password."""


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
