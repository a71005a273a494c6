"""Open the database of an installation.

Servers that speak the protocol of PostgreSQL, but on which waypost would not be exact, are refused: other engines and
encodings. The files of the data folder contain secrets and addresses, so only the service's user may read them.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import DatabaseError

from waypost.core.data_files import inherit_owner, make_folder
from waypost.core.errors import Kind, NoInstallation, Problem
from waypost.core.settings import Settings
from waypost.db import faults, sqlite_file
from waypost.db.database import Database, upsert
from waypost.db.schema import installation
from waypost.db.upgrade import current_revision, upgrade

FILE = "installation-id"
_NAME = "id"
_log = structlog.get_logger("permissions")
# Not the content of `files`: there can be millions, and the folder protects them.
_FOLDERS = ("journal", "metrics", "uploads", "geo")
_PATTERNS = (
    "waypost.db*",
    "attempt_limits.db*",
    "first-sign-in-*.txt",
    "installation-id",
    *(f"{name}{rest}" for name in _FOLDERS for rest in ("", "/*")),
    "files",
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def bind(settings: Settings, database: Database) -> None:
    """Store the id in the data folder. Raises UNAVAILABLE if the folder belongs to another installation."""
    in_folder = _of_folder(settings)
    in_database = database.read(_read) or database.write(lambda tx: _create(tx, in_folder))
    path = settings.data_dir / FILE
    if not in_folder:
        path.write_text(f"{in_database}\n", "utf-8")
        inherit_owner(path)
    elif in_folder != in_database:
        text = f"The data folder {settings.data_dir} belongs to another installation than the database."
        repair = "Correct WAYPOST_DATA_DIR or WAYPOST_DATABASE_URL."
        raise Problem(Kind.UNAVAILABLE, f"{text} {repair}")


def is_present(settings: Settings) -> bool:
    """Return whether the service was started with this data folder before."""
    return (settings.database_file or settings.data_dir / FILE).exists()


def _of_folder(settings: Settings) -> str:
    try:
        return (settings.data_dir / FILE).read_text("utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Problem(Kind.UNAVAILABLE, f"{settings.data_dir / FILE} cannot be read: {error.strerror}.") from error


def _read(tx: Connection) -> str:
    value = tx.execute(select(installation.c.value).where(installation.c.name == _NAME)).scalar_one_or_none()
    return bytes(value).decode() if value else ""


def _create(tx: Connection, known: str) -> str:
    """Store an id, that of the folder if it has one, and return the stored one: another node may be faster."""
    row = upsert(tx, installation).values(name=_NAME, value=(known or secrets.token_hex(16)).encode())
    tx.execute(row.on_conflict_do_nothing())
    return _read(tx)


LOST_HINT = "Restore a backup into an empty folder, or mount the disk that has it."


def open_database(settings: Settings) -> Database:
    """Open the database for the service, and upgrade it to this version. Raises UNAVAILABLE."""
    if lost := lost_database(settings):
        raise Problem(Kind.UNAVAILABLE, f"{lost} {LOST_HINT}")
    database = open_unmigrated_database(settings)
    try:
        _require_tables(settings, database)
        if settings.database_file is not None:
            sqlite_file.create_files(settings.database_file)
        upgrade(database)
        bind(settings, database)
    except BaseException:
        database.close()
        raise
    return database


def _require_tables(settings: Settings, database: Database) -> None:
    """Raise UNAVAILABLE for an empty database next to the data folder of an installation."""
    if any(_traces(settings.data_dir)) and database.read(current_revision) is None:
        raise _without_tables(settings)


def _without_tables(settings: Settings) -> Problem:
    text = f"The database {settings.location} has no tables, but the data folder is that of an installation."
    repair = "Correct WAYPOST_DATABASE_URL. " if settings.database_url else ""
    return Problem(Kind.UNAVAILABLE, f"{text} {repair}{LOST_HINT}")


@contextmanager
def open_for_restore(settings: Settings) -> Iterator[Database]:
    """Open an empty database. If the restore fails, remove every file that opening it created. Raises UNAVAILABLE."""
    folder, file = settings.data_dir, settings.database_file
    had_folder, had_file = folder.exists(), file is None or file.exists()
    database = open_unmigrated_database(settings)
    try:
        yield database
    except BaseException:
        database.close()
        if file is not None and not had_file:
            for path in file.parent.glob(f"{file.name}*"):
                path.unlink(missing_ok=True)
        if not had_folder:
            _remove_empty(folder)
        raise
    database.close()


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those in it, unless there are files."""
    for path, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            Path(path).rmdir()


def lost_database(settings: Settings) -> str:
    """Return a sentence if the SQLite file of an installation is missing or empty; "" otherwise, as in a new folder."""
    file = settings.database_file
    with suppress(OSError):
        is_missing = file is not None and not file.is_file()
        is_empty = file is not None and not is_missing and file.stat().st_size == 0
        if (is_missing or is_empty) and any(_traces(settings.data_dir)):
            fault = "missing" if is_missing else "empty"
            return f"The database {file} is {fault}, but the data folder is that of an installation."
    return ""


