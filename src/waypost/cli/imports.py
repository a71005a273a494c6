"""The `waypost import` command: move links from another service."""

from pathlib import Path
from typing import Annotated

import typer

from waypost import csv_export
from waypost.cli import access, console
from waypost.db.database import Database
from waypost.imports import apply as applying
from waypost.imports import planner, plans
from waypost.imports.csv_columns import CsvSource
from waypost.imports.plans import Conflicts

_FATES = {
    "create": "will be created",
    "there": "are there already",
    "changed": "change a link",
    "conflict": "have a conflict",
    "impossible": "are impossible",
}
_APPLIED = {"create": "were created", "changed": "have changed a link"}


def import_links(
    identifier: access.AccountArgument,
    file: Annotated[Path | None, typer.Argument(help="CSV file; without one, apply or resume the last plan.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="FIELD=NAME", help="Column of a field, such as url=Target.")
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Import links of a host of the source to a domain of the account."),
    ] = None,
    conflicts: Annotated[
        Conflicts, typer.Option(help="A taken alias: skip the row, add a suffix, or replace the account's own link.")
    ] = "skip",
    report: Annotated[Path | None, typer.Option(help="Write the fate of every row to this CSV file.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Apply the plan. If interrupted, run it again.")] = False,
    json: console.AsJson = False,
) -> None:
    """Plan an import of links, and write it to a CSV file; with --apply, create the links."""
    options = planner.Options(conflicts, _pairs(host, "--host"))
    columns = _pairs(column, "--column")
    if file is None and not apply:
        raise typer.BadParameter("is required without --apply", param_hint="FILE")
    with access.database_and_account(identifier) as (database, account):
        if file is not None:
            _plan(database, account.id, file, columns, options)
        if apply:
            applying.apply(database, account.id)
        target = report or (None if apply else Path(f"{file.stem if file else 'import'}-plan.csv"))
        _print_summary(database, account.id, target, json=json)


def _plan(database: Database, account: int, file: Path, columns: dict[str, str], options: planner.Options) -> None:
    try:
        with file.open("rb") as opened:
            planner.make(database, access.settings(), account, CsvSource(opened, columns), options)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="FILE") from error


def _print_summary(database: Database, account: int, target: Path | None, *, json: bool) -> None:
    plan = database.read(lambda tx: plans.current(tx, account))
    summary = database.read(lambda tx: plans.summary(tx, account, plan.id))
    if target is not None:
        _write(target, database, account, plan.id)
    if json:
        counts = {fate: summary.counts.get(fate, 0) for fate in _FATES}
        console.as_json({"state": plan.state, **counts, "losing": summary.losing, "ignored": list(plan.ignored)})
        return
    texts = {**_FATES, **_APPLIED} if plan.state == "applied" else _FATES
    for fate, text in texts.items():
        console.stdout.print(f"{summary.counts.get(fate, 0):,} rows {text}.")
    kept = summary.counts.get("create", 0) + summary.counts.get("changed", 0)
    console.stdout.print(f"{summary.losing:,} of {kept:,} links lose something.")
    if plan.ignored:
        console.stdout.print(f"Columns that are not imported: {', '.join(plan.ignored)}.")
    if target is not None:
        console.stdout.print(f"The fate of every row is in {target}.")
    if plan.state == "planned":
        console.stdout.print("Nothing was imported. Run it again with --apply to import the links.")


def _write(target: Path, database: Database, account: int, plan: int) -> None:
    names = ("line", "fate", "reason", "losses", "host", "alias", "url")
    try:
        with target.open("w", encoding="utf-8", newline="") as opened:
            opened.write(csv_export.lines([names]))
            for row in plans.rows(database, account, plan):
                opened.write(csv_export.lines([[getattr(row, name) for name in names]]))
    except OSError as error:
        raise typer.BadParameter(f"{target}: {error.strerror}", param_hint="--report") from error


def _pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not name or not separator or not value:
            raise typer.BadParameter(f"{text} must have the form NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs
