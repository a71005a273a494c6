"""Output of the commands: tables, JSON and progress bars. Texts of strangers cannot send escape sequences."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, cast

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from waypost_client.local_files import Progress as ReportProgress
from waypost_client.records import Page, Record

_LEFT_OUT = ("description", "domain", "channel", "alias")  # columns of lists that would not fit; `--json` has them


def escape_unknown_characters() -> None:
    """Print characters that the encoding of the terminal lacks as escape sequences, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def stdout() -> Console:
    """Return a console for results."""
    return Console(highlight=False, markup=False, emoji=False)


def complain(message: str) -> None:
    """Print a problem to standard error."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.print(Text.assemble(("waypost-cli:", "bold red"), f" {_clean(message)}"))


def show(result: Any, *, as_json: bool) -> None:
    """Print a result as JSON as it was received, or as a table."""
    data = received(result)
    if as_json:
        json.dump(data, sys.stdout, indent=2, ensure_ascii=not _is_utf8())
        sys.stdout.write("\n")
    elif isinstance(result, Page):
        page = cast("Page[Record]", result)
        _print_rows([each.raw for each in page.items])
        if page.nextpage is not None:
            note = f"Page {page.currentpage} of {page.maxpage}, {page.result} in all. Next: --page {page.nextpage}"
            Console(stderr=True).print(note)
    elif isinstance(data, list):
        _print_rows(cast("list[Mapping[str, Any]]", data))
    else:
        _print_fields(cast("Mapping[str, Any]", data))


def received(result: Any) -> Any:
    """Return the JSON of a result, with the fields that this version does not know."""
    if isinstance(result, Record):
        return result.raw
    if isinstance(result, list):
        return [received(each) for each in cast("Any", result)]
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result


@contextmanager
def progress(label: str, *, in_bytes: bool = True) -> Generator[ReportProgress]:
    """Show a bar on standard error if it is a terminal; yield the function that moves it."""
    count: ProgressColumn = DownloadColumn() if in_bytes else MofNCompleteColumn()
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        count,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(_clean(label), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    columns = [name for name in (rows[0] if rows else ()) if name not in _LEFT_OUT]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in columns))
    stdout().print(table)


def _print_fields(fields: Mapping[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in fields.items():
        if name != "error":
            table.add_row(Text(name), _cell(value))
    stdout().print(table)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("-")
    return Text(_clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))


def _clean(text: str) -> str:
    return "".join(each if each.isprintable() or each == "\n" else "�" for each in text)


def _is_utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
