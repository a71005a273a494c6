"""Accounts in the tables of an older version, as its nodes write them."""

from sqlalchemy import Connection, text

from waypost.core import credentials

_NAMES = "email, email_key, username, username_key, password, language"
_COLUMNS = f"{_NAMES}, password_changed, plan, owner, suspended, registered, stored, revoked_start, revoked_used"
_VALUES = ":email, :email, :name, :name, :password, :language, 0, 1, :owner, :suspended, 0, 0, 0, 0"


def add(
    tx: Connection,
    name: str,
    *,
    password: str = "*",
    language: str = "",
    owner: bool = False,
    suspended: bool = False,
) -> int:
    """Add an account to a database of an older version. Return its id. `password` is a hash."""
    values = {"email": f"{name}@example.com", "name": name, "password": password, "language": language}
    insert = text(f"INSERT INTO accounts ({_COLUMNS}) VALUES ({_VALUES}) RETURNING id")
    return int(tx.execute(insert, {**values, "owner": owner, "suspended": suspended}).scalar_one())


def begin_session(tx: Connection, account: int, token: str, now: int) -> None:
    """Add a session of a browser with this token."""
    insert = text(
        "INSERT INTO sessions (account, digest, agent, created, seen) VALUES (:account, :digest, '', :now, :now)"
    )
    tx.execute(insert, {"account": account, "digest": credentials.digest(token), "now": now})


def enable_factor(tx: Connection, account: int, secret: str) -> None:
    """Add a second factor without recovery codes."""
    columns = "account, secret, last_step, created, failures, day_failures, day_end, blocked_until"
    insert = text(f"INSERT INTO totp_secrets ({columns}) VALUES (:account, :secret, 0, 0, 0, 0, 0, 0)")
    tx.execute(insert, {"account": account, "secret": secret})
