"""Channels: an account's own shelves for links, bio pages and QR codes."""

from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Connection, Table, func, select

from waypost import clock, rows
from waypost.db import upsert
from waypost.errors import taken
from waypost.rows import Page, Window
from waypost.schema import bios, channel_items, channels, domains, links, qrs

ItemType = Literal["links", "bio", "qr"]
_TAKEN = {"channels_account_name_unique": taken("name", "You already have a channel with this name.")}
# What can stand on a channel: the column that holds it, and its table.
_HOLDS: dict[str, tuple[str, Table]] = {"links": ("link", links), "bio": ("bio", bios), "qr": ("qr", qrs)}


@dataclass(frozen=True)
class Channel:
    """A channel; `color` is `#RRGGBB`."""

    id: int
    name: str
    description: str
    color: str
    starred: bool


@dataclass(frozen=True)
class Item:
    """A thing on a channel. `title` may be empty; `host` is "" on the service's own; times are seconds, UTC."""

    type: ItemType
    id: int
    title: str
    host: str
    scheme: str | None
    alias: str
    assigned: int


class Fields(TypedDict, total=False):
    """What can be set; `None` is the field's default."""

    name: str
    description: str | None
    color: str | None
    starred: bool | None


def page(tx: Connection, account: int, window: Window) -> Page[Channel]:
    """The account's channels."""
    return rows.page(tx, channels, account, window, Channel)


def own(tx: Connection, account: int, channel: int) -> Channel:
    """One channel."""
    return rows.own(tx, channels, account, channel, Channel)


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Channel:
    """Make a channel. Raises TAKEN on `name`."""
    return own(tx, account, rows.add(tx, channels, account, fields, _TAKEN))


def change(tx: Connection, account: int, channel: int, **fields: Unpack[Fields]) -> Channel:
    """Set the given fields. Raises TAKEN on `name`."""
    rows.change(tx, channels, account, channel, fields, _TAKEN)
    return own(tx, account, channel)


def remove(tx: Connection, account: int, channel: int) -> None:
    """Delete a channel; what stood on it stays, unassigned."""
    rows.remove(tx, channels, account, channel)


def assign(tx: Connection, account: int, channel: int, kind: ItemType, item: int) -> None:
    """Put an item on a channel; doing it twice is doing it once."""
    own(tx, account, channel)
    column, table = _HOLDS[kind]
    rows.own(tx, table, account, item, _Id)
    new = upsert(tx, channel_items).values(channel=channel, assigned=clock.now(), **{column: item})
    tx.execute(new.on_conflict_do_nothing(index_elements=["channel", column]))


def items(tx: Connection, account: int, channel: int, window: Window) -> Page[Item]:
    """What stands on a channel, latest assigned first (index channel_items_channel_id)."""
    own(tx, account, channel)
    on_it = channel_items.c.channel == channel
    result = tx.execute(select(func.count()).select_from(channel_items).where(on_it)).scalar_one()
    c = channel_items.c
    chosen = (
        select(c.link, c.bio, c.qr, c.assigned)
        .add_columns(links.c.title, links.c.host, domains.c.scheme)
        .add_columns(func.coalesce(links.c.alias, bios.c.alias, qrs.c.alias).label("alias"))
        .add_columns(bios.c.name.label("bio_name"), bios.c.title.label("bio_title"), qrs.c.name.label("qr_name"))
        .outerjoin(links, links.c.id == c.link)
        .outerjoin(domains, domains.c.host == links.c.host)
        .outerjoin(bios, bios.c.id == c.bio)
        .outerjoin(qrs, qrs.c.id == c.qr)
        .where(on_it)
        .order_by(c.id.desc())
        .limit(window.limit)
        .offset(window.offset)
    )
    found = tx.execute(chosen).mappings() if window.offset < result else ()
    return Page([_item(row) for row in found], result, window)


@dataclass(frozen=True)
class _Id:
    id: int


def _item(row: Any) -> Item:
    kind: ItemType
    if row["link"] is not None:
        kind, item, title = "links", row["link"], row["title"]
    elif row["bio"] is not None:
        kind, item, title = "bio", row["bio"], row["bio_title"] or row["bio_name"]
    else:
        kind, item, title = "qr", row["qr"], row["qr_name"]
    return Item(kind, item, title, row["host"] or "", row["scheme"], row["alias"], row["assigned"])