def _traces(folder: Path) -> Iterator[Path]:
    """Yield files that only an installation leaves in its data folder: its id, stored files, and clicks to count."""
    with suppress(OSError):
        yield from (path for path in (folder / FILE, *folder.glob("journal/*.log")) if path.exists())
        yield from (path for path in folder.glob("files/**/*") if path.is_file())


def open_installation(settings: Settings) -> Database:
    """Open the database of an existing installation without an upgrade. Raises NoInstallation and UNAVAILABLE.

    Only `open_unmigrated_database` creates an installation, for `serve` and `restore`.
    """
    file = settings.database_file
    if lost := lost_database(settings):
        raise Problem(Kind.UNAVAILABLE, f"{lost} {LOST_HINT}")
    try:
        if file is not None and not stat.S_ISREG(file.stat().st_mode):
            raise NoInstallation(settings.location)
    except (FileNotFoundError, NotADirectoryError):
        raise NoInstallation(settings.location) from None
    except OSError as error:
        message = f"The database {file} cannot be opened: {error.strerror}. Run the command as the service's user."
        raise Problem(Kind.UNAVAILABLE, message) from error
    database = connect(settings.database)
    if database.read(current_revision) is None:
        database.close()
        is_lost = any(_traces(settings.data_dir))
        raise _without_tables(settings) if is_lost else NoInstallation(settings.location)
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
    protect_files(settings)
    database = connect(settings.database)
    if file is not None and is_new:
        inherit_owner(file)
    return database


def connect(url: str) -> Database:
    """Open a database, which can be empty. Raises UNAVAILABLE; DatabaseError if it is damaged."""
    database = Database(url)
    try:
        refusal = database.read(find_refusal)
        database.read(current_revision)
    except DatabaseError as error:
        database.close()
        if faults.classify(error) is faults.Fault.DAMAGE:
            raise  # its sentence has the repair
        raise Problem(Kind.UNAVAILABLE, "The database cannot be read.") from error
    if refusal is not None:
        database.close()
        raise Problem(Kind.UNAVAILABLE, f"{refusal.reason} {refusal.repair}")
    return database


def exposed_files(settings: Settings) -> list[Path]:
    """Return the files and folders of an installation that other users of this machine can access."""
    return [path for path in _paths(settings) if (mode := _private_mode(path)) is not None and mode & _OTHERS]


def protect_files(settings: Settings) -> None:
    """Remove the access of other users. A folder that all users share, such as /tmp, is left alone."""
    corrected = 0
    for path in _paths(settings):  # a folder before its files, so that other users can no longer replace them
        mode = _private_mode(path)
        if mode is not None and mode & _OTHERS and not mode & stat.S_ISVTX:
            with suppress(OSError):  # the file of another user, or a file system without permissions: doctor reports it
                path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
                corrected += 1
    if corrected:
        _log.warning("removed access of other users to the data folder", paths=corrected)


def _paths(settings: Settings) -> Iterator[Path]:
    folder = settings.data_dir.resolve()
    if folder.is_dir():
        yield folder
    for pattern in _PATTERNS:
        yield from sorted(folder.glob(pattern))
    database = settings.database_file
    if database is not None and database.resolve().parent != folder:
        yield from sorted(database.resolve().parent.glob(f"{database.name}*"))


def _private_mode(path: Path) -> int | None:
    """Return the mode of a file, folder or pipe; None for a symbolic link and a missing file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    return mode if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode) else None


class Refusal(NamedTuple):
    """Why a server cannot be used, and the repair."""

    reason: str
    repair: str


_COCKROACH = Refusal(
    "The database is CockroachDB. It has no LISTEN, and its advisory locks lock nothing.",
    "Use PostgreSQL, or Citus for more than one database server.",
)
_YUGABYTE = Refusal(
    "The database is YugabyteDB without notifications.",
    "Set ysql_yb_enable_listen_notify=true for all its yb-master and yb-tserver processes (version 2025.2.3 or newer).",
)


def find_refusal(tx: Connection) -> Refusal | None:
    """Return why waypost cannot use the server; None for PostgreSQL, SQLite, and engines that have what it needs."""
    if tx.dialect.name != "postgresql":
        return None
    encoding = tx.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        reason = f"The database has the encoding {encoding}, which cannot store every text."
        repair = "Create one with ENCODING 'UTF8' TEMPLATE template0; pg_dump and pg_restore move data into it."
        return Refusal(reason, repair)
    version = str(tx.execute(text("SELECT version()")).scalar_one())
    if "CockroachDB" in version:
        return _COCKROACH
    notifies = text("SELECT current_setting('yb_enable_listen_notify', true)")
    return _YUGABYTE if "-YB-" in version and tx.execute(notifies).scalar() != "on" else None
