"""The `waypost import` command: move links from another service."""

import getpass
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo

import typer

from waypost.cli import access, console
from waypost.clicks.ingest import read_barrier
from waypost.core import clock, csv_export
from waypost.core.formats import DateOrder
from waypost.db.database import Database
from waypost.storage.factory import open_store
from waypost.transfer.imports import apply as applying
from waypost.transfer.imports import plan_removal, planner, plans
from waypost.transfer.imports import undo as undoing
from waypost.transfer.imports.archives.staging import Staging
from waypost.transfer.imports.file_source import open_file
from waypost.transfer.imports.plans import Conflicts, Folders
from waypost.transfer.imports.sources import registry
from waypost.transfer.imports.sources.registry import Service

_SERVICE = "From a service"


_File = Annotated[
    Path | None, typer.Argument(help="CSV, SQL dump, SQLite, JSON or ZIP archive; without one, the last plan.")
]
_Service = Annotated[
    Service | None, typer.Option("--from", help="Read the API of this service.", rich_help_panel=_SERVICE)
]
_Url = Annotated[str, typer.Option(help="Address of your own server of the service.", rich_help_panel=_SERVICE)]
_TokenFile = Annotated[
    Path | None,
    typer.Option(help="File with the token; - for standard input. Else you are asked.", rich_help_panel=_SERVICE),
]
_History = Annotated[bool, typer.Option(help="Read clicks by day or visit, not only totals.", rich_help_panel=_SERVICE)]
_Columns = Annotated[
    list[str] | None, typer.Option(metavar="FIELD=NAME", help="Column of a field, such as url=Target.")
]
_Hosts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="Import links of a host of the source to a domain of the account. =NEW: links without a host;"
        " OLD=: to the service's own host.",
    ),
]
_Conflicts = Annotated[
    Conflicts, typer.Option(help="A taken alias: skip the row, add a suffix, or replace the account's own link.")
]
_Folders = Annotated[Folders, typer.Option(help="Folders and groups become campaigns or channels.")]
_TimeZone = Annotated[
    str, typer.Option(metavar="ZONE", help="Time zone of dates in CSV files and YOURLS that do not name one.")
]
_Dates = Annotated[
    DateOrder, typer.Option(help="Order in dates of CSV files such as 03/04/2026. unambiguous: refuse these.")
]
_Report = Annotated[Path | None, typer.Option(help="Write what happens to every row to this CSV file.")]
_Apply = Annotated[bool, typer.Option("--apply", help="Apply the plan. If interrupted, run it again.")]
_Undo = Annotated[bool, typer.Option("--undo", help="Undo the last import, unless its links were edited.")]
_Discard = Annotated[
    bool, typer.Option("--discard", help="Delete the plan of the last import; its links stay, and undo ends.")
]


class _Reading(NamedTuple):
    """How a file is read: its columns by field, and the zone and order of its dates."""

    columns: dict[str, str]
    zone: ZoneInfo
    dates: DateOrder


def import_links(
    identifier: access.AccountArgument,
    file: _File = None,
    service: _Service = None,
    url: _Url = "",
    token_file: _TokenFile = None,
    history: _History = True,
    column: _Columns = None,
    host: _Hosts = None,
    conflicts: _Conflicts = "skip",
    folders: _Folders = "campaign",
    timezone: _TimeZone = "UTC",
    dates: _Dates = "unambiguous",
    report: _Report = None,
    apply: _Apply = False,
    undo: _Undo = False,
    discard: _Discard = False,
    json: console.AsJson = False,
) -> None:
    """Plan an import of links, and write it to a CSV file; with --apply, create the links."""
    if undo or discard:
        _require_alone("--undo" if undo else "--discard", file, service, others=apply or (undo and discard))
        with access.database_and_account(identifier) as (database, account):
            (_undo if undo else _discard)(database, account.id, json=json)
        return
    _require_source(file, service, apply=apply)
    options = planner.Options(conflicts, folders, _hosts(host))
    source_options = registry.ServiceOptions(url, _zone(timezone), history, registry.hosts_of(url))
    with access.database_and_account(identifier) as (database, account):
        if file is not None:
            reading = _Reading(_pairs(column, "--column"), _zone(timezone), dates)
            _plan_file(database, account.id, file, reading, options)
        elif service is not None:
            source = registry.of_service(service, _token(token_file), source_options)
            planner.make(database, access.settings(), account.id, source, options)
        if apply:
            applying.apply(database, account.id, access.settings())
        name = file.stem if file else service or "import"
        _print_summary(database, account.id, report or (None if apply else Path(f"{name}-plan.csv")), json=json)


