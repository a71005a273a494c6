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
from waypost.errors import Kind, Problem
from waypost.server import startup
from waypost.settings import Settings, config_file

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Markup and emoji names are off: user input and secrets are printed verbatim.
console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def settings() -> Settings:
    """Load the settings. If they are invalid, print the errors and exit with code 2."""
    try:
        return Settings()
    except ValidationError as error:
        for detail in error.errors():
            name = "WAYPOST_" + "_".join(str(part) for part in detail["loc"]).upper()
            reason = "there is no such setting" if detail["type"] == "extra_forbidden" else detail["msg"]
            complain("W000", f"{name}: {reason.removeprefix('Value error, ')}.")
        raise typer.Exit(2) from error
    except (ValueError, OSError) as error:
        complain("W000", f"{config_file()}: {error}.")
        raise typer.Exit(2) from error


@contextmanager
def database() -> Iterator[Database]:
    """Open the configured database, migrated to this version's schema."""
    with closing(startup.open_database(settings())) as opened:
        yield opened


def complain(label: str, message: str, hint: str = "", *, colour: str = "red") -> None:
    """Print a one-line problem to standard error."""
    errors.print(Text.assemble((label, f"bold {colour}"), f" {message}", (f" {hint}".rstrip(), "dim")))


def as_json(value: object) -> None:
    """Print a value as JSON to standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Print rows as a text table. Cells are never truncated, so that values can be copied."""
    lines = [list(columns), *(["-" if row[column] is None else str(row[column]) for column in columns] for row in rows)]
    widths = [max(cell_len(cell) for cell in cells) for cells in zip(*lines, strict=True)]
    for index, line in enumerate(lines):
        padded = "  ".join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
        console.print(padded.rstrip(), style=None if index else "bold")


def find_account(database: Database, identifier: str) -> Account:
    """Return the account with this username, e-mail address or id. Raise NOT_FOUND if there is none."""
    try:
        return database.read(lambda tx: ops.find(tx, identifier))
    except Problem as problem:
        if problem.kind is not Kind.NOT_FOUND:
            raise
        raise Problem(
            Kind.NOT_FOUND, f"There is no account with the username, e-mail address or id {identifier}."
        ) from None
