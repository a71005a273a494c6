"""`waypost geo …`: the table that tells a visitor's country."""

from dataclasses import asdict
from typing import Annotated

import typer

from waypost import clock, logs
from waypost.cli import out
from waypost.clicks import geo_fetch
from waypost.clicks.geo import Countries, fetched_file

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
    settings = out.settings()
    done = geo_fetch.update(fetched_file(settings), url=url)
    out.console.print(f"{done.file} is now the table built on {clock.day(done.built)}, from {done.url}.")
    if done.credit:
        out.console.print(f"{done.credit}. Its licence wants this shown where its results are.")
    if settings.geo_file:
        out.complain(
            "waypost:", "WAYPOST_GEO_FILE names another table, which stays in use.", settings.geo_file, colour="yellow"
        )


@geo.command("status")
def show_status(json: out.AsJson = False) -> None:
    """Show which table is in use. Exit code 1 when one should be and cannot be read."""
    settings = out.settings()
    logs.configure(settings.model_copy(update={"log_level": "error"}))  # what is wrong is said below
    status = Countries(settings).status()
    if json:
        out.as_json({**asdict(status), "built": clock.day(status.built) if status.built else None})
    elif status.source == "none" and not status.problem:
        out.console.print("There is no table, so every country is Unknown. Run: waypost geo update")
    elif status.source != "none":
        built = f", built on {clock.day(status.built)}" if status.built else ""
        out.console.print(f"{status.file}, {_SOURCES[status.source]}{built}, {status.entries} entries.")
        if status.credit:
            out.console.print(status.credit)
    if status.problem:
        out.complain("waypost:", f"{status.problem}.")
        raise typer.Exit(1)
