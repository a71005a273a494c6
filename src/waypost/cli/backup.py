"""The `waypost backup` and `waypost restore` commands."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from waypost.admin import installation
from waypost.cli import access, console
from waypost.core.data_files import make_folder
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.storage.factory import open_store
from waypost.transfer.backup import archive
from waypost.transfer.backup.file_copies import FileCopies

_STREAM = Path("-")


def backup(
    file: Annotated[Path, typer.Argument(help="Archive to write, such as waypost.tar.gz; - for standard output.")],
    files_in: Annotated[
        Path | None,
        typer.Option(help="Folder for the contents of files: those that it lacks are copied into it, not the archive."),
    ] = None,
    keep_days: Annotated[
        int | None,
        typer.Option(min=1, help="With --files-in: delete copies that no backup of so many days needed."),
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Verify an archive instead of writing one: restore it into a temporary folder."),
    ] = False,
) -> None:
    """Save the database and all files to one archive. The service may run."""
    if verify:
        _verify(file, files_in)
        return
    if keep_days is not None and files_in is None:
        raise Problem(Kind.INVALID, "--keep-days deletes copies of --files-in. Name their folder as well.")
    if file == _STREAM and sys.stdout.isatty():
        raise Problem(Kind.INVALID, "An archive cannot be shown on a terminal. Redirect it to a file or a pipe.")
    settings = access.settings()
    copies = FileCopies(files_in) if files_in else None
    with closing(installation.open_installation(settings)) as database:
        target = sys.stdout.buffer if file == _STREAM else file
        archived = archive.backup(database, open_store(settings), target, copies=copies)
    size = "" if file == _STREAM else f", {file.stat().st_size} bytes"
    out = console.stderr if file == _STREAM else console.stdout
    out.print(f"{file}: {archived.rows} rows and {archived.files} files{size}. Installation: {settings.location}")
    console.warn_missing_files("storage", archived.missing)
    if copies and keep_days is not None:
        out.print(f"{files_in}: {copies.delete_unused(keep_days)} copies deleted.")


def _verify(file: Path, files_in: Path | None) -> None:
    """Restore an archive into a temporary installation, so that every row and file is read. Raises INVALID."""
    copies = FileCopies(files_in) if files_in else None
    with tempfile.TemporaryDirectory(prefix="waypost-verify-") as folder:
        settings = Settings(data_dir=Path(folder) / "data", database_url="", storage_url="")
        with closing(installation.open_unmigrated_database(settings)) as database, _readable(file, settings) as source:
            name = "The input" if file == _STREAM else str(file)
            archived = archive.restore(database, open_store(settings), source, copies=copies, name=name)
    content = f"{archived.rows} rows and {archived.files} files can be restored"
    if archived.missing:
        console.stdout.print(f"{file}: incomplete, it lacks {console.counted(archived.missing, 'files')}; {content}.")
        raise typer.Exit(1)
    console.stdout.print(f"{file}: {content}.")


def restore(
    file: Annotated[Path, typer.Argument(help="Archive that `backup` wrote; - for standard input.")],
    files_in: Annotated[
        Path | None, typer.Option(help="Folder with the contents of files, if the backup was made with one.")
    ] = None,
) -> None:
    """Restore an archive into an empty installation. Stop the service first."""
    settings = access.settings()
    copies = FileCopies(files_in) if files_in else None
    with installation.open_for_restore(settings) as database, _readable(file, settings) as source:
        name = "The input" if file == _STREAM else str(file)
        archived = archive.restore(database, open_store(settings), source, copies=copies, name=name)
    console.stdout.print(
        f"{file}: {archived.rows} rows and {archived.files} files restored. Installation: {settings.location}"
    )
    console.warn_missing_files("storage", archived.missing)


@contextmanager
def _readable(file: Path, settings: Settings) -> Iterator[Path]:
    """Yield the path of the archive. Standard input is copied to the data folder first, because it is read twice."""
    if file != _STREAM:
        yield file
        return
    make_folder(settings.data_dir)
    with tempfile.NamedTemporaryFile(dir=settings.data_dir) as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Path(copy.name)
