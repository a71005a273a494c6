"""`waypost clicks …`: single visits out, and the sums checked against them."""

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

clicks = typer.Typer(no_args_is_help=True, help="Clicks: export single visits, check the sums.")
_BEGINNING = "2000-01-01"


@clicks.command("export")
def export(
    who: Annotated[str, typer.Argument(help="Username, e-mail address or id.")],
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = "csv",
    first: Annotated[str, typer.Option("--from", help="First day, YYYY-MM-DD, UTC.")] = _BEGINNING,
    last: Annotated[str | None, typer.Option("--to", help="Last day, YYYY-MM-DD, UTC; today by default.")] = None,
) -> None:
    """Write an account's visits, oldest first, to standard output."""
    try:
        span = Span(
            date.fromisoformat(first), date.fromisoformat(last or clock.day(clock.now())), "day", ZoneInfo("UTC")
        )
    except ValueError as error:
        raise typer.BadParameter("must be a day, YYYY-MM-DD", param_hint="--from / --to") from error
    start, after = span.seconds()
    with console.database() as database:
        account = console.find_account(database, who)
        for text in raw_events.export(database, account.id, form=form, first=start, after=after):
            sys.stdout.write(text)


@clicks.command("verify")
def check(
    repair: Annotated[bool, typer.Option("--repair", help="Make the sums what the visits add up to.")] = False,
    json: console.AsJson = False,
) -> None:
    """Compare the sums with the single visits that are kept. Exit code 1 when they differ and stay so."""
    with console.database() as database:
        if console.settings().journal_dir.is_dir() and read_barrier.uncounted_bytes(
            console.settings().journal_dir, database
        ):
            console.errors.print("Some clicks are still in the journal; they are in neither.")
        result = database.write(verify.differences)
        if repair and result:
            database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    if json:
        console.as_json([asdict(one) for one in result])
    else:
        for one in result:
            output = f"{one.kind} {one.item} on {clock.day(one.day * DAY)}: sums {one.counted}, visits {one.stored}"
            console.console.print(output, markup=False)
        console.console.print(f"{len(result)} differences{' repaired' if repair and result else ''}.")
    if result and not repair:
        raise typer.Exit(1)
