"""Shared by all commands: settings, database access and output."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from waypost.accounts import ops
from waypost.accounts.ops import Account
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.errors import Kind, Problem
from waypost.observability.logging import escape_control_characters
from waypost.server import startup
from waypost.settings import Settings, config_file

AccountArgument = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Username, e-mail address or id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Markup and emoji names are off: user input and secrets are printed verbatim.
stdout = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
stderr = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def settings() -> Settings:
    """Load the settings. If they are invalid, print the errors and exit with code 2."""
    try:
        return Settings()
    except ValidationError as error:
        for detail in error.errors():
            name = "WAYPOST_" + "_".join(str(part) for part in detail["loc"]).upper()
            reason = "there is no such setting" if detail["type"] == "extra_forbidden" else detail["msg"]
            complain(f"{name}: {reason.removeprefix('Value error, ')}.", label="W000")
        raise typer.Exit(2) from error
    except (ValueError, OSError) as error:
        complain(f"{config_file()}: {error}.", label="W000")
        raise typer.Exit(2) from error


@contextmanager
def database() -> Iterator[Database]:
    """Open the database of an existing installation, migrated to this version's schema. Raises NoInstallation."""
    with closing(startup.open_installation(settings())) as opened:
        upgrade(opened)
        yield opened


@contextmanager
def database_and_account(identifier: str) -> Iterator[tuple[Database, Account]]:
    """Open the database and find an account by username, e-mail address or id. Raises NOT_FOUND."""
    with database() as opened:
        try:
            account = opened.read(lambda tx: ops.find(tx, identifier))
        except Problem as problem:
            if problem.kind is not Kind.NOT_FOUND:
                raise
            message = f"There is no account with the username, e-mail address or id {identifier}."
            raise Problem(Kind.NOT_FOUND, message) from None
        yield opened, account


def complain(message: str, hint: str = "", *, label: str = "waypost:", color: str = "red") -> None:
    """Print a one-line problem to standard error."""
    stderr.print(Text.assemble((label, f"bold {color}"), f" {message}", (f" {hint}".rstrip(), "dim")))


def warn_missing_files(place: str, count: int) -> None:
    """Warn if the storage or the source lacks files."""
    if count:
        complain(f"Files missing from the {place}: {count}.", color="yellow")


def as_json(value: object) -> None:
    """Print a value as JSON to standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, json: bool) -> None:
    """Print whole rows as JSON, or these columns as a text table."""
    if json:
        as_json(rows)
    else:
        _print_table(rows, columns)


def _print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print a text table. Cells are never truncated, so that values can be copied."""
    lines = [list(columns), *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(cell_len(cell) for cell in cells) for cells in zip(*lines, strict=True)]
    for index, line in enumerate(lines):
        padded = "  ".join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
        stdout.print(padded.rstrip(), style=None if index else "bold")


def _cell(value: Any) -> str:
    """Return a value as text. Values can come from strangers, such as the details of a report."""
    return "-" if value is None else escape_control_characters(str(value))
