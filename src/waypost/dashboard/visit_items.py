"""Names and pages of the items that were visited."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from waypost.db.schema import bio_blocks, bios, campaigns, domains, files, links, qrs

Key = tuple[str, int]
"""Kind and id of an item."""


class _Kind(NamedTuple):
    folder: str
    table: Table
    name: ColumnElement[str]


def _named(table: Table, name: str, other: str) -> ColumnElement[str]:
    return func.coalesce(func.nullif(table.c[name], ""), table.c[other])


KINDS = {
    "link": _Kind("links", links, _named(links, "title", "alias")),
    "qr": _Kind("qr", qrs, _named(qrs, "name", "alias")),
    "file": _Kind("files", files, _named(files, "name", "alias")),
    "bio": _Kind("bios", bios, _named(bios, "name", "alias")),
    "campaign": _Kind("campaigns", campaigns, _named(campaigns, "name", "slug")),
    "missing": _Kind("domains", domains, domains.c.host),
}
"""By kind in `events`; `missing` are unknown names of a domain."""


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
        if kind not in KINDS:
            continue
        folder, table, name = KINDS[kind]
        query = select(table.c.id, name).where(table.c.account == account, table.c.id.in_(sorted(of_kind)))
        for item, text in tx.execute(query):
            items[kind, item] = Item(str(text), f"/dashboard/{folder}/{item}")
    return items


def _blocks(tx: Connection, account: int, ids: Iterable[int]) -> Mapping[Key, Item]:
    """Return the blocks of bio pages, by their titles, with the path of the editor of their page."""
    query = select(bio_blocks.c.id, bios.c.id, bios.c.name, bios.c.blocks).join(bios, bios.c.id == bio_blocks.c.bio)
    rows = tx.execute(query.where(bios.c.account == account, bio_blocks.c.id.in_(sorted(ids)))) if ids else ()
    items = {}
    for block, bio, page, blocks in rows:
        title = next((own.get("title") or own.get("network") for own in blocks if own.get("id") == block), "")
        name = title or page
        items["block", block] = Item(str(name), f"/dashboard/bios/{bio}")
    return items
