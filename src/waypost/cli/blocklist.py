"""`waypost block …` and `waypost reports …`: what nothing may lead to, and what visitors complain of."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost import clock
from waypost.cli import console
from waypost.moderation import ops
from waypost.urls.alias_namespace import ROTATORS
from waypost.urls.blocklist import HOST, WORD
from waypost.urls.short_urls import origin

block = typer.Typer(no_args_is_help=True, help="Hosts and words that nothing here may lead to.")
reports = typer.Typer(no_args_is_help=True, help="What visitors have reported.")
_Values = Annotated[list[str], typer.Argument(help="Hosts, each with everything below it; or words, with --word.")]
_IsWord = Annotated[bool, typer.Option("--word", help="They are words, looked for anywhere in a URL.")]


@block.command("add")
def add(values: _Values, is_word: _IsWord = False) -> None:
    """Block hosts or words, at once and for links that are there already."""
    kind = WORD if is_word else HOST
    with console.database() as database:
        added = database.write(lambda tx: [ops.block(tx, value, kind=kind) for value in values])
    for one in added:
        console.console.print(f"Blocked the {one.kind} {one.value}.")


@block.command("remove")
def remove(values: _Values, is_word: _IsWord = False) -> None:
    """Take hosts or words off the list."""
    kind = WORD if is_word else HOST
    with console.database() as database:
        removed = database.write(lambda tx: [ops.unblock(tx, value, kind=kind) for value in values])
    for one in removed:
        console.console.print(f"The {one.kind} {one.value} is no longer blocked.")


@block.command("list")
def list_blocks(json: console.AsJson = False) -> None:
    """Show what is blocked."""
    with console.database() as database:
        result = database.read(ops.blocks_of)
    rows = [{**asdict(one), "since": clock.text(one.created)} for one in result]
    shown = ("kind", "value", "since")
    if json:
        console.as_json([{name: row[name] for name in shown} for row in rows])
    else:
        console.table(rows, shown)


@reports.command("list")
def list_reports(
    everything: Annotated[bool, typer.Option("--all", help="Those that are closed too.")] = False,
    json: console.AsJson = False,
) -> None:
    """Show what visitors have reported, oldest first."""
    base = console.settings().base
    with console.database() as database:
        result = database.read(lambda tx: ops.reports_of(tx, closed=everything))
    rows = [
        {
            "id": one.id,
            "url": _url(base, one),
            "reason": one.reason,
            "comment": one.comment,
            "date": clock.text(one.created),
            "closed": None if one.closed is None else clock.text(one.closed),
        }
        for one in result
    ]
    if json:
        console.as_json(rows)
    else:
        plain = [{**row, "comment": _in_one_line(str(row["comment"]))} for row in rows]
        console.table(plain, ("id", "url", "reason", "comment", "date", "closed"))


@reports.command("close")
def close(report: Annotated[int, typer.Argument(help="Number of the report.")]) -> None:
    """Note that a report has been looked at."""
    with console.database() as database:
        database.write(lambda tx: ops.close(tx, report))
    console.console.print(f"Report {report} is closed.")


def _url(base: str, report: ops.Report) -> str:
    place = f"{base}{ROTATORS}" if report.host == ROTATORS else origin(base, report.host, None)
    return f"{place}/{report.alias}"


def _in_one_line(text: str) -> str:
    """A stranger's words, without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
