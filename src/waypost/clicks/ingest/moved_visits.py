"""Visits of items that were moved to another account after the visit was written to the journal."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from waypost.clicks.ingest.aggregate import Visit
from waypost.clicks.ingest.bulk_upsert import select_by_keys, transpose
from waypost.db import moved_items
from waypost.db.schema import moved_items as table

ItemKey = tuple[str, int]
"""The kind and the id of an item."""


def resolve(tx: Connection, visits: Sequence[Visit]) -> tuple[Sequence[Visit], Mapping[ItemKey, int]]:
    """Return the visits with the present account of each item, which then stays the same until the commit.

    The mapping has, for each item that was moved, the account under which its visitors are stored.
    """
    moved_items.hold(tx)
    if not moved_items.revision(tx):
        return visits, {}
    keys = transpose(("kind", "item"), sorted({(visit.kind, visit.item) for visit in visits}))
    rows = list(select_by_keys(tx, table, keys, "owner, visitors_of")) if keys else []
    owners = {(kind, item): owner for kind, item, owner, _ in rows}
    if owners:
        owned = ((visit, owners.get((visit.kind, visit.item))) for visit in visits)
        visits = [visit if owner is None else visit._replace(account=owner) for visit, owner in owned]
    return visits, {(kind, item): visitors_of for kind, item, _, visitors_of in rows}
