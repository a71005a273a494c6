"""The `waypost block` and `waypost reports` commands: blocklist and abuse reports."""

from typing import Annotated

import typer

from waypost.cli import access, console
from waypost.core import clock
from waypost.items.moderation import blocklist
from waypost.items.moderation import reports as abuse_reports
from waypost.urls.blocklist import HOST, WORD

block = typer.Typer(no_args_is_help=True)
reports = typer.Typer(no_args_is_help=True)
_Values = Annotated[list[str], typer.Argument(help="Hosts, which include their subdomains; or words, with --word.")]
_IsWord = Annotated[bool, typer.Option("--word", help="The values are words, matched anywhere in a URL.")]


@block.command("add")
def add(values: _Values, is_word: _IsWord = False) -> None:
    """Block hosts or words immediately, for existing links too."""
    kind = WORD if is_word else HOST
    with access.database() as database:
        added = database.write(lambda tx: [blocklist.block(tx, value, kind=kind) for value in values])
    for blocked in added:
        console.stdout.print(f"Blocked the {blocked.kind} {blocked.value}.")


@block.command("remove")
def remove(values: _Values, is_word: _IsWord = False) -> None:
    """Remove hosts or words from the blocklist."""
    kind = WORD if is_word else HOST
    with access.database() as database:
        removed = database.write(lambda tx: [blocklist.unblock(tx, value, kind=kind) for value in values])
    for unblocked in removed:
        console.stdout.print(f"The {unblocked.kind} {unblocked.value} is no longer blocked.")


@block.command("list")
def list_blocks(json: console.AsJson = False) -> None:
    """List blocked hosts and words."""
    with access.database() as database:
        blocks = database.read(blocklist.list_all)
    rows = [{"kind": block.kind, "value": block.value, "since": clock.text(block.created)} for block in blocks]
    console.print_rows(rows, ("kind", "value", "since"), json=json)


@reports.command("list")
def list_reports(
    everything: Annotated[bool, typer.Option("--all", help="Include closed reports.")] = False,
    json: console.AsJson = False,
) -> None:
    """List reports of visitors, oldest first."""
    base = access.settings().base
    with access.database() as database:
        matching = database.read(lambda tx: abuse_reports.list_all(tx, closed=everything))
    rows = [
        {
            "id": report.id,
            "url": report.url(base),
            "reason": report.reason,
            "comment": report.comment if json else _in_one_line(report.comment),
            "date": clock.text(report.created),
            "closed": None if report.closed is None else clock.text(report.closed),
        }
        for report in matching
    ]
    console.print_rows(rows, ("id", "url", "reason", "comment", "date", "closed"), json=json)


@reports.command("close")
def close(report: Annotated[int, typer.Argument(help="Number of the report.")]) -> None:
    """Close a report."""
    with access.database() as database:
        database.write(lambda tx: abuse_reports.close(tx, report))
    console.stdout.print(f"Report {report} is closed.")


def _in_one_line(text: str) -> str:
    """Replace control characters with spaces, so that visitors' text cannot send terminal escape sequences."""
    return "".join(char if char.isprintable() else " " for char in text)
