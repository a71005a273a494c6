"""Output of the commands."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from waypost.core.text_folding import escape_control_characters

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Markup and emoji names are off: user input and secrets are printed verbatim.
stdout = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
stderr = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)


def complain(message: str, hint: str = "", *, label: str = "waypost:", color: str = "red") -> None:
    """Print a one-line problem to standard error."""
    stderr.print(Text.assemble((label, f"bold {color}"), f" {message}", (f" {hint}".rstrip(), "dim")))


def warn_missing_files(place: str, count: int) -> None:
    """Warn if the storage or the source lacks files."""
    if count:
        complain(f"Files missing from the {place}: {count}.", color="yellow")


def as_json(value: object) -> None:
    """Print a value as JSON to standard output."""
    write_data(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_data(text: str) -> None:
    """Write text that programs read to standard output: UTF-8 in every locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def counted(number: int, plural: str) -> str:
    """Return a number of things, such as "2 links"."""
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"


def confirm_deletion(things: str, *, yes: bool) -> None:
    """Ask before a deletion, as `confirm`."""
    confirm("Delete", things, yes=yes)


def confirm(action: str, things: str, *, yes: bool) -> None:
    """Ask before an action, such as "Delete". A "no" exits with 1.

    Without a terminal, `--yes` is required: raises a usage error.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"{action.lower()}s {things}; there is no terminal to ask", param_hint="--yes")
    typer.confirm(f"{action} {escape_control_characters(things)}?", abort=True, err=True)


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print one line for each field: its name and value."""
    width = max(map(cell_len, fields))
    for name, value in fields.items():
        stdout.print(Text.assemble((set_cell_size(name, width), "bold"), f"  {_cell(value)}"))


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
