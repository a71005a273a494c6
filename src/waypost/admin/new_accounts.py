"""Create accounts with their first API key."""

from dataclasses import dataclass

from sqlalchemy import Connection

from waypost.auth import api_keys
from waypost.core import credentials
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import ops, password_rules


@dataclass(frozen=True)
class NewAccount:
    """A new account, with the secrets that are shown once."""

    id: int
    email: str
    username: str
    password: str
    apikey: str


def create_first_account(settings: Settings, database: Database) -> NewAccount | None:
    """Create the owner's account, on an unlimited plan, if there is no account yet (decision 16). Else return None."""
    if database.read(ops.any_exists):
        return None
    password = credentials.new_password()
    password_hash = credentials.hash_password(password)

    def work(tx: Connection) -> NewAccount | None:
        if ops.any_exists(tx):  # created by another node
            return None
        ops.add_unlimited_plan(tx)
        owner = ops.add(
            tx, email=settings.owner_email, username="owner", password=password_hash, plan=ops.UNLIMITED_PLAN
        )
        return _add_key(tx, password, owner)

    try:
        return database.write(work)
    except Problem as problem:
        # Another node created it at the same moment, and was committed first.
        if problem.kind is not Kind.TAKEN or not database.read(ops.any_exists):
            raise
        return None


def create_account(
    database: Database,
    *,
    email: str,
    username: str,
    password: str | None = None,
    plan: str = "free",
    rate_limit: int | None = None,
) -> NewAccount:
    """Create an account and its first API key. Raises INVALID or TAKEN on the invalid field."""
    plain = (
        credentials.new_password() if password is None else password_rules.checked_password(password, (username, email))
    )
    password_hash = credentials.hash_password(plain)

    def work(tx: Connection) -> NewAccount:
        account = ops.add(tx, email=email, username=username, password=password_hash, plan=plan, rate_limit=rate_limit)
        return _add_key(tx, plain, account)

    return database.write(work)


def _add_key(tx: Connection, password: str, account: ops.Account) -> NewAccount:
    key = api_keys.add(tx, account.id, name="first key", scope="account")
    return NewAccount(account.id, account.email, account.username, password, key)
