"""System checks: errors, most of which prevent a start, and warnings. Run at every start and by `waypost doctor`."""

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import metadata
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Literal

from sqlalchemy.exc import DatabaseError, DBAPIError

from waypost.admin import health, installation
from waypost.clicks.geo import databases
from waypost.core import reasons
from waypost.core.errors import Problem
from waypost.core.settings import SECRETS, Settings
from waypost.db import distribution, faults, maintenance, notifications
from waypost.db.database import Database
from waypost.db.faults import error_reason
from waypost.db.upgrade import current_revision, known_revisions, latest_revision, missing_tables
from waypost.storage.factory import PROBES, lost_objects, open_store, probe
from waypost.transfer.migrate import database as migrate_database
from waypost.urls import hostnames

_MCP_SDK = (2, 3)  # the oldest version that works; the next major version may not
_MIN_OPEN_FILES = 4096
_MIN_FREE_BYTES = 512_000_000


@dataclass(frozen=True)
class Finding:
    """A problem: an `error` prevents the start, unless links can be served all the same."""

    id: str
    level: Literal["error", "warning"]
    text: str
    hint: str
    allows_start: bool = False

    @property
    def prevents_start(self) -> bool:
        """The service cannot start before the repair."""
        return self.level == "error" and not self.allows_start


@dataclass(frozen=True)
class Check:
    """A check that was made: its text, and the problems."""

    text: str
    findings: Sequence[Finding]

    @property
    def result(self) -> Literal["error", "warning", "ok"]:
        """The worst level of the problems."""
        return min((finding.level for finding in self.findings), default="ok")


def run(settings: Settings) -> list[Finding]:
    """Return all problems, errors first."""
    findings = [finding for check in before_start(settings) for finding in check.findings]
    return sorted(findings, key=lambda finding: finding.level)


def before_start(settings: Settings) -> Iterator[Check]:
    """Make the checks that do not need a running installation."""
    for text, check in _CHECKS.items():
        yield Check(text, list(check(settings)))


def of_installation(settings: Settings, opened: Database) -> Iterator[Check]:
    """Make the checks of an installation. They keep nothing of what they write."""
    yield Check("Content: links can be read, rows can be written, and no data is damaged", _content(settings, opened))
    yield Check("Service: uses the file of the database", list(_users_of_removed_file(settings)))
    yield Check("Clicks: the journal can be written, and no click waits to be counted", list(_clicks(settings, opened)))
    yield Check("Maintenance mode: is off", list(_maintenance(opened)))
    yield Check("Former host names: no account has one as its domain", list(_former_domains(settings, opened)))
    yield Check("File storage: a test object was written, read and deleted", _storage(settings, opened))


def _content(settings: Settings, opened: Database) -> list[Finding]:
    where = settings.database_file or "the database server"
    damage = health.damage(opened)
    lost = [] if damage else opened.read(missing_tables)
    if damage or lost:
        text = f"The database {where} is damaged: {reasons.clean(damage)}."
        if lost:
            names = ", ".join(lost)
            text = f"The database {where} lacks the tables {names}."
        hint = "Stop the service, and restore the newest backup into an empty folder."
        return [Finding("W016", "error", text, hint)]
    fault = health.database_fault(settings, opened) or health.lock_fault(opened) or health.write_fault(opened)
    hint = "Check the lock of other programs, the rights and the disk of the database."
    return [Finding("W017", "error", f"The database cannot be used: {fault.rstrip('.')}.", hint)] if fault else []


def _former_domains(settings: Settings, opened: Database) -> Iterator[Finding]:
    for host in sorted(opened.read(lambda tx: hostnames.find_answered(tx, settings.former))):
        text = f"The domain {host} of an account is in WAYPOST_FORMER_HOSTS, so its links do not work."
        yield Finding("W025", "error", text, f"Remove {host} from the setting.")


def _users_of_removed_file(settings: Settings) -> Iterator[Finding]:
    """Find processes, such as a running service, that still use a removed file of the database. On Linux only."""
    file = settings.database_file
    removed = f"{file.resolve()} (deleted)" if file else ""
    users = [path.name for path in Path("/proc").glob("[0-9]*") if removed and _has_open(path, removed)]
    for process in users[:1]:
        text = f"The process {process} uses a removed file of the database, so it saves no changes."
        yield Finding("W019", "error", text, "Restart the service. It then uses the file that is there now.")


