"""Planning of an import: the fate of every row of a source (decision 88). Only the plan is written."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from sqlalchemy import Connection, select

from waypost import clock, credentials
from waypost.db.database import Database
from waypost.db.schema import domains
from waypost.errors import Problem, invalid
from waypost.imports import apply_links, click_history, item_fields, known_names, plans
from waypost.imports.known_names import Known
from waypost.imports.plans import BATCH, Conflicts, Fate, Folders
from waypost.imports.record import Record
from waypost.settings import Settings
from waypost.urls import alias_rules, blocklist, hostnames, validation
from waypost.urls.alias_namespace import OWN, is_in_trash

_MAX_SOURCE_ID = 300
_MAX_HOST, _MAX_URL = 253, 8192
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_ROWS_ABOVE_LIMIT = 10_000
_SUFFIXES = range(2, 100)


class Source(Protocol):
    """The records of a source. `ignored` are the parts of it that are not read."""

    name: str
    ignored: list[str]

    def __iter__(self) -> Iterator[Record]: ...


@dataclass(frozen=True)
class Options:
    """Choices before an import: `hosts` maps hosts of the source to hosts of this service."""

    conflicts: Conflicts = "skip"
    folders: Folders = "campaign"
    hosts: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Candidate:
    """A record with the address of its link here. `problem` says why it cannot be imported."""

    record: Record
    source_id: str
    host: str = OWN
    alias: str = ""
    url: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def name(self) -> tuple[str, str]:
        """The host and the alias."""
        return self.host, self.alias


def make(database: Database, settings: Settings, account: int, source: Source, options: Options) -> int:
    """Replace the plan of the account; return its id. Raises as `read`."""
    plan = plans.start(database, account, source.name, conflicts=options.conflicts)
    try:
        read(database, settings, account, plan, source, options)
    except Problem:
        plans.remove(database, account, plan)
        raise
    return plan


def read(
    database: Database,
    settings: Settings,
    account: int,
    plan: int,
    source: Source,
    options: Options,
    check: Callable[[], object] = lambda: None,
) -> None:
    """Store the fate of every row of the source. `check` is called before every batch, and can raise to stop.

    Raises INVALID for a source that cannot be read.
    Raises IMPORT_STATE if another plan replaces this one.
    """
    limit = database.read(lambda tx: apply_links.item_limit(tx, account))
    planner = _Planner(settings, account, plan, source.name, options, limit)
    clicks = click_history.Sink(database, account, plan)
    records = iter(source)
    with plans.busy(database, account, plan):
        while batch := list(islice(records, BATCH)):
            passwords = [credentials.hash_password(item.password) if item.password else None for item in batch]
            rows = database.read(lambda tx, batch=batch: planner.rows(tx, batch))  # type: ignore[misc]
            for row, record, password in zip(rows, batch, passwords, strict=True):
                if record.kind == "link":
                    row["fields"]["columns"]["password"] = password
                    _count_clicks(row, record, clicks)
            check()
            planner.check_limit(len(batch))
            clicks.flush()
            database.write(lambda tx, rows=rows: plans.add_rows(tx, account, plan, rows))  # type: ignore[misc]
        database.write(lambda tx: plans.finish_reading(tx, account, plan, source.name, ignored=source.ignored))


def _count_clicks(row: dict[str, Any], record: Record, sink: click_history.Sink) -> None:
    """Store the clicks whose time is known; all others are the baseline, `imported`."""
    clicks, visits = sink.add(record.line, record.history) if row["fate"] == "create" else (0, 0)
    imported = max(0, record.clicks - visits)
    row["fields"] |= {"clicks": imported + clicks, "imported": imported}


class _Planner:
    """The state of a planning."""

    def __init__(
        self, settings: Settings, account: int, plan: int, source: str, options: Options, limit: int | None
    ) -> None:
        self._limit = limit
        self._settings, self._account, self._plan, self._source = settings, account, plan, source
        self._conflicts, self._folders = options.conflicts, options.folders
        self._hosts = {name.lower(): target for name, target in options.hosts.items()}
        self._now = clock.now()
        self._rows = 0

    def check_limit(self, rows: int) -> None:
        """Count rows. Raises INVALID on `file` if they are far more than the links that the account may have."""
        self._rows += rows
        if self._limit is not None and self._rows > self._limit + _ROWS_ABOVE_LIMIT:
            raise invalid("file", f"The source has more rows than the {self._limit:,} links that your plan allows.")

    def rows(self, tx: Connection, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Return the rows of the plan for the next records."""
        for record in records:
            record.shorten()
        folding = set(tx.execute(select(domains.c.host).where(domains.c.ignorecase)).scalars())
        candidates = [self._candidate(tx, record, folding) for record in records]
        self._refuse_blocked(tx, candidates)
        known = known_names.read(tx, self._account, self._plan, self._source, candidates)
        return [self._row(tx, candidate, known) for candidate in candidates]

    def _candidate(self, tx: Connection, record: Record, folding: set[str]) -> Candidate:
        candidate = Candidate(record, _source_id(record), problem=record.problem)
        try:
            candidate.host = self._host(tx, record.host)
            alias = alias_rules.check(record.alias, host=candidate.host, field="alias") if record.alias else ""
            alias = alias or alias_rules.generate()
            candidate.alias = alias_rules.fold_case(alias) if candidate.host in folding else alias
            if record.kind == "bio":
                candidate.columns = item_fields.bio_columns(tx, record, self._settings)
                return candidate
            if len(record.url) > _MAX_URL:
                raise invalid("url", f"url must have at most {_MAX_URL} characters.")
            candidate.url = validation.destination(record.url, field="url", settings=self._settings)
            candidate.columns = item_fields.link_columns(tx, self._account, record, self._settings)
        except Problem as problem:
            candidate.problem = candidate.problem or problem.message
        return candidate

    def _host(self, tx: Connection, name: str) -> str:
        target = self._hosts.get(name.lower(), name)
        try:
            return hostnames.resolve_domain(tx, self._account, target, settings=self._settings) if target else OWN
        except Problem as problem:
            hint = f"Import its links to another domain, such as host {name}=go.example.com."
            problem.message = f"{target} is not one of your branded domains. {hint}"
            raise

    def _refuse_blocked(self, tx: Connection, candidates: Iterable[Candidate]) -> None:
        """Set the problem of destinations that are blocked, or on this service."""
        blocked = blocklist.read(tx)
        foreign: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            if candidate.problem or not candidate.url:
                continue
            try:
                host = validation.foreign_host(candidate.url, field="url", settings=self._settings)
                foreign.setdefault(host, []).append(candidate)
                if blocked.blocks(candidate.url):
                    blocklist.refuse(tx, [candidate.url], field="url")
            except Problem as problem:
                candidate.problem = problem.message
        for host in tx.execute(select(domains.c.host).where(domains.c.host.in_(foreign))).scalars():
            for candidate in foreign[host]:
                candidate.problem = candidate.problem or validation.loop("url").message

    def _row(self, tx: Connection, candidate: Candidate, known: Known) -> dict[str, Any]:
        record, original = candidate.record, candidate.alias
        fate, reason, link = self._fate(tx, candidate, known)
        known.add(candidate, takes_alias=fate == "create")
        alias = record.alias if fate == "impossible" else candidate.alias if fate == "create" else original
        return {
            "account": self._account,
            "plan": self._plan,
            "kind": record.kind,
            "stage": plans.LINKS if record.kind == "link" else plans.OTHERS,
            "line": record.line,
            "fate": fate,
            "reason": reason,
            "losses": "; ".join(record.losses),
            "source_id": candidate.source_id,
            "host": _storable(record.host if fate == "impossible" else candidate.host, _MAX_HOST),
            "alias": _storable(alias, alias_rules.MAX_LENGTH),
            "url": _storable(candidate.url or record.url),
            "created": self._now if record.created is None else record.created,
            "digest": record.digest(),
            "item": link,
            "fields": self._fields(candidate),
        }

    def _fields(self, candidate: Candidate) -> dict[str, Any]:
        record = candidate.record
        if record.kind == "bio":
            return {"columns": dict(candidate.columns), "block_clicks": record.block_clicks}
        is_campaign = self._folders == "campaign"
        columns = {
            "title": record.title,
            "description": record.description,
            "expiry": record.expiry,
            "clicklimit": record.clicklimit,
            "status": "public",
            **candidate.columns,
        }
        return {
            "columns": columns | ({"status": "disabled"} if record.is_disabled else {}),
            "tags": [*record.tags, *([record.folder] if record.folder and self._folders == "channel" else [])],
            "colors": {tag: color for tag, color in record.colors.items() if tag in record.tags},
            "campaign": record.folder if is_campaign else "",
        }

    def _fate(self, tx: Connection, candidate: Candidate, known: Known) -> tuple[Fate, str, int | None]:
        """Return the fate of a row, its reason, and the link that it changes."""
        if candidate.problem:
            return "impossible", candidate.problem, None
        if (line := known.source_lines.get(candidate.source_id)) is not None:
            return "there", f"Line {line} has the same link.", None
        if (origin := known.origins.get(candidate.source_id)) is not None:
            if origin.digest == candidate.record.digest():
                return "there", "Imported before.", None
            return "changed", "Changed in the source since the last import.", origin.link
        while not candidate.record.alias and known.is_taken(candidate.name):
            candidate.alias = alias_rules.generate(7)  # one of 8 billion
        if not known.is_taken(candidate.name):
            return "create", "" if candidate.record.alias else "Without an alias: it gets a random one.", None
        return self._fate_of_conflict(tx, candidate, known)

    def _fate_of_conflict(self, tx: Connection, candidate: Candidate, known: Known) -> tuple[Fate, str, int | None]:
        holder = known.holders.get(candidate.name)
        is_own_link = holder is not None and holder.account == self._account and holder.kind == "link"
        if holder is not None and is_own_link and holder.url == candidate.url:
            return "there", "Your link with this alias has this destination.", None
        is_own = holder is not None and holder.account == self._account
        if is_own and candidate.record.kind == "bio" and holder is not None and holder.kind == "bio":
            return "there", "You have a bio page with this alias.", None
        line = known.alias_lines.get(candidate.name)
        if holder is not None and is_own_link and line is None and self._conflicts == "replace":
            return "changed", "Replaces your link with this alias.", holder.item
        reason = f"The alias is taken by line {line}." if line else "The alias is taken."
        if holder is not None and is_in_trash(holder, self._account):
            reason = "The alias belongs to an item in your trash."
        if self._conflicts == "suffix":
            names = [f"{candidate.alias}-{number}" for number in _SUFFIXES]
            valid = [name for name in names if alias_rules.is_valid(name, host=candidate.host)]
            free = known_names.first_free(tx, self._plan, candidate.host, valid, known)
            if free is not None:
                candidate.alias = free
                return "create", f"{reason} The link becomes {free}.", None
        return "conflict", reason, None


def _source_id(record: Record) -> str:
    """Return the name of a row in its source. Without an id it is the address, without an alias the destination."""
    text = record.source_id or (f"{record.host.lower()}/{record.alias}" if record.alias else f"url:{record.url}")
    if len(text) <= _MAX_SOURCE_ID and not _UNSTORABLE.search(text):
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _storable(text: str, length: int | None = None) -> str:
    return _UNSTORABLE.sub("\ufffd", text)[:length]
