"""The `waypost` command line."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from waypost import __version__
from waypost.accounts import email_links, ops
from waypost.backup import archive
from waypost.cli import accounts, blocklist, clicks, console, geo, migrate
from waypost.db.database import error_reason
from waypost.errors import Problem
from waypost.observability import logging
from waypost.routers import api_document
from waypost.server import private_files, startup, system_checks
from waypost.server.startup import NewAccount
from waypost.settings import Settings
from waypost.storage.factory import open_store

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Self-hosted short links, files and QR codes.")
app.add_typer(accounts.account, name="account")
app.add_typer(accounts.plan, name="plan")
app.add_typer(geo.geo, name="geo")
app.add_typer(clicks.clicks, name="clicks")
app.add_typer(blocklist.block, name="block")
app.add_typer(blocklist.reports, name="reports")
app.command("migrate-database")(migrate.migrate_database)
app.command("migrate-storage")(migrate.migrate_storage)


def main() -> None:
    """Run the command line. A `Problem` is printed as one sentence, with exit code 1; 2 without an installation."""
    os.umask(0o077)  # other users cannot read the files of an installation; child processes inherit it
    try:
        app()
    except Problem as problem:
        cause = error_reason(problem)
        console.complain(problem.message, cause and f"({cause})")
        sys.exit(2 if isinstance(problem, startup.NoInstallation) else 1)


@app.command()
def version() -> None:
    """Print the version."""
    console.stdout.print(__version__)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; overrides WAYPOST_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; overrides WAYPOST_PORT.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of worker processes; overrides WAYPOST_WORKERS.")] = None,
) -> None:
    """Start the service."""
    # Worker processes read their settings from the environment.
    overrides = {"WAYPOST_HOST": host, "WAYPOST_PORT": port, "WAYPOST_WORKERS": workers}
    os.environ.update({name: str(value) for name, value in overrides.items() if value is not None})
    settings = console.settings()
    logging.configure(settings)
    private_files.protect(settings)
    if _report(system_checks.run(settings)):
        raise typer.Exit(2)
    listeners = startup.listen(settings)
    with closing(startup.open_database(settings)) as database:
        if settings.registration == "on":
            database.write(ops.limit_registered_accounts)
        owner = startup.create_first_account(settings, database)
        if owner is not None:
            lifetime = email_links.WELCOME_SECONDS
            link = database.read(lambda tx: email_links.reset_link(tx, settings.dashboard, owner.id, life=lifetime))
            _print_welcome(settings.base, owner, link)
    console.stderr.print(f"waypost {__version__} serves {settings.base}")
    startup.serve(settings, listeners)


@app.command()
def doctor() -> None:
    """Check the settings, the data folder, the database and the file storage."""
    settings = console.settings()
    logging.configure(settings)
    findings = system_checks.run(settings)
    if _report(findings):
        raise typer.Exit(1)
    startup.open_installation(settings).close()
    if _report(system_checks.storage(settings)):
        raise typer.Exit(1)
    warnings = f"{len(findings)} warning{'s' if len(findings) > 1 else ''}"
    console.stdout.print(f"{f'No errors, {warnings}.' if findings else 'All checks passed.'} {_installation(settings)}")


@app.command()
def backup(file: Annotated[Path, typer.Argument(help="Archive to write, such as waypost.tar.gz.")]) -> None:
    """Save the database and all files to one archive. The service may run."""
    settings = console.settings()
    with closing(startup.open_installation(settings)) as database:
        archived = archive.backup(database, open_store(settings), file)
    contents = f"{archived.rows} rows and {archived.files} files, {file.stat().st_size} bytes"
    console.stdout.print(f"{file}: {contents}. {_installation(settings)}")
    console.warn_missing_files("storage", archived.missing)


@app.command()
def restore(file: Annotated[Path, typer.Argument(help="Archive that `backup` wrote.")]) -> None:
    """Restore an archive into an empty installation. Stop the service first."""
    settings = console.settings()
    with closing(startup.open_unmigrated_database(settings)) as database:
        archived = archive.restore(database, open_store(settings), file)
    console.stdout.print(f"{file}: {archived.rows} rows and {archived.files} files restored. {_installation(settings)}")
    console.warn_missing_files("storage", archived.missing)


@app.command()
def openapi() -> None:
    """Print the OpenAPI document of the API."""
    console.as_json(api_document(console.settings()))


def _installation(settings: Settings) -> str:
    return f"Installation: {settings.location}"


def _report(findings: list[system_checks.Finding]) -> bool:
    """Print the findings. Return True if any is an error."""
    for finding in findings:
        color = "red" if finding.level == "error" else "yellow"
        console.complain(finding.text, finding.hint, label=finding.id, color=color)
    return any(finding.level == "error" for finding in findings)


def _print_welcome(base: str, owner: NewAccount, link: str) -> None:
    """Print the credentials of the new owner account, which are never shown again (decision 16)."""
    console.stdout.print(
        f"""
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
    )
