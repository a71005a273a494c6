"""Sessions of the dashboard. The browser has a token, the database only its hash."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, func, insert, or_, select, true, update

from waypost.auth import people
from waypost.core import clock, credentials
from waypost.core.errors import not_found
from waypost.db import account_rows, audit_log, schema
from waypost.db.schema import accounts, members, sessions
from waypost.db.statements import TypedSelect

LIFE = 30 * 86_400
"""Seconds after its last use that a session expires."""
MAX_LIFE = 180 * 86_400
"""Seconds after its start that a session expires, even if it is used."""
_SEEN_EVERY = 600  # seconds between updates of the last use, so that reading pages rarely writes
_SHOWN = ("person", "email", "username", "language", "timezone")
_PERSON = func.coalesce(sessions.c.person, sessions.c.account)
"""The person of a session; nodes of the older version write only the account, which has the same number."""


@dataclass(frozen=True)
class Session:
    """A signed-in browser; `agent` describes it. Times are Unix seconds, UTC."""

    id: int
    agent: str
    created: int
    seen: int


@dataclass(frozen=True)
class SignedIn:
    """The session of a token, its person and the account that it shows.

    `owner` is an administrator of the installation. `language` and `timezone` are "" until the user selects one.
    """

    session: int
    account: int
    person: int
    email: str
    username: str
    owner: bool
    suspended: bool
    deletion_due: int | None
    language: str
    timezone: str
    stale: bool


def begin(tx: Connection, person: int, *, agent: str) -> str:
    """Start a session and return the browser's token. It is always new, which prevents session fixation.

    Raises NOT_FOUND if the person was deleted.
    """
    account = people.account_of(tx, person)
    account_rows.lock(tx, account)
    token = credentials.new_token()
    now = clock.now()
    row = {"account": account, "person": person, "agent": agent, "created": now, "seen": now}
    tx.execute(insert(sessions).values(**row, digest=credentials.digest(token)))
    tx.execute(sessions.delete().where(sessions.c.seen < now - LIFE))
    audit_log.record(tx, account, "session.started", label=agent)
    return token


def find(tx: Connection, token: str) -> SignedIn | None:
    """Return the session of a token, if it has not expired. `stale` says that `touch` is due.

    A person whose membership has ended has no session.
    """
    now = clock.now()
    times = {"unseen_since": now - _SEEN_EVERY, "seen_after": now - LIFE, "created_after": now - MAX_LIFE}
    row = _BY_DIGEST.fetch_first(tx, digest=credentials.digest(token), **times)
    return SignedIn(**row) if row else None


def touch(tx: Connection, account: int, session: int) -> None:
    """Update the time of a session's last use."""
    owned_by = (sessions.c.id == session, sessions.c.account == account)
    tx.execute(update(sessions).where(*owned_by).values(seen=clock.now()))


def of(tx: Connection, person: int) -> Sequence[Session]:
    """Return the person's sessions, last used first."""
    c, now = sessions.c, clock.now()
    query = select(c.id, c.agent, c.created, c.seen).where(_is_of(person), *_is_valid(now - LIFE, now - MAX_LIFE))
    return [Session(**row) for row in tx.execute(query.order_by(c.seen.desc(), c.id.desc())).mappings()]


def agent_of(tx: Connection, session: int) -> str:
    """Return the description of the browser of a session."""
    return tx.execute(select(sessions.c.agent).where(sessions.c.id == session)).scalar_one_or_none() or ""


def end(tx: Connection, person: int, session: int) -> None:
    """Delete one session. Raises NOT_FOUND if the person has no such session."""
    if not _end(tx, person, sessions.c.id == session):
        raise not_found("session")


def end_others(tx: Connection, person: int, *, keep: int) -> None:
    """Delete all sessions of the person except one."""
    _end(tx, person, sessions.c.id != keep)


def end_all(tx: Connection, person: int) -> None:
    """Sign every browser of the person out."""
    _end(tx, person, true())


def _end(tx: Connection, person: int, condition: ColumnElement[bool]) -> int:
    """Delete sessions of the person, and return their number."""
    statement = sessions.delete().where(_is_of(person), condition).returning(sessions.c.account, sessions.c.agent)
    ended = tx.execute(statement).all()
    for account, agent in ended:
        audit_log.record(tx, account, "session.ended", label=agent)
    return len(ended)


def renew(tx: Connection, person: int, session: int) -> str:
    """End all sessions of the person. Return the token of a new one for the browser of `session`."""
    agent = agent_of(tx, session)
    end_all(tx, person)
    return begin(tx, person, agent=agent)


def _is_of(person: int) -> ColumnElement[bool]:
    return or_(sessions.c.person == person, and_(sessions.c.person.is_(None), sessions.c.account == person))


def _select_signed_in() -> Select[Any]:
    c, of_account, of_person = sessions.c, accounts.c, schema.people.c
    is_stale = (c.seen < bindparam("unseen_since")).label("stale")
    is_suspended = or_(of_person.suspended, of_account.suspended).label("suspended")
    return (
        select(c.id.label("session"), c.account, is_stale, is_suspended, of_account.deletion_due)
        .add_columns(of_person.admin.label("owner"), *(of_person[name] for name in _SHOWN))
        .join(accounts, of_account.id == c.account)
        .join(schema.people, of_person.person == _PERSON)
        .join(members, (members.c.account == c.account) & (members.c.person == of_person.person))
        .where(c.digest == bindparam("digest"), *_is_valid(bindparam("seen_after"), bindparam("created_after")))
    )


def _is_valid(seen_after: Any, created_after: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return sessions.c.seen > seen_after, sessions.c.created > created_after


_BY_DIGEST = TypedSelect(_select_signed_in())
