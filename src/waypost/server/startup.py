"""Starting the service: checks, tables, the owner at the first start, then the workers."""

import sys
from dataclasses import dataclass

import uvicorn
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from waypost import credentials
from waypost.accounts import ops
from waypost.auth import api_keys
from waypost.clicks.ingest.process import Counting
from waypost.db.database import Database
from waypost.db.upgrade import current_revision, upgrade
from waypost.errors import Kind, Problem
from waypost.links import dead_link_checker
from waypost.observability import metrics
from waypost.server import workers
from waypost.settings import Settings

KEPT_IDLE = 5
"""Seconds after which a connection without a request is closed. The balancers of deploy/ close theirs sooner."""


@dataclass(frozen=True)
class NewAccount:
    """An account just made, with the secrets that are shown once."""

    id: int
    email: str
    username: str
    password: str
    apikey: str


def open_database(settings: Settings) -> Database:
    """The database, with this version's tables. Raises UNAVAILABLE."""
    database = open_as_it_is(settings)
    upgrade(database)
    return database


def open_as_it_is(settings: Settings) -> Database:
    """The database with whatever it holds, perhaps nothing. Raises UNAVAILABLE."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"The data folder {settings.data_dir} cannot be made: {error.strerror}."
        raise Problem(Kind.UNAVAILABLE, told) from error
    database = Database(settings.database)
    try:
        database.read(current_revision)
    except DatabaseError as error:
        raise Problem(Kind.UNAVAILABLE, "The database cannot be read.") from error
    return database


def first_start(settings: Settings, database: Database) -> NewAccount | None:
    """Make the owner's account if there is no account yet (decision 16)."""
    if database.read(ops.any_exists):
        return None
    password = credentials.new_password()
    hashed = credentials.hash_password(password)

    def work(tx: Connection) -> NewAccount | None:
        if ops.any_exists(tx):  # another node was faster
            return None
        return _add(tx, password, ops.add(tx, email=settings.owner_email, username="owner", password=hashed))

    return database.write(work)


def make_account(
    database: Database,
    *,
    email: str,
    username: str,
    password: str | None = None,
    plan: str = "free",
    rate_limit: int | None = None,
) -> NewAccount:
    """Make an account and its first key. Raises INVALID or TAKEN on the field at fault."""
    plain = credentials.new_password() if password is None else ops.checked_password(password)
    hashed = credentials.hash_password(plain)

    def work(tx: Connection) -> NewAccount:
        account = ops.add(tx, email=email, username=username, password=hashed, plan=plan, rate_limit=rate_limit)
        return _add(tx, plain, account)

    return database.write(work)


def _add(tx: Connection, password: str, account: ops.Account) -> NewAccount:
    key = api_keys.add(tx, account.id, name="first key")
    return NewAccount(account.id, account.email, account.username, password, key)


def serve(settings: Settings) -> None:
    """Run the workers until the process is told to stop; requests under way are finished first."""
    metrics.clear(settings.metrics_dir)
    # Else a process that starts anew would load, beside what it runs, the program that was started: every command.
    sys.modules["__main__"].__file__ = None
    config = uvicorn.Config(
        "waypost.app:create",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http="waypost.visits.fast_path:FastPathProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEPT_IDLE,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    workers.load(config)
    with Counting(settings, beside=dead_link_checker.run if settings.dead_links_days else None) as counting:
        workers.run(config, meanwhile=counting.keep)
