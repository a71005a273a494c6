"""Sessions of the dashboard. The browser has a token, the database only its hash."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, insert, select, true, update

from waypost.core import clock, credentials
from waypost.core.errors import not_found
from waypost.db import account_rows, audit_log
from waypost.db.schema import accounts, sessions

LIFE = 30 * 86_400
"""Seconds after its last use that a session expires."""
MAX_LIFE = 180 * 86_400
"""Seconds after its start that a session expires, even if it is used."""
_SEEN_EVERY = 600  # seconds between updates of the last use, so that reading pages rarely writes


@dataclass(frozen=True)
class Session:
    """A signed-in browser; `agent` describes it. Times are Unix seconds, UTC."""

    id: int
    agent: str
    created: int
    seen: int


@dataclass(frozen=True)
class SignedIn:
    """The session and account of a token. `language` and `timezone` are "" until the user selects one."""

    session: int
    account: int
    email: str
    username: str
    owner: bool
    suspended: bool
    deletion_due: int | None
    language: str
    timezone: str
    stale: bool


def begin(tx: Connection, account: int, *, agent: str) -> str:
    """Start a session and return the browser's token. It is always new, which prevents session fixation.

    Raises NOT_FOUND if the account was deleted.
    """
    account_rows.lock(tx, account)
    token = credentials.new_token()
    now = clock.now()
    digest = credentials.digest(token)
    tx.execute(insert(sessions).values(account=account, digest=digest, agent=agent, created=now, seen=now))
    tx.execute(sessions.delete().where(sessions.c.seen < now - LIFE))
    audit_log.record(tx, account, "session.started", label=agent)
    return token


def find(tx: Connection, token: str) -> SignedIn | None:
    """Return the session of a token, if it has not expired. `stale` says that `touch` is due."""
    now = clock.now()
    query = (
        select(sessions.c.id.label("session"), sessions.c.account, (sessions.c.seen < now - _SEEN_EVERY).label("stale"))
        .add_columns(accounts.c.email, accounts.c.username, accounts.c.owner)
        .add_columns(accounts.c.suspended, accounts.c.deletion_due, accounts.c.language, accounts.c.timezone)
        .join(accounts, accounts.c.id == sessions.c.account)
        .where(sessions.c.digest == credentials.digest(token), *_is_valid(now))
    )
    row = tx.execute(query).mappings().first()
    return SignedIn(**row) if row else None


def touch(tx: Connection, account: int, session: int) -> None:
    """Update the time of a session's last use."""
    owned_by = (sessions.c.id == session, sessions.c.account == account)
    tx.execute(update(sessions).where(*owned_by).values(seen=clock.now()))


def of(tx: Connection, account: int) -> Sequence[Session]:
    """Return the account's sessions, last used first."""
    c = sessions.c
    query = select(c.id, c.agent, c.created, c.seen).where(c.account == account, *_is_valid(clock.now()))
    return [Session(**row) for row in tx.execute(query.order_by(c.seen.desc(), c.id.desc())).mappings()]


def agent_of(tx: Connection, session: int) -> str:
    """Return the description of the browser of a session."""
    return tx.execute(select(sessions.c.agent).where(sessions.c.id == session)).scalar_one_or_none() or ""


def end(tx: Connection, account: int, session: int) -> None:
    """Delete one session. Raises NOT_FOUND if the account has no such session."""
    if not _end(tx, account, sessions.c.id == session):
        raise not_found("session")


def end_others(tx: Connection, account: int, *, keep: int) -> None:
    """Delete all sessions of the account except one."""
    _end(tx, account, sessions.c.id != keep)


def end_all(tx: Connection, account: int) -> None:
    """Sign every browser of the account out."""
    _end(tx, account, true())


def _end(tx: Connection, account: int, condition: ColumnElement[bool]) -> int:
    """Delete sessions of the account, and return their number."""
    statement = sessions.delete().where(sessions.c.account == account, condition).returning(sessions.c.agent)
    agents = tx.execute(statement).scalars().all()
    for agent in agents:
        audit_log.record(tx, account, "session.ended", label=agent)
    return len(agents)


def renew(tx: Connection, account: int, session: int) -> str:
    """End all sessions of the account. Return the token of a new one for the browser of `session`."""
    agent = agent_of(tx, session)
    end_all(tx, account)
    return begin(tx, account, agent=agent)


def _is_valid(now: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return sessions.c.seen > now - LIFE, sessions.c.created > now - MAX_LIFE
