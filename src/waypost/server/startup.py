"""Startup: open and upgrade the database, create the first account, run the workers."""

import resource
import stat
import sys
from dataclasses import dataclass
from socket import socket

import uvicorn
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from waypost import credentials
from waypost.accounts import ops
from waypost.auth import api_keys
from waypost.clicks.ingest.process import IngesterProcess
from waypost.db.database import Database
from waypost.db.upgrade import current_revision, upgrade
from waypost.errors import Kind, Problem
from waypost.links import dead_link_checker
from waypost.observability import metrics
from waypost.ownership import inherit_owner, make_folder
from waypost.server import private_files, workers
from waypost.settings import Settings

_OPEN_FILES = 65_536
KEEP_ALIVE_SECONDS = 5
"""Seconds after which an idle connection is closed. The load balancers of deploy/ close theirs earlier."""


@dataclass(frozen=True)
class NewAccount:
    """A new account, with the secrets that are shown once."""

    id: int
    email: str
    username: str
    password: str
    apikey: str


def open_database(settings: Settings) -> Database:
    """Open the database and upgrade it to this version. Raises UNAVAILABLE."""
    database = open_unmigrated_database(settings)
    upgrade(database)
    return database


class NoInstallation(Problem):
    """Raised when a command needs an installation and there is none."""

    def __init__(self, settings: Settings) -> None:
        hint = (
            "Create one with `waypost serve`, or run the command in the folder of the service, or with its"
            " WAYPOST_DATA_DIR or WAYPOST_DATABASE_URL."
        )
        super().__init__(Kind.NOT_FOUND, f"No installation found in {settings.location}. {hint}")


def open_installation(settings: Settings) -> Database:
    """Open the database of an existing installation without an upgrade. Raises NoInstallation and UNAVAILABLE.

    Only `open_unmigrated_database` creates an installation, for `serve` and `restore`.
    """
    file = settings.database_file
    try:
        if file is not None and not stat.S_ISREG(file.stat().st_mode):
            raise NoInstallation(settings)
    except (FileNotFoundError, NotADirectoryError):
        raise NoInstallation(settings) from None
    except OSError as error:
        message = f"The database {file} cannot be opened: {error.strerror}. Run the command as the service's user."
        raise Problem(Kind.UNAVAILABLE, message) from error
    database = connect(settings.database)
    if database.read(current_revision) is None:
        database.close()
        raise NoInstallation(settings)
    return database


def open_unmigrated_database(settings: Settings) -> Database:
    """Open the database without an upgrade; it can be empty. Raises UNAVAILABLE."""
    file = settings.database_file
    is_new = file is not None and not file.exists()
    try:
        make_folder(settings.data_dir)
    except OSError as error:
        message = f"The data folder {settings.data_dir} cannot be created: {error.strerror}."
        raise Problem(Kind.UNAVAILABLE, message) from error
    private_files.protect(settings)
    database = connect(settings.database)
    if file is not None and is_new:
        inherit_owner(file)
    return database


def connect(url: str) -> Database:
    """Open a database, which can be empty. Raises UNAVAILABLE."""
    database = Database(url)
    try:
        database.read(current_revision)
    except DatabaseError as error:
        database.close()
        raise Problem(Kind.UNAVAILABLE, "The database cannot be read.") from error
    return database


def create_first_account(settings: Settings, database: Database) -> NewAccount | None:
    """Create the owner's account if there is no account yet (decision 16). Return None otherwise."""
    if database.read(ops.any_exists):
        return None
    password = credentials.new_password()
    password_hash = credentials.hash_password(password)

    def work(tx: Connection) -> NewAccount | None:
        if ops.any_exists(tx):  # created by another node
            return None
        return _add_key(tx, password, ops.add(tx, email=settings.owner_email, username="owner", password=password_hash))

    return database.write(work)


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
    plain = credentials.new_password() if password is None else ops.checked_password(password)
    password_hash = credentials.hash_password(plain)

    def work(tx: Connection) -> NewAccount:
        account = ops.add(tx, email=email, username=username, password=password_hash, plan=plan, rate_limit=rate_limit)
        return _add_key(tx, plain, account)

    return database.write(work)


def _add_key(tx: Connection, password: str, account: ops.Account) -> NewAccount:
    key = api_keys.add(tx, account.id, name="first key", scope="account")
    return NewAccount(account.id, account.email, account.username, password, key)


def listen(settings: Settings) -> list[socket]:
    """Bind the port of the service. Raises UNAVAILABLE."""
    return workers.bind(settings.host, settings.port, settings.workers)


def serve(settings: Settings, listeners: list[socket]) -> None:
    """Run the workers until the process is stopped. Requests in progress are finished first."""
    _raise_open_files_limit()
    metrics.clear(settings.metrics_dir)
    # Otherwise a spawned process would also import the main program, with all commands.
    sys.modules["__main__"].__file__ = None
    config = uvicorn.Config(
        "waypost.app:create",
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http="waypost.visits.fast_path:FastPathProtocol",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )
    workers.preload(config)
    background = dead_link_checker.run if settings.dead_links_days else None
    with IngesterProcess(settings, background, listeners) as ingester:
        workers.run(config, listeners, on_tick=ingester.ensure_running)


def _raise_open_files_limit() -> None:
    """Allow as many connections as the system permits: many systems start programs with 1,024 open files."""
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _OPEN_FILES if maximum == resource.RLIM_INFINITY else min(maximum, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, maximum))