def _require_alone(option: str, file: Path | None, service: str | None, *, others: bool) -> None:
    if file is not None or service is not None or others:
        raise typer.BadParameter("use it alone", param_hint=option)


def _require_source(file: Path | None, service: str | None, *, apply: bool) -> None:
    if file is not None and service is not None:
        raise typer.BadParameter("use only one of FILE and --from", param_hint="FILE")
    if file is None and service is None and not apply:
        raise typer.BadParameter("is required without --from, --apply or --undo", param_hint="FILE")


def _plan_file(database: Database, account: int, file: Path, reading: _Reading, options: planner.Options) -> None:
    try:
        settings = access.settings()
        with (
            closing(open_store(settings)) as store,
            open_file(
                file,
                reading.columns,
                reading.zone,
                Staging(database, store, settings, account),
                dates=reading.dates,
            ) as source,
        ):
            planner.make(database, settings, account, source, options)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="FILE") from error


def _token(file: Path | None) -> str:
    """Return the token of the service. It is no option, because other users of the machine see those."""
    if file is None and sys.stdin.isatty():
        return getpass.getpass("Token: ").strip()
    try:
        return (sys.stdin.read() if file in (None, Path("-")) else file.read_text("utf-8")).strip()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--token-file") from error


def _undo(database: Database, account: int, *, json: bool) -> None:
    if read_barrier.uncounted_bytes(access.settings().journal_dir, database):
        console.stderr.print("Some clicks are still in the journal and are not counted.")
    preview = undoing.preview(database, account)
    if not json and not preview.edited:
        console.stdout.print(
            f"{preview.deleted:,} items are deleted and {preview.restored:,} changed back."
            f" They have {preview.clicks:,} clicks since the import."
        )
    done = undoing.undo(database, account)
    if json:
        console.as_json({"deleted": done.deleted, "restored": done.restored, "clicks": done.clicks})
    else:
        console.stdout.print("The import is undone. Its aliases stay reserved for the account.")


def _discard(database: Database, account: int, *, json: bool) -> None:
    removal = plan_removal.discard(database, account)
    if json:
        console.as_json({"discarded": not removal.is_stopped_only})
    else:
        console.stdout.print(removal.message)


def _print_summary(database: Database, account: int, target: Path | None, *, json: bool) -> None:
    plan = database.read(lambda tx: plans.current(tx, account))
    summary = database.read(lambda tx: plans.summary(tx, account, plan.id))
    if target is not None:
        _write(target, database, account, plan.id)
    if json:
        console.as_json(plans.report_json(plan, summary))
        return
    for line in plans.report_lines(plan, summary):
        console.stdout.print(line, markup=False)
    if target is not None:
        console.stdout.print(f"The result of every row is in {target}.")
    if plan.state == "planned":
        console.stdout.print("Nothing was imported. Run it again with --apply to import the links.")


def _write(target: Path, database: Database, account: int, plan: int) -> None:
    try:
        with target.open("w", encoding="utf-8", newline="") as opened:
            opened.write(csv_export.BOM)
            opened.writelines(plans.report_csv(database, account, plan))
    except OSError as error:
        raise typer.BadParameter(f"{target}: {error.strerror}", param_hint="--report") from error


def _zone(name: str) -> ZoneInfo:
    if (zone := clock.zone(name)) is None:
        raise typer.BadParameter(f"{name} is not a time zone such as Europe/Berlin", param_hint="--timezone")
    return zone


def _pairs(texts: list[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, separator, value = text.partition("=")
        if not name or not separator or not value:
            raise typer.BadParameter(f"{text} must have the form NAME=VALUE", param_hint=option)
        pairs[name] = value
    return pairs


def _hosts(texts: list[str] | None) -> dict[str, str]:
    """Return the pairs of hosts. One side can be empty: links without a host, or the service's own host."""
    hosts = {}
    for text in texts or ():
        old, separator, new = text.partition("=")
        if not separator or not (old or new):
            message = f"{text} must have the form OLD=NEW, =NEW for links without a host, or OLD= for the own host"
            raise typer.BadParameter(message, param_hint="--host")
        hosts[old] = new
    return hosts
