"""The stored visits of an account: searched, newest first, and exported as CSV or JSON lines."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select

from waypost.clicks.stats.subjects import Members, is_member
from waypost.core import clock, csv_export
from waypost.db.database import Database
from waypost.db.schema import events

DIMENSIONS = ("country", "referrer", "browser", "os", "device", "language", "source")
PAGE_SIZE = 50
MAX_SCANNED = 100_000
"""A page of a search reads at most so many visits; the next one continues where it ended."""
_COLUMNS = ("id", "kind", "item", "at_ms", "sort", "first", *DIMENSIONS)
Format = Literal["csv", "jsonl"]
_EXPORTED_AT_ONCE = 5000
_LATEST_SCANNED = 200
_EXPORTED = (
    *("id", "date", "kind", "item", "sort", "first"),
    *("country", "referrer", "browser", "os", "device", "language", "source"),
)


@dataclass(frozen=True)
class VisitFilter:
    """Which visits to return. Empty values match all, except that a rotator's visits need their kind.

    A rotator's visit is also stored as a visit of its link. `labels` are values of dimensions by their name, `members`
    the items of a group.
    """

    kind: str = ""
    item: int | None = None
    sort: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    members: Members | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether almost every visit matches."""
        return not (self.kind or self.labels or self.sort or self.members is not None)

    def condition(self) -> ColumnElement[bool]:
        """Return the condition on a row of `events`."""
        c = events.c
        conditions = [c.kind == self.kind if self.kind else c.kind != "campaign"]
        conditions += [c[name] == value for name, value in self.labels.items()]
        if self.item is not None:
            conditions.append(c.item == self.item)
        if self.members is not None:
            conditions.append(is_member(c, self.members))
        if self.sort:
            conditions.append(c.sort == self.sort)
        return and_(*conditions)


@dataclass(frozen=True)
class VisitPage:
    """Visits, newest first. `before` is the parameter of the next page, None if there is none."""

    visits: Sequence[RowMapping]
    before: int | None


def search(tx: Connection, account: int, visit_filter: VisitFilter, *, before: int | None, after: int) -> VisitPage:
    """Return the newest visits with an id below `before` and above `after` (index events_account_id)."""
    c = events.c
    owned = [c.account == account, c.id > after]
    if before is not None:
        owned.append(c.id < before)
    oldest = None if visit_filter.is_empty else _oldest_scanned(tx, owned)
    if oldest is not None:
        owned.append(c.id >= oldest)
    columns = [c[name] for name in _COLUMNS]
    query = select(*columns).where(*owned, visit_filter.condition()).order_by(c.id.desc()).limit(PAGE_SIZE + 1)
    rows = tx.execute(query).mappings().all()
    if len(rows) > PAGE_SIZE:
        return VisitPage(rows[:PAGE_SIZE], rows[PAGE_SIZE - 1]["id"])
    return VisitPage(rows, oldest)


def find(tx: Connection, account: int, visit_filter: VisitFilter, ids: Collection[int]) -> Sequence[RowMapping]:
    """Return those of the visits with these ids that match, newest first."""
    c = events.c
    columns = [c[name] for name in _COLUMNS]
    query = select(*columns).where(c.account == account, c.id.in_(ids), visit_filter.condition())
    return tx.execute(query.order_by(c.id.desc())).mappings().all()


def export(
    database: Database,
    account: int,
    *,
    form: Format,
    first: int,
    after: int,
    where: ColumnElement[bool] | None = None,
) -> Iterator[str]:
    """Yield the account's visits from second `first` to before `after` as pages of text, oldest first.

    `where` is another condition on `events`.

    Each page is read in its own transaction, so that a slow client holds no transaction open.
    """
    if form == "csv":
        yield ",".join(_EXPORTED) + "\r\n"
    c = events.c
    conditions = [c.account == account, c.at_ms >= first * 1000, c.at_ms < after * 1000]
    if where is not None:
        conditions.append(where)
    last_id = 0
    while rows := database.read(partial(_exported_page, conditions=conditions, last_id=last_id)):
        last_id = rows[-1]["id"]
        exported = [_export_row(row) for row in rows]
        if form == "csv":
            yield csv_export.lines(row.values() for row in exported)
        else:
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in exported)


def latest(tx: Connection, account: int, limit: int) -> list[dict[str, Any]]:
    """Return up to `limit` clicks among the account's latest visits, newest first (index events_account_id)."""
    c = events.c
    columns = (c.kind, c.item, c.at_ms, c.sort, c.country, c.referrer, c.browser, c.os, c.device)
    query = select(*columns).where(c.account == account).order_by(c.id.desc()).limit(_LATEST_SCANNED)
    # A rotator's visit is also stored as a visit of its link.
    clicks = (dict(row) for row in tx.execute(query).mappings() if row["sort"] == "click" and row["kind"] != "campaign")
    return list(islice(clicks, limit))


def _oldest_scanned(tx: Connection, owned: Sequence[ColumnElement[bool]]) -> int | None:
    """Return the id of the last visit that a search reads; None if there are fewer."""
    query = select(events.c.id).where(*owned).order_by(events.c.id.desc()).limit(1).offset(MAX_SCANNED - 1)
    oldest: Any = tx.execute(query).scalar_one_or_none()
    return None if oldest is None else int(oldest)


def _exported_page(tx: Connection, conditions: Sequence[ColumnElement[bool]], last_id: int) -> Sequence[RowMapping]:
    c = events.c
    columns = [c[name] for name in _EXPORTED if name != "date"]
    query = select(*columns, c.at_ms).where(*conditions, c.id > last_id).order_by(c.id).limit(_EXPORTED_AT_ONCE)
    return tx.execute(query).mappings().all()


def _export_row(row: RowMapping) -> dict[str, Any]:
    fields = {**row, "date": clock.text(row["at_ms"] // 1000), "first": bool(row["first"])}
    return {name: fields[name] for name in _EXPORTED}
