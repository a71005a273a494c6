"""Names that a plan must respect: aliases in use, links imported before, and earlier rows of the same plan."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, select

from waypost.db.schema import aliases, import_origins, import_rows, links
from waypost.transfer.imports.source_row import address_of

Name = tuple[str, str]
TAKES_ALIAS = ("create", "there", "changed")
"""The fates of rows whose alias no other row of the plan can have."""
_row = import_rows.c


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
