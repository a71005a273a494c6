"""What every command shares: the settings, the open database, and how things are printed."""

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

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]

# No markup and no emoji names: what is printed holds people's own words and secrets, to the letter.
console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def settings() -> Settings:
    """The settings, or the end of the command with what is wrong with them."""
    try:
        return Settings()
    except ValidationError as error:
        for fault in error.errors():
            name = "WAYPOST_" + "_".join(str(part) for part in fault["loc"]).upper()
            what = "there is no such setting" if fault["type"] == "extra_forbidden" else fault["msg"]
            complain("W000", f"{name}: {what.removeprefix('Value error, ')}.")
        raise typer.Exit(2) from error
    except (ValueError, OSError) as error:
        complain("W000", f"{config_file()}: {error}.")
        raise typer.Exit(2) from error


@contextmanager
def database() -> Iterator[Database]:
    """The database of the settings, with this version's tables."""
    with closing(startup.open_database(settings())) as opened:
        yield opened


def complain(who: str, what: str, hint: str = "", *, colour: str = "red") -> None:
    """One line on standard error about what is wrong."""
    errors.print(Text.assemble((who, f"bold {colour}"), f" {what}", (f" {hint}".rstrip(), "dim")))


def as_json(value: object) -> None:
    """One JSON value on standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Rows for a person to read, with nothing cut off: a name is there to be copied."""
    lines = [list(columns), *(["-" if row[column] is None else str(row[column]) for column in columns] for row in rows)]
    widths = [max(cell_len(cell) for cell in cells) for cells in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        shown = "  ".join(set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True))
        console.print(shown.rstrip(), style=None if number else "bold")


def find_account(database: Database, who: str) -> Account:
    """The account that somebody names on the command line. Raises NOT_FOUND in words for there."""
    try:
        return database.read(lambda tx: ops.find(tx, who))
    except Problem as problem:
        if problem.kind is not Kind.NOT_FOUND:
            raise
        raise Problem(Kind.NOT_FOUND, f"There is no account with the username, e-mail address or id {who}.") from None
