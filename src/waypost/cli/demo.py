"""The `waypost demo` command."""

import os
import tempfile
from contextlib import closing
from typing import Annotated

import typer

from waypost.admin import installation, new_accounts
from waypost.cli import access, console
from waypost.cli.service import welcome
from waypost.core import logging
from waypost.core.errors import Problem
from waypost.demo import content, visits
from waypost.items.accounts import email_links
from waypost.server import startup
from waypost.storage.factory import open_store

_PREFIX = "WAYPOST_"
_KEPT = ("WAYPOST_LOG_LEVEL", "WAYPOST_LOG_FORMAT")


def demo(
    port: Annotated[int, typer.Option(help="Port to listen on, on this machine only.", min=1, max=65535)] = 8000,
    base_url: Annotated[str, typer.Option(help="URL for short links. Default: http://localhost:PORT.")] = "",
) -> None:
    """Start a service with sample links and 60 days of visits in a temporary folder, which is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="waypost-demo-") as folder:
        _use_only(folder, port, base_url)
        settings = access.settings()
        logging.configure(settings)
        try:
            listeners = startup.listen(settings)
        except Problem as problem:  # it names settings, which the demo does not have
            raise Problem(problem.kind, f"Port {port} cannot be used. Choose another one with --port.") from problem
        with closing(installation.open_database(settings)) as database:
            owner = new_accounts.create_first_account(settings, database)
            assert owner is not None  # the folder was empty
            targets = database.write(lambda tx: content.add(tx, owner.id, settings))
            with closing(open_store(settings)) as store:
                targets += content.add_further(database, store, owner.id, settings)
            count = visits.write(settings.journal_dir, owner.id, targets)
            link = database.read(lambda tx: email_links.welcome_link(tx, settings.dashboard, owner.id))

        def print_credentials() -> None:
            console.stdout.print(welcome(settings.base, owner, link))  # also without a terminal: they end with the demo
            console.stdout.print(f"This demo has {count} visits of {visits.DAYS} days. Stopping it deletes {folder}.")

        startup.serve(settings, listeners, print_credentials)


def _use_only(folder: str, port: int, base_url: str) -> None:
    """Replace all settings, so that no installation of this machine is touched. Worker processes read them too."""
    for name in [name for name in os.environ if name.upper().startswith(_PREFIX) and name not in _KEPT]:
        del os.environ[name]
    os.chdir(folder)  # and no waypost.toml is read
    own = {"data_dir": folder, "port": port, "base_url": base_url, "owner_email": "owner@juniper.example"}
    own |= {"domain_check": "off", "favicons": "off", "workers": 1}
    os.environ.update({f"{_PREFIX}{name.upper()}": str(value) for name, value in own.items()})
