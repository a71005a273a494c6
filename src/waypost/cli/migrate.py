"""The commands that move data: `waypost migrate-database`, `waypost migrate-storage` and `waypost distribute`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from waypost.admin import installation
from waypost.cli import access, console
from waypost.core.settings import Settings
from waypost.db import distribution
from waypost.storage.factory import store_at
from waypost.storage.store import Store
from waypost.transfer.migrate import database, storage
from waypost.transfer.migrate.storage import ProgressCallback


def migrate_database(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Data folder with a SQLite database, or sqlite:///….")],
    target: Annotated[str, typer.Argument(metavar="TO", help="postgresql://… of an empty database.")],
) -> None:
    """Copy the database from SQLite to PostgreSQL. Stop the service first. If interrupted, run it again to resume."""
    source_url = source if source.startswith("sqlite:") else f"sqlite:///{Path(source).resolve() / 'waypost.db'}"
    try:
        source_settings, target_settings = Settings(database_url=source_url), Settings(database_url=target)
    except ValueError as error:
        raise typer.BadParameter("must be postgresql://user:password@host/name", param_hint="TO") from error
    with (
        closing(installation.open_installation(source_settings)) as old,
        closing(installation.connect(target_settings.database)) as new,
        _progress_bars() as on_progress,
    ):
        moved = database.migrate(old, new, on_progress)
    resumed = f", {moved.resumed} of them by an earlier run" if moved.resumed else ""
    console.stdout.print(f"{moved.rows} rows in {moved.tables} tables copied{resumed} and verified.")
    next_step = "Start the service with WAYPOST_DATABASE_URL set to the new database, and the same data folder."
    console.stdout.print(next_step)


def migrate_storage(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Folder, such as data/files, or s3://bucket/prefix.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder, or s3://bucket/prefix.")],
) -> None:
    """Copy all stored files. The service may run. If interrupted, run it again to resume."""
    settings = access.settings()
    with access.database() as database:
        if source.rstrip("/") == target.rstrip("/"):
            raise typer.BadParameter("must not be the same as FROM", param_hint="TO")
        if not source.startswith("s3://") and not Path(source).is_dir():
            raise typer.BadParameter(f"the folder {source} does not exist", param_hint="FROM")
        old, new = _store(source, settings, hint="FROM"), _store(target, settings, hint="TO")
        with closing(old), closing(new), _progress_bars() as on_progress:
            moved = storage.migrate(database, old, new, on_progress)
    console.stdout.print(f"{moved.copied} files copied, {moved.skipped} already present, all verified.")
    console.warn_missing_files("source", moved.missing)
    if moved.missing:
        raise typer.Exit(1)


def _store(where: str, settings: Settings, *, hint: str) -> Store:
    """Return the store at a path or s3:// URL. An invalid one ends the command with code 2."""
    try:
        return store_at(where, settings)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise typer.BadParameter(f"{where} {reason}", param_hint=hint) from error


@contextmanager
def _progress_bars() -> Iterator[ProgressCallback]:
    """Show a progress bar for each step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console.stderr) as progress:
        bars: dict[str, TaskID] = {}

        def update(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = progress.add_task(step, total=total)
            progress.update(bars[step], completed=done)

        yield update


def distribute(
    everything: Annotated[
        bool, typer.Option("--everything", help="Also links, files, QR codes and all that belongs to them.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Copy all tables back to the coordinator.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Store single visits and statistics on the nodes of a Citus cluster, by account.

    WAYPOST_DATABASE_URL is the address of its coordinator, which keeps all other tables. The service may run: redirects
    and changes continue. While the rows of a table are copied, its statistics cannot be read, and clicks wait to be
    counted. If interrupted, run it again to continue. With --everything, changes wait while the items are copied, and
    only redirects that are in memory continue.
    """
    with access.database() as database:
        nodes = database.read(distribution.require_nodes)
        tables = database.read(lambda tx: distribution.states(tx, everything=everything or undo))
        moving = [table for table in tables if table.is_distributed == undo]
        console.print_rows([_table_row(table) for table in tables], ("table", "place", "rows", "size"), json=False)
        if not moving:
            console.stdout.print("All tables are there already.")
            return
        if everything and not undo:
            keys = database.read(distribution.count_keys)
            console.stdout.print(f"{keys} foreign keys are dropped for the move, and created again in its transaction.")
        if dry_run:
            return
        target = "the coordinator" if undo else console.counted(nodes, "nodes")
        console.confirm("Move", f"{console.counted(len(moving), 'tables')} to {target}", yes=yes)
        moves = distribution.undo(database) if undo else distribution.distribute(database, everything=everything)
        for name in moves:
            console.stdout.print(f"{name} moved.")


def _table_row(table: distribution.TableState) -> dict[str, str]:
    return {
        "table": table.name,
        "place": "nodes" if table.is_distributed else "coordinator",
        "rows": "" if table.is_distributed else f"about {table.rows:,}",
        "size": f"{table.bytes / 1e6:,.1f} MB",
    }
