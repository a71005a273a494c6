"""Names and pages of the items that were visited."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from waypost.db.item_columns import name_of
from waypost.db.schema import bio_blocks, bios
from waypost.db.schema.nouns import NOUNS

Key = tuple[str, int]
"""Kind and id of an item."""


VISITED = {**{kind: NOUNS[kind] for kind in ("link", "qr", "file", "bio", "campaign")}, "missing": NOUNS["domain"]}
"""The nouns by kind in `events`; `missing` are unknown names of a domain."""


class Item(NamedTuple):
    """A visited item. Name and path are empty if it is deleted."""

    name: str = ""
    path: str = ""


def find_items(tx: Connection, account: int, keys: Iterable[Key]) -> Mapping[Key, Item]:
    """Return the items that exist, by one statement for each kind."""
    ids = defaultdict[str, set[int]](set)
    for kind, item in keys:
        ids[kind].add(item)
    items = defaultdict[Key, Item](Item)
    items.update(_blocks(tx, account, ids.pop("block", set())))
    for kind, of_kind in ids.items():
        if kind not in VISITED:
            continue
        noun = VISITED[kind]
        c = noun.table.c
        query = select(c.id, name_of(noun)).where(c.account == account, c.id.in_(sorted(of_kind)))
        for item, text in tx.execute(query):
            items[kind, item] = Item(str(text), f"{noun.path}/{item}")
    return items


def _blocks(tx: Connection, account: int, ids: Iterable[int]) -> Mapping[Key, Item]:
    """Return the blocks of bio pages, by their titles, with the path of the editor of their page."""
    query = select(bio_blocks.c.id, bios.c.id, bios.c.name, bios.c.blocks).join(
        bios, (bios.c.id == bio_blocks.c.bio) & (bios.c.account == bio_blocks.c.account)
    )
    rows = tx.execute(query.where(bios.c.account == account, bio_blocks.c.id.in_(sorted(ids)))) if ids else ()
    items = {}
    for block, bio, page, blocks in rows:
        title = next((own.get("title") or own.get("network") for own in blocks if own.get("id") == block), "")
        name = title or page
        items["block", block] = Item(str(name), f"/dashboard/bios/{bio}")
    return items
