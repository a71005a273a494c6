"""The `waypost` command line: the table of all commands.

The module of a command is imported when it runs: `waypost --help` and `waypost version` start in 0.1 s.
"""

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from waypost import __version__
from waypost.cli import console, service_environment
from waypost.core import module_loading
from waypost.core.actor import Actor, acting
from waypost.core.errors import NoInstallation, Problem


class LazyCommand(TyperCommand):
    """A command or a group of commands, of which only the name and the help are known before it runs."""

    def __init__(self, name: str, source: str, group: str, help: str) -> None:
        """`source` is a function or a `typer.Typer`, such as `waypost.cli.service:serve`; `group` a heading."""
        super().__init__(name, help=help, callback=None, rich_help_panel=group)
        self._source = source

    def load(self) -> TyperCommand | TyperGroup:
        """Import the module and return the complete command."""
        module, _, attribute = self._source.partition(":")
        source = getattr(module_loading.load(module), attribute)
        owner = typer.Typer()
        if isinstance(source, typer.Typer):
            owner.add_typer(source, name=self.name, help=self.help)
        else:
            owner.command(self.name, help=self.help)(source)
        command = get_group(owner).commands[str(self.name)]
        assert isinstance(command, TyperCommand | TyperGroup)
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse the arguments of the complete command, which then runs instead of this one."""
        return self.load().make_context(info_name, args, parent, **extra)


_SERVICE, _DATA, _PEOPLE, _ITEMS, _MODERATION, _OTHER = (
    "Run the service",
    "Keep and move data",
    "Accounts and plans",
    "Links, QR codes and files",
    "Moderation",
    "Deploy and connect",
)
"""The groups of the help, in this order."""
_COMMANDS = (
    LazyCommand("serve", "waypost.cli.service:serve", _SERVICE, "Start the service."),
    LazyCommand(
        "demo",
        "waypost.cli.demo:demo",
        _SERVICE,
        "Start a service with sample links and 60 days of visits in a temporary folder, which is deleted at the end.",
    ),
    LazyCommand(
        "doctor",
        "waypost.cli.service:doctor",
        _SERVICE,
        "Check the settings, the data folder, the database and the file storage.",
    ),
    LazyCommand(
        "maintenance",
        "waypost.cli.maintenance:maintenance",
        _SERVICE,
        "Maintenance mode: refuse changes, while redirects and downloads continue.",
    ),
    LazyCommand(
        "settings",
        "waypost.cli.settings:list_settings",
        _SERVICE,
        "List all settings: the value in effect, and the place that sets it.",
    ),
    LazyCommand("brand", "waypost.cli.brand:brand", _SERVICE, "Name, color and logo of this installation."),
    LazyCommand("version", "waypost.cli.main:print_version", _SERVICE, "Print the version."),
    LazyCommand(
        "backup",
        "waypost.cli.backup:backup",
        _DATA,
        "Save the database and all files to one archive. The service may run.",
    ),
    LazyCommand(
        "restore",
        "waypost.cli.backup:restore",
        _DATA,
        "Restore an archive into an empty installation. Stop the service first.",
    ),
    LazyCommand(
        "import",
        "waypost.cli.imports:import_links",
        _DATA,
        "Import links from a CSV file. Without --apply, only plan it: what happens to every row is written to a file.",
    ),
    LazyCommand(
        "export",
        "waypost.cli.exports:export_account",
        _DATA,
        "Export everything of an account to a ZIP archive, or only its links as CSV. The service may run.",
    ),
    LazyCommand(
        "migrate-database",
        "waypost.cli.migrate:migrate_database",
        _DATA,
        "Copy the database from SQLite to PostgreSQL. Stop the service first. If interrupted, run it again to resume.",
    ),
    LazyCommand(
        "distribute",
        "waypost.cli.migrate:distribute",
        _DATA,
        "Store visits and statistics on the nodes of a Citus cluster. The service may run.",
    ),
    LazyCommand(
        "migrate-storage",
        "waypost.cli.migrate:migrate_storage",
        _DATA,
        "Copy all stored files. The service may run. If interrupted, run it again to resume.",
    ),
    LazyCommand("clicks", "waypost.cli.clicks:clicks", _DATA, "Clicks: export single visits, verify the totals."),
    LazyCommand("audit", "waypost.cli.audit:audit", _DATA, "Audit log: verify it, export it with proofs."),
    LazyCommand("geo", "waypost.cli.geo:geo", _DATA, "Country database: maps IP addresses to countries."),
    LazyCommand("account", "waypost.cli.accounts:account", _PEOPLE, "Accounts of this installation."),
    LazyCommand("domain", "waypost.cli.domains:domain", _PEOPLE, "Branded domains of all accounts."),
    LazyCommand("plan", "waypost.cli.plans:plan", _PEOPLE, "Plans: limits of requests, storage and items."),
    LazyCommand("link", "waypost.cli.links:link", _ITEMS, "Links of an account."),
    LazyCommand("qr", "waypost.cli.qr_codes:qr", _ITEMS, "QR codes of an account."),
    LazyCommand("file", "waypost.cli.files:file", _ITEMS, "Files of an account."),
    LazyCommand(
        "block",
        "waypost.cli.blocklist:block",
        _MODERATION,
        "Blocklist: hosts and words that no destination may contain.",
    ),
    LazyCommand("reports", "waypost.cli.blocklist:reports", _MODERATION, "Reports of visitors."),
    LazyCommand(
        "deploy-files",
        "waypost.cli.deploy_files:deploy_files",
        _OTHER,
        "Copy the files for deployment into a folder: systemd unit, containers, reverse proxies.",
    ),
    LazyCommand("remote", "waypost.cli.remote:remote", _OTHER, "Operations of a remote service, with an API key."),
    LazyCommand("openapi", "waypost.cli.openapi:openapi", _OTHER, "Print the OpenAPI document of the API."),
)


class _AllCommands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _COMMANDS})


app = typer.Typer(cls=_AllCommands, no_args_is_help=True, add_completion=False)


def main() -> None:
    """Run the command line. An error is printed as one sentence, with exit code 1; 2 without an installation.

    Errors of the database too; with --debug, they are printed with their traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a title can have characters that the locale lacks
    os.umask(0o077)  # other users cannot read the files of an installation; child processes inherit it
    service_environment.load(sys.argv[1:])
    try:
        with acting(lambda: Actor("command")):
            app()
    except Exception as error:
        message, hint = _sentence(error)
        if not message or _Given.debug:
            raise
        console.complain(message, hint)
        sys.exit(2 if isinstance(error, NoInstallation) else 1)


class _Given:
    """Options of the command line as a whole."""

    debug = False


def _sentence(error: Exception) -> tuple[str, str]:
    """Return the text and the hint for an error; "" for one that is a defect of waypost."""
    # Loaded already by a command that has a problem with the database.
    if (faults := sys.modules.get("waypost.db.faults")) is None:
        return (error.message, "") if isinstance(error, Problem) else ("", "")
    if isinstance(error, Problem):
        cause = faults.error_reason(error)
        return error.message, cause and f"({cause})"
    return faults.sentence(error), ""


def print_version() -> None:
    """Print the version."""
    console.stdout.print(__version__)


def _print_version_and_exit(is_given: bool) -> None:  # noqa: FBT001  # Typer passes the value of an option so
    if is_given:
        print_version()
        raise typer.Exit


@app.callback(help="Self-hosted short links, files and QR codes.")
def _options(
    version: Annotated[  # noqa: ARG001  # its callback has run
        bool, typer.Option("--version", callback=_print_version_and_exit, is_eager=True, hidden=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    _Given.debug = debug
