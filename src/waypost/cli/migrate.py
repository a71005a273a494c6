"""`waypost migrate-database` and `waypost migrate-storage`: from one box to many."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from waypost.cli import console
from waypost.db.database import Database
from waypost.migrate import database, storage
from waypost.migrate.database import ProgressCallback
from waypost.server import startup
from waypost.settings import Settings
from waypost.storage.factory import store_at


def migrate_database(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Data folder with a SQLite database, or sqlite:///….")],
    target: Annotated[str, typer.Argument(metavar="TO", help="postgresql://… of an empty database.")],
) -> None:
    """Copy everything from SQLite to PostgreSQL. Stop the service first. Broken off, it goes on where it was."""
    result = source if source.startswith("sqlite:") else f"sqlite:///{Path(source).resolve() / 'waypost.db'}"
    try:
        expected = Settings(database_url=target)
    except ValueError as error:
        raise typer.BadParameter("must be postgresql://user:password@host/name", param_hint="TO") from error
    with (
        closing(Database(result)) as old,
        closing(startup.open_unmigrated_database(expected)) as new,
        _bars() as output,
    ):
        moved = database.migrate(old, new, output)
    kept = f", {moved.resumed} of them by an earlier try" if moved.resumed else ""
    console.console.print(f"{moved.rows} rows in {moved.tables} tables are copied{kept}, and checked.")
    console.console.print(
        "Start the service with WAYPOST_DATABASE_URL set to the new database, and the same data folder."
    )


def migrate_storage(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Folder, such as data/files, or s3://bucket/prefix.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder, or s3://bucket/prefix.")],
) -> None:
    """Copy the bytes of all files. The service may run. Broken off, it goes on where it was."""
    settings = console.settings()
    old, new = store_at(source, settings), store_at(target, settings)
    with console.database() as database, closing(old), closing(new), _bars() as output:
        moved = storage.migrate(database, old, new, output)
    console.console.print(f"{moved.copied} files are copied, {moved.skipped} were there, and all were read back.")
    if moved.missing:
        console.complain("waypost:", f"The bytes of {moved.missing} files were not there.", colour="yellow")


@contextmanager
def _bars() -> Iterator[ProgressCallback]:
    """A bar for each thing that goes on."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.errors) as progress:
        bars: dict[str, TaskID] = {}

        def told(what: str, done: int, of: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=of)
            progress.update(bars[what], completed=done)

        yield told
