"""The fate of a row of a source: it is created, there already, changes an item, has a conflict, or is impossible.

A plan respects names: aliases in use, links imported before, and earlier rows of the same plan.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, select

from waypost.db.schema import aliases, import_origins, import_rows, links
from waypost.db.schema.nouns import NOUNS
from waypost.transfer.imports.archives.kinds import FOUNDATIONS
from waypost.transfer.imports.plans import Conflicts, Fate
from waypost.transfer.imports.source_row import Record, address_of, is_renamed
from waypost.urls import alias_rules
from waypost.urls.alias_namespace import OWN, is_in_trash

Name = tuple[str, str]
TAKES_ALIAS = ("create", "there", "changed")
"""The fates of rows whose alias no other row of the plan can have."""
_row = import_rows.c
_MAX_SOURCE_ID = 300
_UNSTORABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_SUFFIXES = range(2, 100)


class _Candidate(Protocol):
    host: str
    alias: str
    source_id: str
    problem: str
    url: str
    record: Any

    @property
    def name(self) -> Name: ...

    @property
    def exact_id(self) -> str: ...

    @property
    def sharing(self) -> Sequence[str]: ...


class Holder(NamedTuple):
    """The holder of an alias: an item, or a reserved alias without one. `url` is the destination of an own link."""

    account: int | None
    kind: str | None
    item: int | None
    url: str | None


class EarlierRow(NamedTuple):
    """An earlier row of the plan: its line, destination and `Record.address`."""

    line: int
    url: str
    address: str


@dataclass(frozen=True)
class Known:
    """By name, the holders of aliases and the lines of the plan; by source id, links and rows of the plan."""

    account: int
    holders: dict[Name, Holder]
    origins: dict[str, Any]
    alias_lines: dict[Name, int]
    rows: dict[str, EarlierRow]

    def is_taken(self, name: Name) -> bool:
        """Return whether the account cannot create a link with this name."""
        holder = self.holders.get(name)
        is_released = holder is not None and holder.item is None and holder.account == self.account
        return name in self.alias_lines or (holder is not None and not is_released)

    def add(self, candidate: _Candidate, *, takes_alias: bool) -> None:
        """Note a row of the plan for those after it."""
        if not candidate.problem:
            row = EarlierRow(candidate.record.line, candidate.url, candidate.record.address())
            self.rows.setdefault(candidate.source_id, row)
        if takes_alias:
            self.alias_lines.setdefault(candidate.name, candidate.record.line)


def read(tx: Connection, account: int, plan: int, source: str, candidates: Sequence[_Candidate]) -> Known:
    """Return the known names among those of the candidates, with a statement a table and host."""
    valid = [candidate for candidate in candidates if not candidate.problem]
    by_host: dict[str, set[str]] = {}
    for candidate in valid:
        by_host.setdefault(candidate.host, set()).add(candidate.alias)
    holders: dict[Name, Holder] = {}
    planned: dict[Name, int] = {}
    for host, names in by_host.items():
        holders |= _holders(tx, account, host, names)
        planned |= lines(tx, account, plan, host, names)
    ids = {name for candidate in valid for name in (candidate.source_id, candidate.exact_id)}
    shared = {source_id for candidate in valid for source_id in candidate.sharing}
    c = import_origins.c
    is_origin = (c.account == account, c.source == source, c.source_id.in_(ids | shared))
    origin = select(c.source_id, c.link, c.digest).where(*is_origin)
    is_known = (_row.account == account, _row.plan == plan, _row.source_id.in_(ids), _row.fate != "impossible")
    seen = select(_row.source_id, _row.line, _row.url, _row.digest).where(*is_known).order_by(_row.id.desc())
    return Known(
        account,
        holders,
        {row.source_id: row for row in tx.execute(origin)},
        planned,
        {row.source_id: EarlierRow(row.line, row.url, address_of(row.digest)) for row in tx.execute(seen)},
    )


def first_free(tx: Connection, plan: int, host: str, names: Sequence[str], known: Known) -> str | None:
    """Return the first of the aliases that was never used on a host and that no row of the plan has."""
    account = known.account
    used = {alias for _, alias in (*_holders(tx, account, host, names), *lines(tx, account, plan, host, names))}
    return next((name for name in names if name not in used and (host, name) not in known.alias_lines), None)


def _holders(tx: Connection, account: int, host: str, names: Iterable[str]) -> dict[Name, Holder]:
    a, c = aliases.c, links.c
    rows = tx.execute(select(a.alias, a.account, a.kind, a.item).where(a.host == host, a.alias.in_(names))).all()
    own = [row.item for row in rows if row.account == account and row.kind == "link"]
    is_own = (c.account == account, c.id.in_(own))
    urls = {row.id: row.url for row in tx.execute(select(c.id, c.url).where(*is_own))}
    return {(host, row.alias): Holder(row.account, row.kind, row.item, urls.get(row.item)) for row in rows}


def lines(tx: Connection, account: int, plan: int, host: str, names: Iterable[str]) -> dict[Name, int]:
    """Return the lines of the rows of a plan that take the aliases, by name."""
    query = select(_row.alias, _row.line).where(
        _row.account == account, _row.plan == plan, _row.host == host, _row.alias.in_(names), _row.fate.in_(TAKES_ALIAS)
    )
    query = query.order_by(_row.id.desc())  # the first row has the alias
    return {(host, row.alias): row.line for row in tx.execute(query)}


@dataclass
class Candidate:
    """A record with the address of its link here. `problem` says why it cannot be imported.

    `existing` is the id of an equal item of the account, if the record is of a kind without an alias.
    """

    record: Record
    source_id: str
    host: str = OWN
    alias: str = ""
    url: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""
    existing: int | None = None

    @property
    def name(self) -> tuple[str, str]:
        """The host and the alias."""
        return self.host, self.alias

    @property
    def exact_id(self) -> str:
        """The name of a row in its source that has the name of another link: with its own address and destination."""
        parts = (self.source_id, self.record.host.lower(), self.record.alias, self.url)
        return "sha256:" + hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def is_like(self, row: EarlierRow) -> bool:
        """Return whether an earlier row of the same name is this link: it has its alias and its destination."""
        return self.record.kind != "link" or (row.url, row.address) == (self.url, self.record.address())

    @property
    def sharing(self) -> list[str]:
        """The source ids of the rows that share their clicks."""
        return [_storable(text) for text in self.record.sharing]


def find_fate(
    tx: Connection, candidate: Candidate, known: Known, *, plan: int, conflicts: Conflicts
) -> tuple[Fate, str, int | None]:
    """Return the fate of a row, its reason, and the item that is there or changes."""
    if candidate.problem:
        return "impossible", candidate.problem, None
    if (there := _found_by_source(candidate, known)) is not None:
        return there
    if candidate.record.kind in FOUNDATIONS:
        return "create", "", None
    while not candidate.record.alias and known.is_taken(candidate.name):
        candidate.alias = alias_rules.generate(7)  # one of 8 billion
    if not known.is_taken(candidate.name):
        return "create", _reason_of_new(candidate, known), None
    return _found_by_alias(candidate, known) or _fate_of_conflict(tx, candidate, known, plan, conflicts)


def _found_by_source(candidate: Candidate, known: Known) -> tuple[Fate, str, int | None] | None:
    """Return the fate of a row whose item was imported before, or is like one of the account."""
    if candidate.existing is not None:
        return "there", "You have one like it.", candidate.existing
    row = known.rows.get(candidate.source_id)
    if row is not None and not candidate.is_like(row):
        candidate.source_id = candidate.exact_id
        row = known.rows.get(candidate.source_id)
    elif row is None and candidate.exact_id in known.origins:
        candidate.source_id = candidate.exact_id
    if row is not None:
        return "there", f"Line {row.line} has the same link.", None
    origin, digest = known.origins.get(candidate.source_id), candidate.record.digest()
    if origin is None or is_renamed(origin.digest, digest):
        return None
    if origin.digest == digest:
        return "there", "Imported before.", origin.link
    return "changed", "Changed in the source since the last import.", origin.link


def _reason_of_new(candidate: Candidate, known: Known) -> str:
    if not candidate.record.alias:
        return "Without an alias: it gets a random one."
    return "Renamed in the source: the link of the old name stays." if candidate.source_id in known.origins else ""


def _found_by_alias(candidate: Candidate, known: Known) -> tuple[Fate, str, int | None] | None:
    """Return the fate of a row whose item the account has under its alias."""
    holder, kind = known.holders.get(candidate.name), candidate.record.kind
    if holder is None or holder.account != known.account or holder.kind != kind:
        return None
    if kind != "link":
        return "there", f"You have a {NOUNS[kind].singular} with this alias.", holder.item
    if holder.url == candidate.url:
        return "there", "Your link with this alias has this destination.", holder.item
    return None


def _fate_of_conflict(
    tx: Connection, candidate: Candidate, known: Known, plan: int, conflicts: Conflicts
) -> tuple[Fate, str, int | None]:
    holder = known.holders.get(candidate.name)
    line = known.alias_lines.get(candidate.name)
    is_own_link = holder is not None and holder.account == known.account and holder.kind == "link"
    can_replace = conflicts == "replace" and candidate.record.kind == "link" and line is None
    if holder is not None and is_own_link and can_replace:
        return "changed", "Replaces your link with this alias.", holder.item
    reason = f"The alias is taken by row {line}." if line else "The alias is taken."
    if holder is not None and is_in_trash(holder, known.account):
        reason = "The alias belongs to an item in your trash."
    if conflicts == "suffix":
        names = [f"{candidate.alias}-{number}" for number in _SUFFIXES]
        valid = [name for name in names if alias_rules.is_valid(name, host=candidate.host)]
        free = first_free(tx, plan, candidate.host, valid, known)
        if free is not None:
            candidate.alias = free
            return "create", f"{reason} The link becomes {free}.", None
    return "conflict", reason, None


def source_id(record: Record) -> str:
    """Return the name of a row in its source. Without an id it is the address, without an alias the destination."""
    return _storable(
        record.source_id or (f"{record.host.lower()}/{record.alias}" if record.alias else f"url:{record.url}")
    )


def _storable(text: str) -> str:
    if len(text) <= _MAX_SOURCE_ID and not _UNSTORABLE.search(text):
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
