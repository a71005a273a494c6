"""The kinds of items that tools name, and the names of items."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from sqlalchemy import Connection, select

from waypost.api.types import OneOf
from waypost.db.item_names import name_of
from waypost.db.schema.nouns import NOUNS
from waypost.errors import invalid

Kind = Annotated[str, OneOf(tuple(NOUNS))]


def names(tx: Connection, account: int, kind: Kind, ids: Sequence[int]) -> Mapping[int, str]:
    """Return the names of the account's items with these ids. Raises INVALID on `ids` if one is missing."""
    table = NOUNS[kind].table
    query = select(table.c.id, name_of(NOUNS[kind])).where(table.c.account == account, table.c.id.in_(ids))
    by_id = {int(item): str(text) for item, text in tx.execute(query)}
    if missing := [str(item) for item in ids if item not in by_id]:
        listed = ", ".join(missing[:20])
        raise invalid("ids", f"ids must be ids of your items of the kind {kind}; these are not: {listed}.")
    return by_id
