"""Events of the audit log for changed pixels and channels of links."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from sqlalchemy import Connection, select

from waypost.db import audit_log
from waypost.db.schema import channel_items, link_pixels

_COLUMNS = {"pixels": link_pixels.c.pixel, "channel": channel_items.c.channel}


def record(tx: Connection, account: int, name: Literal["pixels", "channel"], new: Mapping[int, Sequence[int]]) -> None:
    """Record the links that get other ids, before they do. `new` has all ids of each link."""
    column = _COLUMNS[name]
    c = column.table.c
    before: defaultdict[int, set[int]] = defaultdict(set)
    for link, related in tx.execute(select(c.link, column).where(c.account == account, c.link.in_(new))):
        before[link].add(related)
    for link, ids in new.items():
        if before[link] != {*ids}:
            old = {name: sorted(before[link])}
            audit_log.record(tx, account, "link.updated", link, before=old, after={name: [*ids]})
