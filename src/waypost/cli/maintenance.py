"""The `waypost maintenance` commands."""

import time
from contextlib import closing

import typer

from waypost.admin import installation
from waypost.cli import access, console
from waypost.core import clock
from waypost.db import maintenance as mode

maintenance = typer.Typer(no_args_is_help=True)


@maintenance.command("on")
def switch_on() -> None:
    """Refuse changes on all nodes. Redirects, downloads and their clicks continue, and everything can be read.

    When the command ends, no further change begins. Changes in progress are completed.
    """
    with closing(installation.open_installation(access.settings())) as database:
        database.write(mode.switch_on)
        time.sleep(mode.FOLLOW_SECONDS)  # then every process has read it
    console.stdout.print("Maintenance is on: changes are refused. `waypost maintenance off` ends it.")


@maintenance.command("off")
def switch_off() -> None:
    """Accept changes again, on all nodes within half a second."""
    with closing(installation.open_installation(access.settings())) as database:
        database.write(mode.switch_off)
    console.stdout.print("Maintenance is off.")


@maintenance.command("status")
def show_status() -> None:
    """Print whether maintenance is on, and since when."""
    with closing(installation.open_installation(access.settings())) as database:
        since = database.read(mode.since)
    console.stdout.print(
        "Maintenance is off." if since is None else f"Maintenance is on since {clock.text(since)} UTC."
    )
