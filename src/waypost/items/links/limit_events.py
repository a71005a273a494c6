"""The events of a link that has used 80 percent of its click limit, or all: recorded by the transaction that counts.

The audit log says whether an event was recorded. Events that are too old are deleted there, so one that is missing is
recorded only for a limit that was set since, or by clicks of the last day.

The clicks are those that are counted. `taken` also has those of processes that were killed before they wrote the click:
the next visit, which is too late, brings the event of such a last click.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from waypost.clicks.ingest.aggregate import Visit
from waypost.core import clock
from waypost.db import audit_log
from waypost.db.item_columns import name_of
from waypost.db.schema import audit, click_times, links
from waypost.db.schema.nouns import NOUNS
from waypost.db.statements import is_one_of

_NEAR, _REACHED = "link.limit_near", "link.limit_reached"
_MIN_LIMIT = 5
"""Of smaller limits, 80 percent are all clicks."""
_DAY = 86_400
_c, _a, _t = links.c, audit.c, click_times.c


def record_reached(tx: Connection, visits: Sequence[Visit], _is_first: Sequence[bool]) -> None:
    """Record the links whose click limit is near or reached by one of the visits, once for each limit of a link.

    The ingester has locked the rows of the links. A cluster of Citus can release those before the events are committed,
    so an event also has a lock of its own.
    """
    first: dict[tuple[int, int], int] = {}
    for visit in visits:
        if visit.kind == "link" and (visit.taken or visit.outcome == "late"):
            link = (visit.account, visit.item)
            first[link] = min(visit.second, first.get(link, visit.second))
    if not first:
        return
    accounts, ids = (set(column) for column in zip(*first, strict=True))
    query = select(_c.account, _c.id, _c.clicklimit, _c.clicks, _c.taken, name_of(NOUNS["link"]).label("name"))
    owned = (is_one_of(_c.account, accounts), is_one_of(_c.id, ids))
    is_near = or_(5 * _c.clicks >= 4 * _c.clicklimit, _c.taken >= _c.clicklimit)
    for row in tx.execute(query.where(*owned, is_near).order_by(_c.account, _c.id)).all():
        since = first.get((row.account, row.id), clock.now()) - _DAY
        if row.clicklimit >= _MIN_LIMIT:
            _record(tx, _NEAR, row, -(-4 * row.clicklimit // 5), since)
        if row.taken >= row.clicklimit:
            _record(tx, _REACHED, row, row.clicklimit, since)


def _record(tx: Connection, event: str, row: Any, clicks: int, since: int) -> None:
    """Record that a link has so many `clicks`, unless that was recorded."""
    if _is_recorded(tx, event, row, clicks, since):
        return
    if tx.dialect.name != "sqlite":
        # In the order of accounts and links, so that two nodes never wait for each other.
        tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"{event} {row.account} {row.id}", 0))))
    if not _is_recorded(tx, event, row, clicks, since):
        audit_log.record(tx, row.account, event, row.id, label=row.name, after={"clicklimit": row.clicklimit})


def _is_recorded(tx: Connection, event: str, row: Any, clicks: int, since: int) -> bool:
    """Return whether the event of the present limit is in the log, or was, as far as clicks before `since` say."""
    last = _newest(tx, row, _a.name == event)
    if last is not None:
        return bool(last["clicklimit"] == row.clicklimit)
    sets_limit = (_a.after["clicklimit"].as_string().is_not(None), _a.name.not_in((_NEAR, _REACHED)))
    if _newest(tx, row, *sets_limit) is not None:
        return False
    of_link = (_t.kind == "link", _t.item == row.id, _t.account == row.account, _t.at >= since)
    recent = tx.execute(select(func.coalesce(func.sum(_t.clicks), 0)).where(*of_link)).scalar_one()
    return bool(row.clicks - int(recent) >= clicks)


def _newest(tx: Connection, row: Any, *conditions: ColumnElement[bool]) -> Mapping[str, Any] | None:
    """Return the new values of the last event of a link with `conditions` (index audit_account_item)."""
    of_link = (_a.account == row.account, _a.kind == "link", _a.item == row.id)
    return tx.execute(select(_a.after).where(*of_link, *conditions).order_by(_a.id.desc()).limit(1)).scalar()
