"""Queries of the audit log: pages, latest event first, and exports."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select

from waypost.core import clock, csv_export
from waypost.core.text_folding import folded
from waypost.db import audit_sequence
from waypost.db.audit_sequence import StoredEvent
from waypost.db.database import Database
from waypost.db.schema import audit, audit_tombstones
from waypost.search import items

Format = Literal["csv", "jsonl"]
ORIGINS = ("dashboard", "api", "agent", "command", "import", "system")
SIGNED_IN = "session.started"
_MAX_SCANNED = 20_000
"""Rows that a page with filters reads at most, so that it takes the same time in a log of any length."""
_EXPORTED_AT_ONCE = 5000
_c = audit.c


@dataclass(frozen=True, kw_only=True)
class Entry(StoredEvent):
    """An event as people read it."""

    @property
    def verb(self) -> str:
        """The second part of the name."""
        return self.name.partition(".")[2]


_COLUMNS = [_c[field.name] for field in fields(Entry)]


@dataclass(frozen=True)
class AuditFilter:
    """The events to show; "" and None are any. `first` and `last` are Unix seconds, `q` is a part of the label.

    `author` is the account that made the change.
    """

    kind: str = ""
    item: int | None = None
    name: str = ""
    origin: str = ""
    key: str = ""
    first: int | None = None
    last: int | None = None
    q: str = ""
    author: int | None = None

    @property
    def is_set(self) -> bool:
        """True if it leaves out events."""
        return self != AuditFilter()

    def conditions(self, tx: Connection, account: int | None) -> list[ColumnElement[bool]]:
        """Return the conditions of the events of an account, or of the installation."""
        texts = {name: value for name in ("kind", "name", "origin", "key") if (value := getattr(self, name))}
        return [
            _c.account.is_(None) if account is None else _c.account == account,
            *(_c[name] == value for name, value in texts.items()),
            *([] if self.item is None else [_c.item == self.item]),
            *([] if self.author is None else [_is_by(self.author)]),
            *([] if self.first is None else [_c.at >= self.first]),
            *([] if self.last is None else [_c.at <= self.last]),
            *(items.contains(tx, _c.label, word) for word in folded(self.q).split()),
        ]


def _is_by(author: int) -> ColumnElement[bool]:
    """Return the condition of the events of an author. A sign-in begins without a session."""
    return or_(_c.actor == author, and_(_c.name == SIGNED_IN, _c.account == author))


@dataclass(frozen=True)
class AuditPage:
    """Events, latest first. Earlier ones are before the id `before`; None if there are none."""

    entries: Sequence[Entry]
    before: int | None


def page(
    tx: Connection, account: int | None, audit_filter: AuditFilter, *, limit: int, before: int | None = None
) -> AuditPage:
    """Return the latest events that match, of an account or of the installation, before the id `before`.

    With filters, other than the history of one thing, it can have fewer than `limit`, although earlier ones match: it
    reads a limited number of rows.
    """
    # The whole log of the account, and the history of one thing, have an index.
    is_history = bool(audit_filter.kind) and audit_filter.item is not None
    indexed = AuditFilter(audit_filter.kind, audit_filter.item) if is_history else AuditFilter()
    owned = indexed.conditions(tx, account)
    older = [*([] if before is None else [_c.id < before]), *_between(tx, account, audit_filter)]
    bound = None
    if audit_filter != indexed:
        newest = select(_c.id).where(*owned, *older).order_by(_c.id.desc())
        bound = tx.execute(newest.offset(_MAX_SCANNED).limit(1)).scalar()
    scanned = [] if bound is None else [_c.id > bound]
    query = select(*_COLUMNS).where(*audit_filter.conditions(tx, account), *older, *scanned).order_by(_c.id.desc())
    entries = [_entry(row, account) for row in tx.execute(query.limit(limit + 1)).mappings()]
    if len(entries) > limit:
        return AuditPage(entries[:limit], entries[limit - 1].id)
    return AuditPage(entries, None if bound is None else bound + 1)


def _between(tx: Connection, account: int | None, audit_filter: AuditFilter) -> list[ColumnElement[bool]]:
    """Return conditions of the ids that the days of a filter have, so that no page reads the events of other days.

    Ids follow time, except between nodes whose clocks differ: the events next to the edge decide, not only one.
    """
    events = select(_c.id).where(*AuditFilter().conditions(tx, account))
    conditions = []
    if audit_filter.first is not None:
        near = events.where(_c.at >= audit_filter.first).order_by(_c.at).limit(_MAX_SCANNED).subquery()
        conditions.append(_c.id >= select(func.min(near.c.id)).scalar_subquery())
    if audit_filter.last is not None:
        near = events.where(_c.at <= audit_filter.last).order_by(_c.at.desc()).limit(_MAX_SCANNED).subquery()
        conditions.append(_c.id <= select(func.max(near.c.id)).scalar_subquery())
    return conditions


def export(database: Database, account: int | None, audit_filter: AuditFilter, form: Format) -> Iterator[str]:
    """Yield all events that match as text, oldest first.

    Each part is read in its own transaction, so that a slow client holds none open.
    """
    if form == "csv":
        yield ",".join(_NAMES) + "\r\n"
    last_id = 0
    read = partial(_part, account=account, audit_filter=audit_filter)
    while entries := database.read(partial(read, last_id=last_id)):
        last_id = entries[-1].id
        rows = [as_json(entry) for entry in entries]
        if form == "csv":
            yield csv_export.lines((_cell(value) for value in row.values()) for row in rows)
        else:
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _part(tx: Connection, *, account: int | None, audit_filter: AuditFilter, last_id: int) -> list[Entry]:
    query = (
        select(*_COLUMNS)
        .where(*audit_filter.conditions(tx, account), _c.id > last_id)
        .order_by(_c.id)
        .limit(_EXPORTED_AT_ONCE)
    )
    return [_entry(row, account) for row in tx.execute(query).mappings()]


def _entry(row: Mapping[Any, Any], account: int | None) -> Entry:
    """Return a row as those see it that read this log: an account learns no key and no network of administrators."""
    entry = Entry(**row)
    return entry if account is None or entry.actor in (None, account) else replace(entry, key="", network="")


_NAMES = (
    *("id", "date", "event", "kind", "item", "label", "origin", "account", "key", "network"),
    *("before", "after"),
)


def as_json(entry: Entry) -> dict[str, Any]:
    """Return an event as the API and exports show it. `account` is that of the session or key."""
    values = {**vars(entry), "date": clock.text(entry.at), "event": entry.name, "account": entry.actor}
    return {name: values[name] for name in _NAMES}


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def remove_account(tx: Connection, account: int) -> int:
    """Delete the events of an account that is deleted. Return how many had a position, whose tombstones remain."""
    audit_sequence.hold(tx)
    positions = select(_c.position, _c.account).where(_c.account == account, _c.position.is_not(None))
    tombstones = insert(audit_tombstones).from_select(["position", "owner"], positions)
    removed = tx.execute(tombstones.returning(audit_tombstones.c.position)).all()
    tx.execute(delete(audit).where(_c.account == account))
    return len(removed)
