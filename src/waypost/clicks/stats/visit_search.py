"""Search the stored visits of an account, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select

from waypost.clicks.stats.subjects import Members, is_member
from waypost.db.schema import events

DIMENSIONS = ("country", "referrer", "browser", "os", "device", "language", "source")
PAGE_SIZE = 50
MAX_SCANNED = 100_000
"""A page of a search reads at most so many visits; the next one continues where it ended."""
_COLUMNS = ("id", "kind", "item", "at_ms", "sort", "first", *DIMENSIONS)


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


def _oldest_scanned(tx: Connection, owned: Sequence[ColumnElement[bool]]) -> int | None:
    """Return the id of the last visit that a search reads; None if there are fewer."""
    query = select(events.c.id).where(*owned).order_by(events.c.id.desc()).limit(1).offset(MAX_SCANNED - 1)
    oldest: Any = tx.execute(query).scalar_one_or_none()
    return None if oldest is None else int(oldest)