def _has_open(process: Path, file: str) -> bool:
    with suppress(OSError):  # it belongs to another user, or has just ended
        for descriptor in (process / "fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()) == file:
                    return True
    return False


def _clicks(settings: Settings, opened: Database) -> Iterator[Finding]:
    folder = settings.journal_dir
    fault = health.journal_fault(folder) if folder.exists() else ""  # the first start creates it
    if fault:
        text = f"Clicks are lost, because the journal {folder} is {fault}."
        yield Finding("W007", "error", text, f"Make it writable for user {os.geteuid()}.")
    if health.counting_fault(settings, opened):
        text = f"Clicks wait for more than {health.BEHIND_SECONDS} seconds to be counted."
        yield Finding("W018", "error", text, "Is the service running? Its log says why its counting process waits.")


def _maintenance(opened: Database) -> Iterator[Finding]:
    if opened.read(maintenance.since) is not None:
        hint = "Run waypost maintenance off when the work is done."
        yield Finding("W041", "warning", "Maintenance is on, so nothing can be changed.", hint)


def _storage(settings: Settings, opened: Database) -> list[Finding]:
    """Test the file storage with a small object. Not part of `run`: links work without the storage."""
    folder = settings.data_dir / "files"
    with closing(open_store(settings)) as store:
        fault = lost_objects(store, opened)
        if not fault and not settings.storage_url and not folder.exists():
            return []  # the first upload creates it, with the right owner
        fault = fault or probe(store)
    if not settings.storage_url:
        with suppress(OSError):
            (folder / PROBES).rmdir()
    if not fault:
        return []
    hint = "Check the disk and its mount."
    if settings.storage_url:
        hint = "Check WAYPOST_STORAGE_URL, its endpoint, region and keys."
    where = settings.storage_url or str(folder)
    return [Finding("W030", "error", f"The file storage {where} does not work: {fault}.", hint)]


def unknown_variables() -> dict[str, str]:
    """Return each variable WAYPOST_… that is no setting, with the name of the most similar setting or ""."""
    files = (f"{name.upper()}_FILE" for name in SECRETS)
    known = ["CONFIG", *map(str.upper, Settings.model_fields), *files]
    present = {name: name.upper().removeprefix("WAYPOST_") for name in sorted(os.environ)}
    unknown = {name: rest for name, rest in present.items() if rest != name.upper() and rest not in known}
    similar = {name: get_close_matches(rest, known, 1) for name, rest in unknown.items()}
    return {name: f"WAYPOST_{matches[0]}" if matches else "" for name, matches in similar.items()}


def _variables(_settings: Settings) -> Iterator[Finding]:
    for name, similar in unknown_variables().items():
        hint = f"Did you mean {similar}?" if similar else "Remove it."
        yield Finding("W004", "warning", f"There is no setting {name}, so it is ignored.", hint)


def _permissions(settings: Settings) -> Iterator[Finding]:
    if paths := installation.exposed_files(settings):
        text = f"Other users of this machine can access {paths[0]}, which contains secrets."
        if others := len(paths) - 1:
            text = f"Other users of this machine can access {paths[0]} and {others} more paths, which contain secrets."
        hint = f"Restart the service as the owner of the files, or run: chmod -R go= {settings.data_dir}"
        yield Finding("W005", "warning", text, hint)


def _open_files(_settings: Settings) -> Iterator[Finding]:
    _, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    if maximum != resource.RLIM_INFINITY and maximum < _MIN_OPEN_FILES:
        text = f"A process may open only {maximum} files, so few visitors can be connected at the same time."
        hint = f"Allow at least {_MIN_OPEN_FILES}: LimitNOFILE in systemd, ulimits in Docker, or ulimit -Hn."
        yield Finding("W006", "warning", text, hint)


def _countries(settings: Settings) -> Iterator[Finding]:
    if not settings.geo_file:
        return
    try:
        databases.Mmdb(Path(settings.geo_file))
    except databases.DatabaseError as error:
        hint = "Every country will be Unknown. Correct WAYPOST_GEO_FILE, or remove it and run: waypost geo update"
        yield Finding("W023", "warning", f"The file of WAYPOST_GEO_FILE does not work: {error}.", hint)


def _data_dir(settings: Settings) -> Iterator[Finding]:
    folder = settings.data_dir
    try:
        # A missing folder is created by the start, in the nearest folder that exists.
        existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
        with tempfile.NamedTemporaryFile(dir=existing):
            pass
    except OSError as error:
        hint = f"Make it writable for user {os.geteuid()}, or set WAYPOST_DATA_DIR to another folder."
        yield Finding("W001", "error", f"The data folder {folder} is not writable: {error.strerror}.", hint)
        return
    free = shutil.disk_usage(existing).free
    hint = "Free some space, or move WAYPOST_DATA_DIR to a larger disk."
    if free < health.FULL_BYTES:
        text = f"The disk is full: less than 16 MB are free at {existing.resolve()}, so clicks and changes are lost."
        yield Finding("W002", "error", text, hint, allows_start=installation.is_present(settings))
    elif free < _MIN_FREE_BYTES:
        yield Finding("W002", "warning", f"Less than 512 MB are free at {existing.resolve()}.", hint)


def _owners(settings: Settings) -> Iterator[Finding]:
    """Find what a command of another user, such as root, left in the data folder."""
    folder = settings.data_dir
    if not folder.is_dir():
        return
    owner = folder.stat().st_uid
    strangers = []
    for path in (*folder.glob("*"), *folder.glob("files/*")):
        with suppress(FileNotFoundError):  # a temporary file of SQLite
            if path.lstat().st_uid != owner:
                strangers.append(str(path))
    if strangers:
        text = f"{strangers[0]} belongs to another user than {folder}, so the service may be unable to write it."
        yield Finding("W008", "warning", text, f"Run chown -R --reference={folder} {folder} as root.")


def _sqlite(settings: Settings) -> Iterator[Finding]:
    if settings.database_url and not settings.database_url.startswith("sqlite"):
        return
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")
        except sqlite3.OperationalError:
            text = f"This Python's SQLite {sqlite3.sqlite_version} lacks the FTS5 trigram index."
            yield Finding("W003", "error", text, "Use a Python with SQLite 3.35 or newer, or PostgreSQL.")


def _database(settings: Settings) -> Iterator[Finding]:
    if lost := installation.lost_database(settings):
        yield Finding("W015", "error", lost, installation.LOST_HINT)
        return
    file = settings.database_file
    with suppress(PermissionError):  # then the database reports it
        if file is not None and not file.exists():
            return
    try:
        with closing(Database(settings.database)) as database:
            if refusal := database.read(installation.find_refusal):
                yield Finding("W009", "error", *refusal)
                return
            current, unfinished = database.read(lambda tx: (current_revision(tx), migrate_database.is_unfinished(tx)))
            yield from _connections(database)
            yield from _distribution(database)
    except (Problem, DatabaseError) as error:
        yield Finding(
            "W010", "error", f"The database does not answer: {error_reason(error)}.", _repair(settings, error)
        )
        return
    if unfinished:
        text = "The migration of an installation into this database was interrupted."
        yield Finding("W012", "error", text, "Run waypost migrate-database again with the same arguments.")
    if current is not None and current not in known_revisions():
        text = f"The database is at revision {current}, but this version of waypost knows only {latest_revision()}."
        yield Finding("W011", "error", text, "Install the newer version of waypost again, or restore a backup.")


def _repair(settings: Settings, error: Problem | DatabaseError) -> str:
    """Return the repair of a database that does not answer."""
    cause = error if isinstance(error, DBAPIError) else error.__cause__
    if isinstance(cause, DBAPIError) and faults.classify(cause) is faults.Fault.DAMAGE:
        return "Restore a backup into an empty folder."
    if settings.database_url:
        return "Check WAYPOST_DATABASE_URL and the database server."
    return f"Make the folder and its files readable and writable for user {os.geteuid()}, and check the disk."


def _connections(database: Database) -> Iterator[Finding]:
    try:
        supports_notify = notifications.supports_notify(database)
    except Problem as problem:
        text = f"The database cannot be written: {error_reason(problem)}."
        servers = "List all its servers in WAYPOST_DATABASE_URL and target_session_attrs=read-write, or wait."
        hint = f"Check its number of connections. {servers}"
        yield Finding("W014", "warning", text, hint)
        return
    if not supports_notify:
        text = "A connection pooler between waypost and the database uses transaction pooling."
        hint = "Set pool_mode = session in PgBouncer, or use the database's own port in WAYPOST_DATABASE_URL."
        yield Finding("W013", "error", text, hint)


def _distribution(database: Database) -> Iterator[Finding]:
    """Find a `waypost distribute` that was interrupted."""
    left = database.read(distribution.left_over)
    if left:
        text = f"Only a part of the statistics is on the nodes of Citus: not {', '.join(left)}."
        yield Finding("W043", "warning", text, "Run waypost distribute again, or waypost distribute --undo.")


def _addresses(settings: Settings) -> Iterator[Finding]:
    if not settings.base_url and settings.host not in ("127.0.0.1", "localhost", "::1"):
        text = f"Short URLs will begin with {settings.base}, which only this machine can open."
        yield Finding("W020", "warning", text, "Set WAYPOST_BASE_URL to the public address of the service.")
    if settings.base_url.startswith("https://") and not settings.trusted_proxies:
        text = "The service is behind HTTPS, but no proxy is trusted: all visitors will have the proxy's address."
        yield Finding("W021", "warning", text, "Set WAYPOST_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1.")
    if settings.country_header and not settings.trusted_proxies:
        text = "WAYPOST_COUNTRY_HEADER is set, but no proxy is trusted, so the header is ignored."
        yield Finding("W022", "warning", text, "Set WAYPOST_TRUSTED_PROXIES too.")


def _networks(settings: Settings) -> Iterator[Finding]:
    for name in ("trusted_proxies", "metrics_networks"):
        for part in getattr(settings, name).split(","):
            with suppress(ValueError):  # a name, such as one of Docker
                network = ip_network(part.strip(), strict=False)
                if ip_address(part.strip().partition("/")[0]) != network.network_address:
                    text = f"WAYPOST_{name.upper()} has {part.strip()}, which means the whole network {network}."
                    yield Finding("W024", "warning", text, f"Write {network}, or a smaller network.")
                if name == "trusted_proxies" and not network.prefixlen:
                    text = f"WAYPOST_TRUSTED_PROXIES has {network}, so each visitor can choose their own address."
                    yield Finding("W026", "warning", text, "Write the addresses of your proxies only.")


def _storage_settings(settings: Settings) -> Iterator[Finding]:
    others = ("storage_endpoint", "storage_region", "storage_key")
    if not settings.storage_url and any(getattr(settings, name) for name in others):
        text = "S3 settings are ignored without WAYPOST_STORAGE_URL: files are stored in the data folder."
        yield Finding("W031", "warning", text, "Set WAYPOST_STORAGE_URL to s3:// and the bucket.")
    if bool(settings.storage_key) != bool(settings.storage_secret.get_secret_value()):
        text = "Only one of WAYPOST_STORAGE_KEY and WAYPOST_STORAGE_SECRET is set."
        yield Finding("W032", "warning", text, "Set both, or neither to use the machine's own credentials.")


def _mcp(settings: Settings) -> Iterator[Finding]:
    if settings.mcp == "off":
        return
    try:
        major, minor = metadata.version("mcp").split(".")[:2]
        is_right = (int(major), int(minor)) >= _MCP_SDK and int(major) == _MCP_SDK[0]
        text = "" if is_right else "WAYPOST_MCP is on, but the Python package mcp has another version."
    except metadata.PackageNotFoundError:
        text = "WAYPOST_MCP is on, but the Python package mcp is not installed."
    except ValueError:
        text = "WAYPOST_MCP is on, but the Python package mcp has an unknown version."
    if text:
        yield Finding("W040", "error", text, "Install the extra mcp (see docs/mcp.md), or set WAYPOST_MCP=off.")


def _traces(settings: Settings) -> Iterator[Finding]:
    if not settings.traces_url:
        return
    try:
        for package in ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"):
            metadata.version(package)
    except metadata.PackageNotFoundError as error:
        text = f"WAYPOST_TRACES_URL is set, but the Python package {error.name} is not installed."
        yield Finding(
            "W042", "error", text, "Install the extra otel (see docs/monitoring.md), or remove WAYPOST_TRACES_URL."
        )


_CHECKS: Mapping[str, Callable[[Settings], Iterator[Finding]]] = {
    "Settings: every WAYPOST_ variable is known": _variables,
    "Data folder: can be written, and its disk has space": _data_dir,
    "Permissions: other users cannot read the data folder": _permissions,
    "Owners: all files belong to the owner of the data folder": _owners,
    "SQLite: has the index for searches": _sqlite,
    "Database: answers, and its version fits": _database,
    "Addresses: visitors can open short URLs, and their own address arrives": _addresses,
    "Networks: each is written as it is meant": _networks,
    "Open files: the system allows enough for all connections": _open_files,
    "Countries: the file of WAYPOST_GEO_FILE can be read": _countries,
    "File storage: its settings fit together": _storage_settings,
    "MCP server: its package is installed if it is on": _mcp,
    "Traces: their packages are installed if traces are sent": _traces,
}
