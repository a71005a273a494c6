"""Events on the chart of a statistics page: an item was created, edited or imported, a campaign started."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Column, ColumnElement, Connection, and_, exists, select

from waypost.clicks.stats.reports import Span, point_starts
from waypost.clicks.stats.subjects import ACCOUNT
from waypost.dashboard.visited_item_names import VISITED
from waypost.db.schema import audit, campaigns, import_origins, import_plans, import_rows, links
from waypost.db.schema.imports import SOURCE_NAMES

_MAX_ROWS = 5000  # of a kind of event, and of the audit log, newest first
_MAX_ANNOTATIONS = 100
_APPLIED = "applied"
_WITH_EDITS = {kind: entry.table for kind, entry in VISITED.items() if kind != "missing"}
_EDITED = [f"{kind}.updated" for kind in _WITH_EDITS]
_Event = tuple[int, str, str, str]
"""The second, and the fields of an annotation."""


class Annotation(NamedTuple):
    """Events of one point of the chart: `event` is created, edited, imported or started.

    `kind` is that of the item, `name` that of the campaign or import, `number` that of the events.
    """

    point: int
    event: str
    kind: str
    name: str
    number: int


def annotations(tx: Connection, account: int, kind: str, item: int, span: Span) -> list[Annotation]:
    """Return the events of an item or account in a span by point, oldest first."""
    first, after = span.seconds()
    events = (
        _of_account(tx, account, first, after) if kind == ACCOUNT else _of_item(tx, account, kind, item, first, after)
    )
    point_of = point_starts(span)
    counts = Counter((point_of(second), event, of_kind, name) for second, event, of_kind, name in events)
    return sorted(Annotation(*key, count) for key, count in counts.items())[-_MAX_ANNOTATIONS:]


def _of_account(tx: Connection, account: int, first: int, after: int) -> Iterator[_Event]:
    c = links.c
    created = select(c.created).where(c.account == account, c.created >= first, c.created < after)
    for second in tx.execute(created.order_by(c.id.desc()).limit(_MAX_ROWS)).scalars():
        yield second, "created", "link", ""
    in_span = and_(audit.c.account == account, audit.c.at >= first, audit.c.at < after)
    yield from _edited(tx, first, after, in_span, order=audit.c.at)
    yield from _campaigns(tx, first, after, campaigns.c.account == account)
    yield from _imports(tx, first, after, import_plans.c.account == account)


def _of_item(tx: Connection, account: int, kind: str, item: int, first: int, after: int) -> Iterator[_Event]:
    table = _WITH_EDITS.get(kind)
    if table is None:
        return
    c = table.c
    own = select(c.created).where(c.id == item, c.account == account, c.created >= first, c.created < after)
    for second in tx.execute(own).scalars():
        yield second, "created", kind, ""
    of_item = and_(audit.c.account == account, audit.c.kind == kind, audit.c.item == item)
    yield from _edited(tx, first, after, of_item, order=audit.c.id)
    if kind == "link":
        of_link = select(links.c.campaign).where(links.c.id == item, links.c.account == account)
        own_campaign = and_(campaigns.c.account == account, campaigns.c.id == of_link.scalar_subquery())
        yield from _campaigns(tx, first, after, own_campaign)
        origin, row = import_origins.c, import_rows.c
        is_imported = exists().where(
            origin.link == item,
            origin.account == account,
            row.account == account,
            row.plan == import_plans.c.id,
            row.source_id == origin.source_id,
            origin.source == import_plans.c.source,
        )
        yield from _imports(tx, first, after, and_(import_plans.c.account == account, is_imported))


def _edited(
    tx: Connection, first: int, after: int, which: ColumnElement[bool], *, order: Column[int]
) -> Iterator[_Event]:
    """Yield the changes of items among the newest events of the audit log. `which` and `order` have an index."""
    c = audit.c
    newest = select(c.at, c.kind, c.name).where(which).order_by(order.desc()).limit(_MAX_ROWS).subquery().c
    in_span = (newest.name.in_(_EDITED), newest.at >= first, newest.at < after)
    for second, of_kind in tx.execute(select(newest.at, newest.kind).where(*in_span)):
        yield second, "edited", of_kind, ""


def _campaigns(tx: Connection, first: int, after: int, which: ColumnElement[bool]) -> Iterator[_Event]:
    c = campaigns.c
    query = select(c.created, c.name).where(which, c.created >= first, c.created < after)
    for second, name in tx.execute(query.order_by(c.id.desc()).limit(_MAX_ROWS)):
        yield second, "started", "campaign", name


def _imports(tx: Connection, first: int, after: int, which: ColumnElement[bool]) -> Iterator[_Event]:
    c = import_plans.c
    query = select(c.created, c.source).where(which, c.state == _APPLIED, c.created >= first, c.created < after)
    for second, source in tx.execute(query.order_by(c.id.desc()).limit(_MAX_ROWS)):
        yield second, "imported", "", SOURCE_NAMES.get(source, source)
