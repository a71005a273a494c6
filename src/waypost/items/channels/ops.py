"""Channels: named groups of links, bio pages and QR codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import Connection, Table, and_, func, literal, select, true

from waypost.core import clock
from waypost.core.errors import taken
from waypost.db import audit_log, crud
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import bios, channel_items, channels, domains, links, qrs
from waypost.db.schema.nouns import NOUNS
from waypost.search import items as searchable
from waypost.search.words import Word

ItemType = Literal["links", "bio", "qr"]
_TAKEN = crud.name_errors(channels, taken("name", "You already have a channel with this name."))
# Item types of channels, each with its column and table.
_COLUMN_AND_TABLE: dict[str, tuple[str, Table]] = {"links": ("link", links), "bio": ("bio", bios), "qr": ("qr", qrs)}


@dataclass(frozen=True)
class Channel:
    """A channel; `color` is `#RRGGBB`."""

    id: int
    name: str
    description: str
    color: str
    starred: bool


@dataclass(frozen=True)
class Totals:
    """The number of items of a channel, and the sum of their clicks, visits and scans of all time."""

    items: int = 0
    visits: int = 0


@dataclass(frozen=True)
class Item:
    """An item of a channel. `title` may be empty; `host` is "" on the service's own; times are seconds, UTC."""

    type: ItemType
    id: int
    title: str
    host: str
    scheme: str | None
    alias: str
    assigned: int


@dataclass(frozen=True)
class Candidate:
    """An item that is not on the channel; `host` is "" on the service's own."""

    type: ItemType
    id: int
    title: str
    host: str
    scheme: str | None
    alias: str


class Fields(TypedDict, total=False):
    """The settable fields; `None` is the default of a field."""

    name: str
    description: str | None
    color: str | None
    starred: bool | None


def page(tx: Connection, account: int, window: PageRequest) -> Page[Channel]:
    """The account's channels."""
    return crud.page(tx, channels, account, window, Channel)


def get_owned(tx: Connection, account: int, channel: int) -> Channel:
    """One channel."""
    return crud.get_owned(tx, channels, account, channel, Channel)


def add(tx: Connection, account: int, **fields: Unpack[Fields]) -> Channel:
    """Create a channel. Raises TAKEN on `name`."""
    return get_owned(tx, account, crud.add(tx, channels, account, fields, _TAKEN))


def change(tx: Connection, account: int, channel: int, **fields: Unpack[Fields]) -> Channel:
    """Set the given fields. Raises TAKEN on `name`."""
    crud.change(tx, channels, account, channel, fields, _TAKEN)
    return get_owned(tx, account, channel)


def remove(tx: Connection, account: int, channel: int) -> None:
    """Delete a channel and keep its items."""
    crud.remove(tx, channels, account, channel)


def assign(tx: Connection, account: int, channel: int, kind: ItemType, item: int) -> None:
    """Add an item to a channel; idempotent."""
    column, table = _COLUMN_AND_TABLE[kind]
    crud.lock_row(tx, channels, account, channel, shared=True)
    crud.lock_row(tx, table, account, item, shared=True)
    assignment = {"account": account, "channel": channel, "assigned": clock.now(), column: item}
    added = upsert(tx, channel_items).values(assignment).on_conflict_do_nothing().returning(channel_items.c.channel)
    if tx.execute(added).first() is not None:
        audit_log.record(tx, account, "channel.item_added", channel, after={column: item})


def unassign(tx: Connection, account: int, channel: int, kind: ItemType, item: int) -> None:
    """Remove an item from a channel; no error if it is not on it."""
    get_owned(tx, account, channel)
    c = channel_items.c
    column, _ = _COLUMN_AND_TABLE[kind]
    removal = channel_items.delete().where(c.channel == channel, c.account == account, c[column] == item)
    if tx.execute(removal).rowcount:
        audit_log.record(tx, account, "channel.item_removed", channel, before={column: item})


