"""The `waypost geo` commands: the country database."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost.admin import installation
from waypost.cli import access, console
from waypost.clicks.geo import download
from waypost.clicks.geo.lookup import Countries, downloaded_file
from waypost.core import clock, logging

geo = typer.Typer(no_args_is_help=True)

_SOURCES = {
    "setting": "set by WAYPOST_GEO_FILE",
    "update": "downloaded by waypost geo update",
    "tor-geoipdb": "Debian's tor-geoipdb",
}


@geo.command("update")
def update_table(
    url: Annotated[
        str, typer.Option(help="URL of an .mmdb or .mmdb.gz file. Default: the free DB-IP Lite database.")
    ] = "",
) -> None:
    """Download this month's DB-IP Lite country database; with WAYPOST_GEO_DETAIL=on, the one with regions and cities.

    A running service loads it within a minute.
    """
    settings = access.settings()
    installation.open_installation(settings).close()
    installed = download.update(downloaded_file(settings), url=url, with_cities=settings.geo_detail == "on")
    built = clock.day(installed.built)
    console.stdout.print(f"{installed.file} installed: country database built on {built}, from {installed.url}.")
    if installed.credit:
        console.stdout.print(f"{installed.credit}. The license requires this credit wherever results are shown.")
    if settings.geo_file:
        message = "WAYPOST_GEO_FILE is set, so the service keeps using that file:"
        console.complain(message, settings.geo_file, color="yellow")


@geo.command("status")
def show_status(json: console.AsJson = False) -> None:
    """Show the country database in use. Exit code 1 if it cannot be read."""
    settings = access.settings()
    installation.open_installation(settings).close()
    logging.configure(settings.model_copy(update={"log_level": "error"}))  # problems are printed below
    status = Countries(settings).status()
    if json:
        console.as_json({**asdict(status), "built": clock.day(status.built) if status.built else None})
    elif status.source == "none" and not status.problem:
        console.stdout.print("No country database: every country is Unknown. Run: waypost geo update")
    elif status.source != "none":
        built = f", built on {clock.day(status.built)}" if status.built else ""
        console.stdout.print(f"{status.file}, {_SOURCES[status.source]}{built}, {status.entries} entries.")
        if status.credit:
            console.stdout.print(status.credit)
    if status.problem:
        console.complain(f"{status.problem}.")
        raise typer.Exit(1)
