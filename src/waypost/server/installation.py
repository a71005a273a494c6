"""Open the database of an installation."""

import stat

from sqlalchemy.exc import DatabaseError

from waypost.db import write_queue
from waypost.db.database import Database
from waypost.db.upgrade import current_revision, upgrade
from waypost.errors import Kind, NoInstallation, Problem
from waypost.ownership import inherit_owner, make_folder
from waypost.server import private_files
from waypost.settings import Settings


def open_database(settings: Settings) -> Database:
    """Open the database for the service, and upgrade it to this version. Raises UNAVAILABLE."""
    database = open_unmigrated_database(settings)
    if settings.database_file is not None:
        write_queue.create_files(settings.database_file)
    upgrade(database)
    return database


def open_installation(settings: Settings) -> Database:
    """Open the database of an existing installation without an upgrade. Raises NoInstallation and UNAVAILABLE.

    Only `open_unmigrated_database` creates an installation, for `serve` and `restore`.
    """
    file = settings.database_file
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
        raise NoInstallation(settings.location)
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
