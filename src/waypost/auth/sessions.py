"""Who is signed in to the dashboard. The browser has a token, the database only its hash."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from waypost import clock, credentials
from waypost.db.schema import accounts, sessions
from waypost.errors import not_found

LIFE = 30 * 86_400
"""Seconds after its last use that a session is good for."""
LONGEST = 180 * 86_400
"""Seconds after which a session ends, however much it is used."""
_SEEN_EVERY = 600  # seconds: a page that is read does not write each time


@dataclass(frozen=True)
class Session:
    """A browser that is signed in: `agent` says which in words. Times are seconds, UTC."""

    id: int
    agent: str
    created: int
    seen: int


@dataclass(frozen=True)
class SignedIn:
    """Who a token speaks for."""

    session: int
    account: int
    email: str
    username: str
    owner: bool
    suspended: bool
    stale: bool


def begin(tx: Connection, account: int, *, agent: str) -> str:
    """Sign in; the token for the browser, which is new each time, so that nobody can have planted it."""
    token = credentials.new_token()
    now = clock.now()
    row = {"account": account, "digest": credentials.digest(token), "agent": agent, "created": now, "seen": now}
    tx.execute(insert(sessions).values(row))
    tx.execute(sessions.delete().where(sessions.c.seen < now - LIFE))
    return token


def find(tx: Connection, token: str) -> SignedIn | None:
    """Who is signed in with this token. `stale` says that `touch` is due."""
    now = clock.now()
    chosen = (
        select(sessions.c.id.label("session"), sessions.c.account, sessions.c.seen)
        .add_columns(accounts.c.email, accounts.c.username, accounts.c.owner, accounts.c.suspended)
        .join(accounts, accounts.c.id == sessions.c.account)
        .where(sessions.c.digest == credentials.digest(token))
        .where(sessions.c.seen > now - LIFE, sessions.c.created > now - LONGEST)
    )
    row = tx.execute(chosen).mappings().first()
    if row is None:
        return None
    told = {name: value for name, value in row.items() if name != "seen"}
    return SignedIn(**told, stale=row["seen"] < now - _SEEN_EVERY)


def touch(tx: Connection, account: int, session: int) -> None:
    """Note that a session is in use."""
    mine = (sessions.c.id == session, sessions.c.account == account)
    tx.execute(update(sessions).where(*mine).values(seen=clock.now()))


def of(tx: Connection, account: int) -> Sequence[Session]:
    """The account's sessions, latest used first."""
    now = clock.now()
    c = sessions.c
    alive = (c.account == account, c.seen > now - LIFE, c.created > now - LONGEST)
    chosen = select(c.id, c.agent, c.created, c.seen).where(*alive).order_by(c.seen.desc(), c.id.desc())
    return [Session(**row) for row in tx.execute(chosen).mappings()]


def end(tx: Connection, account: int, session: int) -> None:
    """Sign one browser out. Raises NOT_FOUND when the account has no such session."""
    done = tx.execute(sessions.delete().where(sessions.c.id == session, sessions.c.account == account))
    if done.rowcount == 0:
        raise not_found("session")


def end_others(tx: Connection, account: int, *, keep: int) -> None:
    """Sign every browser out but one."""
    tx.execute(sessions.delete().where(sessions.c.account == account, sessions.c.id != keep))
