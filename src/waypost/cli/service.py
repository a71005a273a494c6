"""The `waypost serve` and `waypost doctor` commands."""

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from waypost import __version__
from waypost.admin import installation, new_accounts, private_files, system_checks
from waypost.admin.new_accounts import NewAccount
from waypost.admin.system_checks import Check, Finding
from waypost.cli import access, console
from waypost.core import logging
from waypost.core.errors import NoInstallation
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
    private_files.protect(settings)
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
        lifetime = email_links.WELCOME_SECONDS
        link = database.read(lambda tx: email_links.reset_link(tx, settings.dashboard, owner.id, life=lifetime))
        _show_welcome(settings, owner, welcome(settings.base, owner, link))


def doctor() -> None:
    """Check the settings, the data folder, the database and the file storage.

    Prints each check with its result, and the repair of each problem. Changes nothing.
    """
    settings = access.settings()
    logging.configure(settings)
    checks = list(system_checks.before_start(settings))
    if not _has_database(settings) and all(check.result != "error" for check in checks):
        raise NoInstallation(settings.location)  # nothing is checked that does not exist
    findings = _print_checks(checks)
    with closing(installation.open_installation(settings)) as database:
        findings += _print_checks(system_checks.of_installation(settings, database))
    warnings = f"{len(findings)} warning{'s' if len(findings) > 1 else ''}"
    console.stdout.print(
        f"{f'No errors, {warnings}.' if findings else 'All checks passed.'} Installation: {settings.location}"
    )


def _has_database(settings: Settings) -> bool:
    file = settings.database_file
    with suppress(PermissionError):  # a check reports it
        return file is None or file.exists()
    return True


def _print_checks(checks: Iterable[Check]) -> list[Finding]:
    """Print each check when it is made, with its findings. Return the findings; exit with code 1 after errors.

    A line begins with the verdict. The reason and the repair are in the same line.
    """
    findings: list[Finding] = []
    for check in checks:
        if not check.findings:
            console.stdout.print(Text.assemble(("ok     ", "bold green"), f"  {check.text}"))
        for finding in check.findings:
            word, color = ("FAILED ", "red") if finding.level == "error" else ("warning", "yellow")
            name = check.text.partition(":")[0]
            line = f"  {name}: {finding.id} {finding.text}"
            console.stdout.print(Text.assemble((word, f"bold {color}"), line, (f" {finding.hint}", "dim")))
        findings += check.findings
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)
    return findings


def _report(findings: Sequence[Finding]) -> bool:
    """Print the findings. Return True if any is an error."""
    for finding in findings:
        color = "red" if finding.level == "error" else "yellow"
        console.complain(finding.text, finding.hint, label=finding.id, color=color)
    return any(finding.level == "error" for finding in findings)


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
