"""The event of a link that has reached its click limit, recorded in the transaction that counts its last click."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from waypost.clicks.ingest.aggregate import Visit
from waypost.db import audit_log
from waypost.db.item_columns import name_of
from waypost.db.schema import audit, links
from waypost.db.schema.nouns import NOUNS
from waypost.db.statements import is_one_of

_EVENT = "link.limit_reached"
_c = links.c


def record_reached(tx: Connection, visits: Sequence[Visit], _is_first: Sequence[bool]) -> None:
    """Record the links whose click limit is reached by one of the visits, once for each limit of a link.

    The ingester has locked the rows of the links, so no other one records the same.
    """
    limited = {(visit.account, visit.item) for visit in visits if visit.taken and visit.kind == "link"}
    if not limited:
        return
    accounts, ids = (set(column) for column in zip(*limited, strict=True))
    query = select(_c.account, _c.id, _c.clicklimit, name_of(NOUNS["link"]).label("name"))
    owned = (is_one_of(_c.account, accounts), is_one_of(_c.id, ids))
    for row in tx.execute(query.where(*owned, _c.clicklimit.is_not(None), _c.taken >= _c.clicklimit)):
        if _last_recorded(tx, row.account, row.id) != row.clicklimit:
            after = {"clicklimit": row.clicklimit}
            audit_log.record(tx, row.account, _EVENT, row.id, label=row.name, after=after)


def _last_recorded(tx: Connection, account: int, link: int) -> int | None:
    """Return the limit of the last such event of a link."""
    c = audit.c
    is_event = (c.account == account, c.kind == "link", c.item == link, c.name == _EVENT)
    after = tx.execute(select(c.after).where(*is_event).order_by(c.id.desc()).limit(1)).scalar()
    return None if after is None else int(after["clicklimit"])
