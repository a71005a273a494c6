"""The credentials of the owner's account in a file of the data folder, until the owner has signed in.

The first start prints them to a terminal only: as a service, its output is kept in logs for months, and sent elsewhere.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, exists, or_, select

from waypost.core import data_files
from waypost.core.data_files import inherit_owner
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import accounts, sessions

PATTERN = "first-sign-in-*.txt"


def write(settings: Settings, account: int, credentials: str) -> Path:
    """Store the credentials in a file that only this user can read; return its path. Raises OSError."""
    path = _path(settings, account)
    with data_files.replacing(path) as file:
        file.write(credentials.encode())
        data_files.sync(file)
        inherit_owner(Path(file.name))
    return path


def delete(settings: Settings, account: int) -> None:
    """Delete the file of an account, if there is one."""
    with suppress(OSError):
        _path(settings, account).unlink(missing_ok=True)


def delete_used(settings: Settings, database: Database) -> None:
    """Delete the files of accounts that have signed in, on any node, or whose password has changed. Raises Problem."""
    for path in settings.data_dir.glob(PATTERN):
        name = path.stem.rpartition("-")[2]
        if name.isdecimal() and database.read(partial(_is_used, account=int(name))):
            delete(settings, int(name))


def _path(settings: Settings, account: int) -> Path:
    return settings.data_dir.absolute() / PATTERN.replace("*", str(account))


def _is_used(tx: Connection, account: int) -> bool:
    has_session = exists().where(sessions.c.account == account)
    is_used = or_(has_session, accounts.c.password_changed > accounts.c.registered)
    result = tx.execute(select(is_used).where(accounts.c.id == account)).scalar_one_or_none()
    return result is None or bool(result)  # None: the account was deleted
