"""`waypost geo …`: the table that tells a visitor's country."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost import clock
from waypost.cli import console
from waypost.clicks.geo import download
from waypost.clicks.geo.lookup import Countries, downloaded_file
from waypost.observability import logging

geo = typer.Typer(no_args_is_help=True, help="The table that tells a visitor's country from the address.")

_SOURCES = {
    "setting": "named by WAYPOST_GEO_FILE",
    "update": "fetched by waypost geo update",
    "tor-geoipdb": "Debian's tor-geoipdb",
}


@geo.command("update")
def update_table(
    url: Annotated[str, typer.Option(help="An .mmdb or .mmdb.gz file elsewhere, instead of DB-IP's free one.")] = "",
) -> None:
    """Fetch the free DB-IP Lite table of this month. A running service takes it up within a minute."""
    settings = console.settings()
    done = download.update(downloaded_file(settings), url=url)
    console.console.print(f"{done.file} is now the table built on {clock.day(done.built)}, from {done.url}.")
    if done.credit:
        console.console.print(f"{done.credit}. Its licence wants this shown where its results are.")
    if settings.geo_file:
        console.complain(
            "waypost:", "WAYPOST_GEO_FILE names another table, which stays in use.", settings.geo_file, colour="yellow"
        )


@geo.command("status")
def show_status(json: console.AsJson = False) -> None:
    """Show which table is in use. Exit code 1 when one should be and cannot be read."""
    settings = console.settings()
    logging.configure(settings.model_copy(update={"log_level": "error"}))  # what is wrong is said below
    status = Countries(settings).status()
    if json:
        console.as_json({**asdict(status), "built": clock.day(status.built) if status.built else None})
    elif status.source == "none" and not status.problem:
        console.console.print("There is no table, so every country is Unknown. Run: waypost geo update")
    elif status.source != "none":
        built = f", built on {clock.day(status.built)}" if status.built else ""
        console.console.print(f"{status.file}, {_SOURCES[status.source]}{built}, {status.entries} entries.")
        if status.credit:
            console.console.print(status.credit)
    if status.problem:
        console.complain("waypost:", f"{status.problem}.")
        raise typer.Exit(1)
