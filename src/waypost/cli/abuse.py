"""`waypost block …` and `waypost reports …`: what nothing may lead to, and what visitors complain of."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost import clock
from waypost.abuse import ops
from waypost.aliases.namespace import ROTATORS
from waypost.aliases.urls import origin
from waypost.cli import out
from waypost.net.blocked import HOST, WORD

block = typer.Typer(no_args_is_help=True, help="Hosts and words that nothing here may lead to.")
reports = typer.Typer(no_args_is_help=True, help="What visitors have reported.")
_Values = Annotated[list[str], typer.Argument(help="Hosts, each with everything below it; or words, with --word.")]
_IsWord = Annotated[bool, typer.Option("--word", help="They are words, looked for anywhere in a URL.")]


@block.command("add")
def add(values: _Values, is_word: _IsWord = False) -> None:
    """Block hosts or words, at once and for links that are there already."""
    kind = WORD if is_word else HOST
    with out.database() as database:
        added = database.write(lambda tx: [ops.block(tx, value, kind=kind) for value in values])
    for one in added:
        out.console.print(f"Blocked the {one.kind} {one.value}.")


@block.command("remove")
def remove(values: _Values, is_word: _IsWord = False) -> None:
    """Take hosts or words off the list."""
    kind = WORD if is_word else HOST
    with out.database() as database:
        removed = database.write(lambda tx: [ops.unblock(tx, value, kind=kind) for value in values])
    for one in removed:
        out.console.print(f"The {one.kind} {one.value} is no longer blocked.")


@block.command("list")
def list_blocks(json: out.AsJson = False) -> None:
    """Show what is blocked."""
    with out.database() as database:
        found = database.read(ops.blocks_of)
    rows = [{**asdict(one), "since": clock.text(one.created)} for one in found]
    shown = ("kind", "value", "since")
    if json:
        out.as_json([{name: row[name] for name in shown} for row in rows])
    else:
        out.table(rows, shown)


@reports.command("list")
def list_reports(
    everything: Annotated[bool, typer.Option("--all", help="Those that are closed too.")] = False,
    json: out.AsJson = False,
) -> None:
    """Show what visitors have reported, oldest first."""
    base = out.settings().base
    with out.database() as database:
        found = database.read(lambda tx: ops.reports_of(tx, closed=everything))
    rows = [
        {
            "id": one.id,
            "url": _url(base, one),
            "reason": one.reason,
            "comment": one.comment,
            "date": clock.text(one.created),
            "closed": None if one.closed is None else clock.text(one.closed),
        }
        for one in found
    ]
    if json:
        out.as_json(rows)
    else:
        plain = [{**row, "comment": _in_one_line(str(row["comment"]))} for row in rows]
        out.table(plain, ("id", "url", "reason", "comment", "date", "closed"))


@reports.command("close")
def close(report: Annotated[int, typer.Argument(help="Number of the report.")]) -> None:
    """Note that a report has been looked at."""
    with out.database() as database:
        database.write(lambda tx: ops.close(tx, report))
    out.console.print(f"Report {report} is closed.")


def _url(base: str, report: ops.Report) -> str:
    place = f"{base}{ROTATORS}" if report.host == ROTATORS else origin(base, report.host, None)
    return f"{place}/{report.alias}"


def _in_one_line(text: str) -> str:
    """A stranger's words, without anything that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
