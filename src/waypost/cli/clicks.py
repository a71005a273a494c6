"""The `waypost clicks` commands: export single visits, verify the totals against them."""

import sys
from dataclasses import asdict
from datetime import date
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from waypost import clock
from waypost.cli import console
from waypost.clicks.ingest import read_barrier
from waypost.clicks.ingest.aggregate import DAY
from waypost.clicks.stats import raw_events, verify
from waypost.clicks.stats.raw_events import Format
from waypost.clicks.stats.reports import Span

clicks = typer.Typer(no_args_is_help=True, help="Clicks: export single visits, verify the totals.")
_FIRST_DAY = "2000-01-01"


@clicks.command("export")
def export(
    identifier: Annotated[str, typer.Argument(metavar="ACCOUNT", help="Username, e-mail address or id.")],
    form: Annotated[Format, typer.Option("--format", help="Output format.")] = "csv",
    first: Annotated[str, typer.Option("--from", help="First day, YYYY-MM-DD, UTC.")] = _FIRST_DAY,
    last: Annotated[str | None, typer.Option("--to", help="Last day, YYYY-MM-DD, UTC; today by default.")] = None,
) -> None:
    """Write the visits of an account to standard output, oldest first."""
    try:
        span = Span(
            date.fromisoformat(first), date.fromisoformat(last or clock.day(clock.now())), "day", ZoneInfo("UTC")
        )
    except ValueError as error:
        raise typer.BadParameter("must be a day, YYYY-MM-DD", param_hint="--from / --to") from error
    start, after = span.seconds()
    with console.database() as database:
        account = console.find_account(database, identifier)
        for text in raw_events.export(database, account.id, form=form, first=start, after=after):
            sys.stdout.write(text)


@clicks.command("verify")
def verify_totals(
    repair: Annotated[bool, typer.Option("--repair", help="Recompute totals that differ from the visits.")] = False,
    json: console.AsJson = False,
) -> None:
    """Compare the totals with the stored visits. Exit code 1 if they differ and are not repaired."""
    with console.database() as database:
        if console.settings().journal_dir.is_dir() and read_barrier.uncounted_bytes(
            console.settings().journal_dir, database
        ):
            console.errors.print("Some clicks are still in the journal and are not compared.")
        differences = database.write(verify.differences)
        if repair and differences:
            database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    if json:
        console.as_json([asdict(difference) for difference in differences])
    else:
        for difference in differences:
            day = clock.day(difference.day * DAY)
            counts = f"total {difference.counted}, visits {difference.stored}"
            console.console.print(f"{difference.kind} {difference.item} on {day}: {counts}", markup=False)
        console.console.print(f"{len(differences)} differences{' repaired' if repair and differences else ''}.")
    if differences and not repair:
        raise typer.Exit(1)
