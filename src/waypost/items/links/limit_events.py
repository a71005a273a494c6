"""The events of a link that has used 80 percent of its click limit, or all: recorded by the transaction that counts."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from waypost.clicks.ingest.aggregate import Visit
from waypost.db import audit_log
from waypost.db.item_columns import name_of
from waypost.db.schema import audit, links
from waypost.db.schema.nouns import NOUNS
from waypost.db.statements import is_one_of

_NEAR, _REACHED = "link.limit_near", "link.limit_reached"
_MIN_LIMIT = 5
"""Of smaller limits, 80 percent are all clicks."""
_c = links.c


def record_reached(tx: Connection, visits: Sequence[Visit], _is_first: Sequence[bool]) -> None:
    """Record the links whose click limit is near or reached by one of the visits, once for each limit of a link.

    The ingester has locked the rows of the links. A cluster of Citus can release those before the events are committed,
    so an event also has a lock of its own.
    """
    limited = {(visit.account, visit.item) for visit in visits if visit.taken and visit.kind == "link"}
    if not limited:
        return
    accounts, ids = (set(column) for column in zip(*limited, strict=True))
    query = select(_c.account, _c.id, _c.clicklimit, _c.taken, name_of(NOUNS["link"]).label("name"))
    owned = (is_one_of(_c.account, accounts), is_one_of(_c.id, ids))
    near = query.where(*owned, _c.clicklimit.is_not(None), 5 * _c.taken >= 4 * _c.clicklimit)
    for row in tx.execute(near.order_by(_c.account, _c.id)).all():
        if row.clicklimit >= _MIN_LIMIT:
            _record(tx, _NEAR, row)
        if row.taken >= row.clicklimit:
            _record(tx, _REACHED, row)


def _record(tx: Connection, event: str, row: Any) -> None:
    if _last_recorded(tx, event, row.account, row.id) == row.clicklimit:
        return
    if tx.dialect.name != "sqlite":
        # In the order of accounts and links, so that two nodes never wait for each other.
        tx.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"{event} {row.account} {row.id}", 0))))
    if _last_recorded(tx, event, row.account, row.id) != row.clicklimit:
        audit_log.record(tx, row.account, event, row.id, label=row.name, after={"clicklimit": row.clicklimit})


def _last_recorded(tx: Connection, event: str, account: int, link: int) -> int | None:
    """Return the limit of the last such event of a link."""
    c = audit.c
    is_event = (c.account == account, c.kind == "link", c.item == link, c.name == event)
    after = tx.execute(select(c.after).where(*is_event).order_by(c.id.desc()).limit(1)).scalar()
    return None if after is None else int(after["clicklimit"])
