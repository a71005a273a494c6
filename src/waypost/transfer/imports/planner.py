"""Planning of an import: the fate of every row of a source (decision 88). Only the plan is written."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeGuard

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from sqlalchemy import Connection, select

from waypost.api.context import RequestBudget
from waypost.api.responses import validation_problem
from waypost.core import clock, credentials
from waypost.core.errors import Problem, invalid
from waypost.core.settings import Settings
from waypost.db import crud
from waypost.db.database import Database
from waypost.db.schema import domains
from waypost.items.bios.blocks import validated
from waypost.items.bios.pictures import Place, copy_of_data, replace_pictures
from waypost.items.bios.schemas import BioChange
from waypost.items.functions import FUNCTIONS
from waypost.items.links.columns import to_columns
from waypost.items.links.schemas import LinkChange
from waypost.items.qr import ops as qr_codes
from waypost.items.qr import service
from waypost.media.pictures import picture_fetch
from waypost.transfer.imports import click_history, plan_removal, plans, row_outcome
from waypost.transfer.imports.archives import parts
from waypost.transfer.imports.archives.kinds import FOUNDATIONS, equal_item
from waypost.transfer.imports.file_source import FileSource
from waypost.transfer.imports.planned_rows import Content
from waypost.transfer.imports.plans import BATCH, Conflicts, Folders
from waypost.transfer.imports.row_outcome import Candidate, Known, find_fate
from waypost.transfer.imports.source_row import MAX_URL, Record
from waypost.urls import alias_rules, blocklist, hostnames, validation
from waypost.urls.alias_namespace import OWN

_MAX_BLOCKS = 200
_LISTS = frozenset({"geotarget", "devicetarget", "languagetarget", "parameters"})


def link_columns(tx: Connection, account: int, record: Record, settings: Settings) -> dict[str, Any]:
    """Return the columns of the valid fields, and note the others as losses. Each rule of a list counts by itself."""
    values: dict[str, Any] = {}
    for name, value in record.fields.items():
        for number, part in enumerate([[item] for item in value] if name in _LISTS else [value]):
            with _left_out(record, name, name, number):
                sent = LinkChange.model_validate({name: part}).sent()
                converted = to_columns(tx, account, sent, settings)  # type: ignore[arg-type]  # the fields of POST /url/add
                for column, stored in converted.items():
                    values[column] = [*values.get(column, ()), *stored] if column in _LISTS else stored
    return values


def bio_columns(tx: Connection, record: Record, settings: Settings, budget: RequestBudget) -> dict[str, Any]:
    """Return the fields of a bio page with the valid blocks, and note the others as losses."""
    values: dict[str, Any] = {}
    copy = partial(copy_of_data, budget=budget)
    for name, value in record.fields.items():
        if name != "blocks":
            with _left_out(record, name, name):
                values |= replace_pictures(BioChange.model_validate({name: value}).sent(), copy)
    values["name"] = values.get("name") or record.alias
    kept = list(_valid_blocks(tx, record, settings, copy))[:_MAX_BLOCKS]
    record.blocks = [counts for _, counts in kept]
    return {**values, "blocks": [block for block, _ in kept]}


def item_columns(tx: Connection, record: Record, settings: Settings, budget: RequestBudget) -> dict[str, Any]:
    """Return the fields of an item of an archive, without its alias. Raises INVALID on a field."""
    try:
        sent = FUNCTIONS[record.kind].model.model_validate(record.fields).sent()
    except ValidationError as error:
        raise validation_problem(RequestValidationError(error.errors())) from None
    if record.kind == "qr":
        logo = service.own_copy(picture_fetch.from_data(sent["logo"], service.RULES)) if sent.get("logo") else None
        budget.keep_copy("logo", len(logo or b""))
        sent["logo"] = None if logo is None else base64.b64encode(logo).decode()
        draft = qr_codes.draft(tx, settings=settings, custom=record.alias, **{**sent, "logo": logo})
        service.prove(draft)
        sent["proven_alias"] = draft.alias
    return sent


def _valid_blocks(
    tx: Connection, record: Record, settings: Settings, copy: Callable[[str, Place], str]
) -> Iterator[tuple[dict[str, Any], tuple[int, int, int]]]:
    for number, (block, clicks) in enumerate(zip(record.fields["blocks"], record.blocks, strict=True)):
        name = block.get("title") or block.get("network") or block.get("text") or block.get("type")
        with _left_out(record, f"the block {name}", "blocks", number):
            fields = BioChange.model_validate({"blocks": [block]}).sent()
            (sent,) = replace_pictures(fields, copy)["blocks"]
            yield dict(validated(tx, [sent], settings)[0]), clicks


@contextmanager
def _left_out(record: Record, name: str, field: str, number: int = 0) -> Iterator[None]:
    """Note an invalid part as a loss. It was checked as the only entry of the list `field`, where it has `number`."""
    try:
        yield
    except (ValidationError, Problem) as error:
        problem = error if isinstance(error, Problem) else validation_problem(RequestValidationError(error.errors()))
        message = problem.message.replace(f"{field}[0]", f"{field}[{number}]", 1)
        reason = message.rstrip(".")
        record.losses.append(f"{name} is left out: {reason}")


_MAX_HOST = 253
_MAX_CHARACTERS = 4 << 20  # of a batch
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_MAX_LOSSES = 20_000
_ROWS_ABOVE_LIMIT = 10_000
_KEPT = frozenset({"create", "changed"})


class Source(Protocol):
    """The records of a source. `ignored` are the parts of it that are not read."""

    name: str
    ignored: list[str]

    def __iter__(self) -> Iterator[Record]: ...


@dataclass(frozen=True)
class Options:
    """Choices before an import: `hosts` maps hosts of the source to hosts of this service.

    The host "" of the source is that of links without one, the host "" here is the service's own.
    """

    conflicts: Conflicts = "skip"
    folders: Folders = "campaign"
    hosts: Mapping[str, str] = field(default_factory=dict)


def make(database: Database, settings: Settings, account: int, source: Source, options: Options) -> int:
    """Replace the plan of the account; return its id. Raises as `read`."""
    plan = plan_removal.start(database, account, source.name, conflicts=options.conflicts)
    try:
        with plans.busy(database, account, plan) as cancellation:
            read(database, settings, account, plan, source, options, cancellation.check)
    except Problem:
        plan_removal.remove(database, account, plan)
        raise
    return plan


def read(
    database: Database,
    settings: Settings,
    account: int,
    plan: int,
    source: Source,
    options: Options,
    check: Callable[[], object],
) -> None:
    """Store the fate of every row of the source, for a plan that is marked as in work.

    `check` is called before every batch, and can raise to stop. Raises INVALID for a source that cannot be read, and
    IMPORT_STATE if the plan is removed.
    """
    limit = database.read(lambda tx: crud.item_limit(tx, account))
    planner = _Planner(settings, account, plan, source, options, limit)
    clicks = click_history.Sink(database, account, plan)
    records = iter(source)
    while batch := _next_batch(records):
        passwords = [credentials.hash_password(item.password) if item.password else None for item in batch]
        rows = database.read(partial(planner.rows, records=batch))
        for row, record, password in zip(rows, batch, passwords, strict=True):
            content: Content = row["fields"]
            if record.kind == "link":
                content = replace(content, columns={**content.columns, "password": password})
                content = _with_clicks(content, row["fate"], record, clicks)
            row["fields"] = content.as_json()
        check()
        planner.check_limit(len(batch))
        clicks.flush()
        database.write(partial(plans.add_rows, account=account, plan=plan, rows=rows))
    if _is_archive(source):
        parts.store(database, account, plan, source, check)
    database.write(lambda tx: plans.finish_reading(tx, account, plan, source.name, ignored=source.ignored))


@dataclass
class _StoredSource:
    """A source whose rows are in a plan already."""

    name: str
    ignored: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Record]:
        return iter(())


def row_of(tx: Connection, settings: Settings, account: int, plan: plans.Plan, record: Record) -> Mapping[str, Any]:
    """Return the row of a plan for a changed record, with its new fate. Nothing is stored."""
    options = Options(conflicts=plan.conflicts)
    (row,) = _Planner(settings, account, plan.id, _StoredSource(plan.source), options, None).rows(tx, [record])
    return row


def _next_batch(records: Iterator[Record]) -> list[Record]:
    """Return the next records, as many as a batch has, or fewer if they are large."""
    batch: list[Record] = []
    characters = 0
    while len(batch) < BATCH and characters < _MAX_CHARACTERS and (record := next(records, None)) is not None:
        record.shorten()
        batch.append(record)
        characters += record.characters()
    return batch


def _is_archive(source: Source) -> TypeGuard[FileSource]:
    return isinstance(source, FileSource) and source.service is not None


def _with_clicks(content: Content, fate: str, record: Record, sink: click_history.Sink) -> Content:
    """Store the clicks whose time is known; all others are the baseline, `imported`."""
    clicks, visits = sink.add(record.line, record.history) if fate == "create" else (0, 0)
    imported = max(0, record.clicks - visits)
    return replace(content, clicks=imported + clicks, imported=imported)


class _Planner:
    """The state of a planning."""

    def __init__(
        self, settings: Settings, account: int, plan: int, source: Source, options: Options, limit: int | None
    ) -> None:
        self._limit = limit
        self._settings, self._account, self._plan, self._source = settings, account, plan, source.name
        self._is_in_order = _is_archive(source)
        self._conflicts, self._folders = options.conflicts, options.folders
        self._hosts = {name.lower(): target for name, target in options.hosts.items()}
        self._now = clock.now()
        self._rows = 0
        self._new_hosts: set[str] = set()
        self._budget = RequestBudget()

    def check_limit(self, rows: int) -> None:
        """Count rows. Raises INVALID on `file` if they are far more than the links that the account may have."""
        self._rows += rows
        if self._limit is not None and self._rows > self._limit + _ROWS_ABOVE_LIMIT:
            raise invalid("file", f"The source has more rows than the {self._limit:,} links that your plan allows.")

    def rows(self, tx: Connection, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Return the rows of the plan for the next records. Their `fields` are a `Content`."""
        self._budget = RequestBudget()  # the copies of pictures are as many as one request may have
        folding = set(tx.execute(select(domains.c.host).where(domains.c.ignorecase)).scalars())
        candidates = [self._candidate(tx, record, folding) for record in records]
        self._refuse_blocked(tx, candidates)
        known = row_outcome.read(tx, self._account, self._plan, self._source, candidates)
        return [self._row(tx, candidate, known) for candidate in candidates]

    def _candidate(self, tx: Connection, record: Record, folding: set[str]) -> Candidate:
        candidate = Candidate(record, row_outcome.source_id(record), problem=record.problem)
        if record.kind in FOUNDATIONS:
            return self._foundation(tx, candidate)
        candidate.host = record.host
        try:
            candidate.host = self._host(tx, record)
            if record.kind == "link":
                candidate.columns = link_columns(tx, self._account, record, self._settings)
            alias = alias_rules.check(record.alias, host=candidate.host, field="alias") if record.alias else ""
            alias = alias or alias_rules.generate()
            candidate.alias = alias_rules.fold_case(alias) if candidate.host in folding else alias
            if record.kind == "bio":
                candidate.columns = bio_columns(tx, record, self._settings, self._budget)
                return candidate
            if record.kind != "link":
                candidate.columns = item_columns(tx, record, self._settings, self._budget)
                return candidate
            if len(record.url) > MAX_URL:
                raise invalid("url", f"url must have at most {MAX_URL} characters.")
            candidate.url = validation.destination(record.url, field="url", schemes=self._settings.schemes)
        except Problem as problem:
            candidate.problem = candidate.problem or problem.message
        return candidate

    def _foundation(self, tx: Connection, candidate: Candidate) -> Candidate:
        """Complete an item that links refer to, and find the account's one that is like it."""
        record = candidate.record
        try:
            candidate.columns = item_columns(tx, record, self._settings, self._budget)
            owner = tx.execute(select(domains.c.account).where(domains.c.host == record.host)).scalar()
            if record.kind == "domain" and owner not in (None, self._account):
                raise invalid("domain", "Another account has this domain.")
            known = {**candidate.columns, "host": record.host}
            candidate.existing = equal_item(tx, self._account, record.kind, known)
            check = FUNCTIONS[record.kind].check_new
            if check is not None and candidate.existing is None:
                check(tx, self._account, self._settings, candidate.columns)
        except Problem as problem:
            candidate.problem = candidate.problem or problem.message
        if record.kind == "domain" and not candidate.problem:
            self._new_hosts.add(record.host)
        return candidate

    def _host(self, tx: Connection, record: Record) -> str:
        """Return the host here. Items of the own host stay there, such as bio pages; only links can move."""
        name = record.host
        if not name and record.kind != "link":
            return OWN
        target = self._hosts.get(name.lower(), name)
        if target in self._new_hosts:
            return target
        try:
            return hostnames.resolve_domain(tx, self._account, target, settings=self._settings) if target else OWN
        except Problem as problem:
            hint = f"Add it, or move its links to another domain, such as {name}=go.example.com."
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
        for host in hostnames.find_answered(tx, foreign):
            for candidate in foreign[host]:
                candidate.problem = candidate.problem or validation.loop("url").message

    def _row(self, tx: Connection, candidate: Candidate, known: Known) -> dict[str, Any]:
        record, original = candidate.record, candidate.alias
        fate, reason, item = find_fate(tx, candidate, known, plan=self._plan, conflicts=self._conflicts)
        if not known.origins.keys().isdisjoint(candidate.sharing):
            record.history = ()  # a link that was imported before has these clicks
        known.add(candidate, takes_alias=fate in row_outcome.TAKES_ALIAS and record.kind not in FOUNDATIONS)
        created = self._now if record.created is None else record.created
        alias = record.alias if fate == "impossible" else candidate.alias if fate == "create" else original
        return {
            "account": self._account,
            "plan": self._plan,
            "kind": record.kind,
            "stage": _stage(record),
            "line": record.line,
            "fate": fate,
            "reason": "\n".join(filter(None, [reason, *(record.notes if fate in _KEPT else ())])),
            "losses": "; ".join(record.losses)[:_MAX_LOSSES],
            "source_id": candidate.source_id,
            "host": _storable(record.host if record.kind == "domain" else candidate.host, _MAX_HOST),
            "alias": _storable(alias, alias_rules.MAX_LENGTH),
            "url": _storable(candidate.url or record.url or str(record.fields.get("name") or "")),
            "created": created,
            "rank": record.line if self._is_in_order else created,
            "digest": record.digest(),
            "item": item,
            "fields": self._content(candidate),
        }

    def _content(self, candidate: Candidate) -> Content:
        record = candidate.record
        if record.kind != "link":
            content = Content(columns=dict(candidate.columns), blocks=record.blocks, totals=record.totals)
            if record.kind == "file":
                return replace(content, stored=record.stored, expiry=record.expiry, is_locked=record.is_disabled)
            return content
        is_campaign = self._folders == "campaign"
        columns = {
            "title": record.title,
            "description": record.description,
            "expiry": record.expiry,
            "clicklimit": record.clicklimit,
            "status": "public",
            **candidate.columns,
        }
        return Content(
            columns=columns | ({"status": "disabled"} if record.is_disabled else {}),
            tags=[*record.tags, *([record.folder] if record.folder and self._folders == "channel" else [])],
            colors={tag: color for tag, color in record.colors.items() if tag in record.tags},
            campaign=record.folder if is_campaign else "",
            totals=record.totals,
            references=record.references,
        )


def _stage(record: Record) -> int:
    if record.kind in FOUNDATIONS:
        return plans.FOUNDATIONS
    return plans.LINKS if record.kind == "link" else plans.OTHERS


def _storable(text: str, length: int | None = None) -> str:
    return _UNSTORABLE.sub("\ufffd", text)[:length]
