"""API keys of an account."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, func, insert, or_, select

from waypost import clock, credentials
from waypost.db.schema import accounts, api_keys, plans
from waypost.errors import not_found

Scope = Literal["read", "write"]


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
        .join(accounts, accounts.c.id == c.account)
        .join(plans, plans.c.id == accounts.c.plan)
        .where(c.digest == digest, or_(c.expires.is_(None), c.expires > clock.now()))
    )
    row = tx.execute(query).mappings().first()
    return Caller(**row) if row else None


def add(tx: Connection, account: int, *, name: str, scope: Scope = "write", expires: int | None = None) -> str:
    """Create a key and return it. It cannot be read later."""
    key = credentials.new_key()
    stored_key = {"digest": credentials.digest(key), "hint": key[: credentials.HINT_LENGTH]}
    fields = {"account": account, "name": name, "scope": scope, "expires": expires, "created": clock.now()}
    tx.execute(insert(api_keys).values(**stored_key, **fields))
    return key


def of(tx: Connection, account: int) -> list[Key]:
    """Return the account's keys, newest first."""
    c = api_keys.c
    query = select(c.id, c.name, c.hint, c.scope, c.expires, c.created, c.last_used).where(c.account == account)
    return [Key(**row) for row in tx.execute(query.order_by(c.id.desc())).mappings()]


def revoke(tx: Connection, account: int, key: int) -> None:
    """Delete a key. Raises NOT_FOUND if the account has no such key."""
    deleted = tx.execute(api_keys.delete().where(api_keys.c.id == key, api_keys.c.account == account))
    if deleted.rowcount == 0:
        raise not_found("API key")
