"""The `waypost export` command: everything of an account, or its links for another service."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from waypost.cli import access, console
from waypost.core import data_files
from waypost.storage.factory import open_store
from waypost.transfer.exports import link_csv, runner
from waypost.transfer.exports.archive import Source
from waypost.transfer.exports.link_csv import Service

_STANDARD_OUTPUT = "-"


def export_account(
    file: Annotated[str, typer.Argument(metavar="FILE", help="ZIP or CSV file to write; - for standard output.")],
    account: Annotated[str, typer.Option(metavar="ACCOUNT", help="Username, e-mail address or id.")],
    links_as: Annotated[
        Service | None, typer.Option("--links-as", help="Only the links, as CSV for this service.")
    ] = None,
) -> None:
    """Export everything of an account to a ZIP archive, or only its links as CSV. The service may run."""
    if links_as is None and Path(file).suffix.lower() == ".csv":
        raise typer.BadParameter(f"{file} would be a ZIP archive. Name it .zip, or add --links-as.", param_hint="FILE")
    settings = access.settings()
    with access.database_and_account(account) as (database, owner):
        if links_as is not None:
            with _output(file) as write:
                for text in link_csv.lines(database, settings, owner.id, links_as):
                    write(text.encode())
            return
        with _output(file) as write:
            summary = runner.run(Source(database, open_store(settings), settings, owner.id), write)
    console.stderr.print(f"{owner.username}: {summary.rows:,} rows and {summary.files:,} files exported.")
    console.warn_missing_files("storage", summary.missing)


@contextmanager
def _output(file: str) -> Iterator[Callable[[bytes], object]]:
    """Open standard output, or a file that appears when it is complete. Raises a usage error."""
    if file == _STANDARD_OUTPUT:
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    target = Path(file)
    try:
        with data_files.replacing(target) as opened:
            yield opened.write
            data_files.sync(opened)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror or error}", param_hint="FILE") from error