def totals(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, Totals]:
    """Return the totals per channel by one statement; empty channels are missing (index channel_items_channel_id)."""
    c = channel_items.c
    visits = func.coalesce(links.c.clicks, bios.c.clicks, qrs.c.scans, 0)
    query = (
        select(c.channel, func.count(), func.sum(visits))
        .outerjoin(links, and_(links.c.id == c.link, links.c.account == c.account))
        .outerjoin(bios, and_(bios.c.id == c.bio, bios.c.account == c.account))
        .outerjoin(qrs, and_(qrs.c.id == c.qr, qrs.c.account == c.account))
        .where(c.channel.in_(ids), c.account == account)
        .group_by(c.channel)
    )
    return {channel: Totals(items, int(n)) for channel, items, n in tx.execute(query)} if ids else {}


def candidates(
    tx: Connection, account: int, channel: int, kind: ItemType, limit: int, *, words: Sequence[Word] = ()
) -> list[Candidate]:
    """Return the newest items of a type that are not on the channel and match all words of a search."""
    get_owned(tx, account, channel)
    column, table = _COLUMN_AND_TABLE[kind]
    c, assigned_item = table.c, channel_items.c[column]
    title = func.coalesce(func.nullif(c.title, ""), c.name) if kind == "bio" else c.name if kind == "qr" else c.title
    is_assigned = (channel_items.c.channel == channel, channel_items.c.account == account, assigned_item.is_not(None))
    assigned = select(assigned_item).where(*is_assigned)
    unassigned = (c.account == account) & c.id.not_in(assigned)
    if kind == "links":
        unassigned &= and_(true(), *(word.link_condition(links) for word in words))
    else:
        unassigned &= searchable.matches(tx, NOUNS[kind], words)
    host = c.host if kind == "links" else literal("")
    scheme = select(domains.c.scheme).where(domains.c.host == host).scalar_subquery()
    newest = select(c.id, title, host, scheme, c.alias).where(unassigned).order_by(c.id.desc())
    return [Candidate(kind, *row) for row in tx.execute(newest.limit(limit))]


def items(tx: Connection, account: int, channel: int, window: PageRequest) -> Page[Item]:
    """Return the items of a channel, latest assignment first (index channel_items_channel_id)."""
    get_owned(tx, account, channel)
    c = channel_items.c
    of_channel = and_(c.channel == channel, c.account == account)
    total = tx.execute(select(func.count()).select_from(channel_items).where(of_channel)).scalar_one()
    query = (
        select(c.link, c.bio, c.qr, c.assigned)
        .add_columns(links.c.title, links.c.host, domains.c.scheme)
        .add_columns(func.coalesce(links.c.alias, bios.c.alias, qrs.c.alias).label("alias"))
        .add_columns(bios.c.name.label("bio_name"), bios.c.title.label("bio_title"), qrs.c.name.label("qr_name"))
        .outerjoin(links, and_(links.c.id == c.link, links.c.account == c.account))
        .outerjoin(domains, domains.c.host == links.c.host)
        .outerjoin(bios, and_(bios.c.id == c.bio, bios.c.account == c.account))
        .outerjoin(qrs, and_(qrs.c.id == c.qr, qrs.c.account == c.account))
        .where(of_channel)
        .order_by(c.id.desc())
        .limit(window.limit)
        .offset(window.offset)
    )
    rows = tx.execute(query).mappings() if window.offset < total else ()
    return Page([_item(row) for row in rows], total, window)


def _item(row: Any) -> Item:
    kind: ItemType
    if row["link"] is not None:
        kind, item, title = "links", row["link"], row["title"]
    elif row["bio"] is not None:
        kind, item, title = "bio", row["bio"], row["bio_title"] or row["bio_name"]
    else:
        kind, item, title = "qr", row["qr"], row["qr_name"]
    return Item(kind, item, title, row["host"] or "", row["scheme"], row["alias"], row["assigned"])
