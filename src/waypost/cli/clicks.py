"""The `waypost clicks` commands: export single visits, verify the totals against them."""

from dataclasses import asdict
from datetime import date
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from waypost.admin import health
from waypost.cli import access, console
from waypost.clicks.ingest import read_barrier
from waypost.clicks.ingest.aggregate import DAY
from waypost.clicks.stats import stored_visits, verify
from waypost.clicks.stats.reports import Span
from waypost.clicks.stats.stored_visits import Format
from waypost.core import clock, reasons
from waypost.core.settings import Settings
from waypost.db.database import Database

clicks = typer.Typer(no_args_is_help=True)


@clicks.command("export")
def export(
    identifier: access.AccountArgument,
    format: Annotated[Format, typer.Option(help="Output format.")] = "csv",
    first: Annotated[str, typer.Option("--from", metavar="DAY", help="First day, YYYY-MM-DD, UTC.")] = "2000-01-01",
    last: Annotated[str, typer.Option("--to", metavar="DAY", help="Last day, YYYY-MM-DD, UTC; today by default.")] = "",
) -> None:
    """Write the visits of an account to standard output, oldest first."""
    try:
        last_day = date.fromisoformat(last or clock.day(clock.now()))
        start, after = Span(date.fromisoformat(first), last_day, "day", ZoneInfo("UTC")).seconds()
    except ValueError as error:
        raise typer.BadParameter("must be a day, YYYY-MM-DD", param_hint="--from / --to") from error
    with access.database_and_account(identifier) as (database, account):
        for text in stored_visits.export(database, account.id, form=format, first=start, after=after):
            console.write_data(text)


@clicks.command("verify")
def verify_totals(
    repair: Annotated[bool, typer.Option("--repair", help="Recompute totals that differ from the visits.")] = False,
    json: console.AsJson = False,
) -> None:
    """Compare the totals with the stored visits. Exit code 1 if they differ and are not repaired.

    Exit code 1 too if the file of the database is damaged anywhere: nothing is compared then.
    """
    settings = access.settings()
    with access.database() as database:
        _stop_if_damaged(settings, database)
        if read_barrier.uncounted_bytes(settings.journal_dir, database):
            console.stderr.print("Some clicks are still in the journal and are not compared.")
        differences = database.write(verify.differences)
        if repair and differences:
            database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    if json:
        console.as_json([asdict(difference) for difference in differences])
    else:
        console.stdout.print(f"{len(differences)} differences{' repaired' if repair and differences else ''}.")
        for difference in differences:
            day = clock.day(difference.day * DAY)
            counts = f"total {difference.counted}, visits {difference.stored}"
            console.stdout.print(f"{difference.kind} {difference.item} on {day}: {counts}", markup=False)
    kept = [difference for difference in differences if difference.has_imported]
    if repair and kept:
        console.stderr.print(f"{len(kept)} of them stay: days with imported clicks cannot be recomputed.")
    if kept or (differences and not repair):
        raise typer.Exit(1)


def _stop_if_damaged(settings: Settings, database: Database) -> None:
    """Exit with a sentence: links or totals that cannot be read would be compared with nothing."""
    if damage := health.damage(database):
        hint = "Stop the service, and restore the newest backup into an empty folder."
        console.complain(f"The database {settings.database_file} is damaged: {reasons.clean(damage)}.", hint)
        raise typer.Exit(1)
