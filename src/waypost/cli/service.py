"""The `waypost serve` and `waypost doctor` commands."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Annotated

import typer
from rich.text import Text
from sqlalchemy.exc import DBAPIError

from waypost import __version__
from waypost.admin import installation, new_accounts, system_checks
from waypost.admin.new_accounts import NewAccount
from waypost.admin.system_checks import Check, Finding
from waypost.cli import access, console
from waypost.core import logging
from waypost.core.errors import NoInstallation, Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.accounts import email_links, first_sign_in, ops
from waypost.server import startup


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides WAYPOST_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides WAYPOST_PORT.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of worker processes; overrides WAYPOST_WORKERS.")] = None,
) -> None:
    """Start the service."""
    # Worker processes read their settings from the environment.
    overrides = {"WAYPOST_HOST": host, "WAYPOST_PORT": port, "WAYPOST_WORKERS": workers}
    os.environ.update({name: str(value) for name, value in overrides.items() if value is not None})
    settings = access.settings()
    logging.configure(settings)
    installation.protect_files(settings)
    if _report(system_checks.run(settings)):
        raise typer.Exit(2)
    with ExitStack() as stack:
        listeners = [stack.enter_context(listener) for listener in startup.listen(settings)]
        startup.load()
        with closing(installation.open_database(settings)) as database:
            _create_owner(settings, database)
        on_ready = partial(console.stderr.print, f"waypost {__version__} serves {settings.base}")
        startup.serve(settings, listeners, on_ready)


def _create_owner(settings: Settings, database: Database) -> None:
    """Create the first account of a new installation, and show its credentials."""
    if settings.registration == "on":
        database.write(ops.limit_registered_accounts)
    owner = new_accounts.create_first_account(settings, database)
    if owner is not None:
        link = database.read(lambda tx: email_links.welcome_link(tx, settings.dashboard, owner.id))
        _show_welcome(settings, owner, welcome(settings.base, owner, link))


def doctor() -> None:
    """Check the settings, the data folder, the database and the file storage.

    Prints the result of all checks, then each problem with its repair, then the checks that passed. Changes nothing.
    """
    settings = access.settings()
    logging.configure(settings)
    checks = list(system_checks.before_start(settings))
    if not any(check.result == "error" for check in checks):
        if not _has_database(settings):
            raise NoInstallation(settings.location)  # nothing is checked that does not exist
        try:
            with closing(installation.open_installation(settings)) as database:
                checks.extend(system_checks.of_installation(settings, database))
        except (Problem, DBAPIError):  # the edge of the commands prints it
            _print_checks(checks, "The checks could not be completed.")
            raise
    _print_checks(checks, f"{_verdict(checks)} Installation: {settings.location}")
    if any(check.result == "error" for check in checks):
        raise typer.Exit(1)


def _verdict(checks: Sequence[Check]) -> str:
    levels = [finding.level for check in checks for finding in check.findings]
    errors, warnings = levels.count("error"), levels.count("warning")
    if not levels:
        return "All checks passed."
    counts = [console.counted(errors, "errors") if errors else "No errors"]
    counts += [console.counted(warnings, "warnings")] if warnings else []
    return f"{', '.join(counts)}."


def _has_database(settings: Settings) -> bool:
    file = settings.database_file
    with suppress(PermissionError):  # a check reports it
        return file is None or file.exists()
    return True


def _print_checks(checks: Iterable[Check], verdict: str) -> None:
    """Print the verdict, then each check with its findings, the worst first.

    A line begins with the result of its check. The reason and the repair are in the same line.
    """
    console.stdout.print(verdict)
    for check in sorted(checks, key=lambda check: ("error", "warning", "ok").index(check.result)):
        if not check.findings:
            console.stdout.print(Text.assemble(("ok     ", "bold green"), f"  {check.text}"))
        for finding in check.findings:
            word, color = ("FAILED ", "red") if finding.level == "error" else ("warning", "yellow")
            name = check.text.partition(":")[0]
            line = f"  {name}: {finding.id} {finding.text}"
            console.stdout.print(Text.assemble((word, f"bold {color}"), line, (f" {finding.hint}", "dim")))


def _report(findings: Sequence[Finding]) -> bool:
    """Print the findings. Return True if any prevents the start."""
    for finding in findings:
        color = "red" if finding.level == "error" else "yellow"
        console.complain(finding.text, finding.hint, label=finding.id, color=color)
    return any(finding.prevents_start for finding in findings)


def _show_welcome(settings: Settings, owner: NewAccount, text: str) -> None:
    """Print the credentials to a terminal; otherwise store them in a file until the owner signs in."""
    if sys.stdout.isatty():
        console.stdout.print(text)
        return
    try:
        path = first_sign_in.write(settings, owner.id, text)
    except OSError as error:
        message = f"The credentials of the owner's account cannot be stored in {settings.data_dir}: {error.strerror}."
        console.complain(message, f"Make a sign-in link with: waypost account reset {owner.username}")
        return
    console.stdout.print(
        f"The owner's password, a sign-in link and an API key are in {path}, which only this user can read."
        " It is deleted at the first sign-in."
    )


def welcome(base: str, owner: NewAccount, link: str) -> str:
    """Return the credentials of the new owner account, which are never shown again (decision 16)."""
    return f"""
Welcome to waypost. These credentials are shown only once:

  address   {base}
  username  {owner.username} ({owner.email})
  password  {owner.password}
  API key   {owner.apikey}

Open this one-time link in a browser to set your own password and sign in:

  {link}

Or try the API:

  curl -H 'Authorization: Bearer {owner.apikey}' {base}/api/account
"""
