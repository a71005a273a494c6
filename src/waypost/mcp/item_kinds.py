"""The kinds of items that tools name: their tables, and the columns with their names."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from waypost.db.schema import (
    bios,
    campaigns,
    channels,
    domains,
    files,
    links,
    overlays,
    pixels,
    qrs,
    splashes,
    utm_templates,
)
from waypost.errors import invalid

Kind = Literal["link", "file", "qr", "bio", "campaign", "channel", "splash", "overlay", "pixel", "utm", "domain"]


class ItemTable(NamedTuple):
    """The table of a kind, its name in `find`, and the column with the name of an item."""

    table: Table
    folder: str
    name: ColumnElement[str]


def _named(table: Table, folder: str, name: str = "name", other: str | None = None) -> ItemTable:
    column = table.c[name]
    return ItemTable(table, folder, column if other is None else func.coalesce(func.nullif(column, ""), table.c[other]))


TABLES: Mapping[Kind, ItemTable] = {
    "link": _named(links, "links", "title", "alias"),
    "file": _named(files, "files", other="alias"),
    "qr": _named(qrs, "qr", other="alias"),
    "bio": _named(bios, "bios", other="alias"),
    "campaign": _named(campaigns, "campaigns"),
    "channel": _named(channels, "channels"),
    "splash": _named(splashes, "splash"),
    "overlay": _named(overlays, "overlays"),
    "pixel": _named(pixels, "pixels"),
    "utm": _named(utm_templates, "utm"),
    "domain": _named(domains, "domains", "host"),
}


def names(tx: Connection, account: int, kind: Kind, ids: Sequence[int]) -> Mapping[int, str]:
    """Return the names of the account's items with these ids. Raises INVALID on `ids` if one is missing."""
    table, _, name = TABLES[kind]
    query = select(table.c.id, name).where(table.c.account == account, table.c.id.in_(ids))
    by_id = {int(item): str(text) for item, text in tx.execute(query)}
    if missing := [str(item) for item in ids if item not in by_id]:
        listed = ", ".join(missing[:20])
        raise invalid("ids", f"ids must be ids of your items of the kind {kind}; these are not: {listed}.")
    return by_id
