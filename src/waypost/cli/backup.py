"""The `waypost backup` and `waypost restore` commands."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from waypost.backup import archive
from waypost.cli import access, console
from waypost.server import installation
from waypost.storage.factory import open_store


def backup(file: Annotated[Path, typer.Argument(help="Archive to write, such as waypost.tar.gz.")]) -> None:
    """Save the database and all files to one archive. The service may run."""
    settings = access.settings()
    with closing(installation.open_installation(settings)) as database:
        archived = archive.backup(database, open_store(settings), file)
    contents = f"{archived.rows} rows and {archived.files} files, {file.stat().st_size} bytes"
    console.stdout.print(f"{file}: {contents}. Installation: {settings.location}")
    console.warn_missing_files("storage", archived.missing)


def restore(file: Annotated[Path, typer.Argument(help="Archive that `backup` wrote.")]) -> None:
    """Restore an archive into an empty installation. Stop the service first."""
    settings = access.settings()
    with closing(installation.open_unmigrated_database(settings)) as database:
        archived = archive.restore(database, open_store(settings), file)
    console.stdout.print(
        f"{file}: {archived.rows} rows and {archived.files} files restored. Installation: {settings.location}"
    )
    console.warn_missing_files("storage", archived.missing)
