"""Short links."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Literal, Unpack

from sqlalchemy import ColumnElement, Connection, Select, Table, delete, func, insert, select

from waypost import clock
from waypost.db import change_log, crud, page_counters
from waypost.db.crud import Page, PageRequest
from waypost.db.database import upsert
from waypost.db.schema import channel_items, channels, domains, link_pixels, links, pixels, submissions
from waypost.errors import not_found
from waypost.links import dead_links, filters
from waypost.links.columns import Fields, Status, columns, searchable
from waypost.links.filters import ALL, Only
from waypost.settings import Settings
from waypost.urls import alias_namespace, hostnames, validation

Order = Literal["date", "click"]


@dataclass(frozen=True)
class Link:
    """A link as lists show it. `scheme` is that of its branded domain; times are seconds, UTC."""

    id: int
    host: str
    alias: str
    url: str
    title: str
    description: str
    clicks: int
    uniqueclicks: int
    campaign: int | None
    created: int
    scheme: str | None = None
    channel: Sequence[int] = ()


@dataclass(frozen=True)
class Details:
    """What can be set on a link beside what lists show; `password` says whether there is one."""

    status: Status
    type: str
    password: bool
    expiry: int | None
    clicklimit: int | None
    expiryurl: str
    metatitle: str
    metadescription: str
    metaimage: str
    geotarget: Sequence[Mapping[str, str]]
    devicetarget: Sequence[Mapping[str, str]]
    languagetarget: Sequence[Mapping[str, str]]
    deeplink: Mapping[str, str]
    parameters: Sequence[Mapping[str, str]]
    pixels: Sequence[int]


def page(
    tx: Connection, account: int, window: PageRequest, *, order: Order = "date", q: str = "", only: Only = ALL
) -> Page[Link]:
    """The account's links: newest or most clicked first; with `q`, those that have it in their words.

    Newest first costs the same on every page (tallies). By clicks (index links_account_clicks) a page costs as much as
    it is far from the nearer end, and a search or a choice as much as it has matches, since all are counted.
    """
    if q or only != ALL:
        return _search(tx, account, window, order=order, q=q.casefold(), only=only)
    mine = select(links.c.id).where(links.c.account == account)
    result = page_counters.total(tx, account, links.name)
    if window.offset >= result:
        return Page((), result, window)
    if order == "click":
        return Page(listed(tx, _slice(tx, mine, window, result, links.c.clicks, links.c.id)), result, window)
    ceiling, skip = page_counters.locate(tx, account, links.name, window.offset)
    newest = mine.where(links.c.id < ceiling).order_by(links.c.id.desc()).limit(window.limit).offset(skip)
    return Page(listed(tx, tx.execute(newest).scalars().all()), result, window)


def own(tx: Connection, account: int, link: int) -> Link:
    """One link, as lists show it."""
    crud.get_owned(tx, links, account, link, _Id)
    return listed(tx, [link])[0]


def own_by_alias(tx: Connection, account: int, short: str, *, settings: Settings) -> Link:
    """The account's link with that alias or short URL. Raises NOT_FOUND."""
    host, alias = hostnames.split_short(short, settings=settings)
    link = alias_namespace.own(tx, account, "link", host=host, alias=alias)
    if link is None:
        raise not_found("link")
    return own(tx, account, link)


def details(tx: Connection, link: int) -> Details:
    """Everything that is set on a link that went through `own`."""
    row = tx.execute(select(links).where(links.c.id == link)).mappings().one()
    plain = {field.name: row[field.name] for field in fields_of(Details) if field.name in row}
    on = select(link_pixels.c.pixel).where(link_pixels.c.link == link, link_pixels.c.account == row["account"])
    kind = row["type"]
    if kind == "overlay":
        kind = f"overlay-{row['overlay']}" if row["overlay"] else "direct"
    elif kind == "splash" and row["splash"]:
        kind = str(row["splash"])
    told = {
        "type": kind,
        "password": row["password"] is not None,
        "pixels": tx.execute(on.order_by(link_pixels.c.pixel)).scalars().all(),
    }
    return Details(**{**plain, **told})


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> Link:
    """Make a link. Raises INVALID or TAKEN on the field at fault."""
    host = _host(tx, account, fields, settings)
    alias = alias_namespace.pick(tx, host, fields.get("custom"))
    values = {**columns(tx, account, fields, settings), "host": host, "alias": alias}
    link = crud.add(tx, links, account, {**values, "search": searchable(values)})
    alias_namespace.claim(tx, account, "link", link, host=host, alias=alias)
    _relate(tx, account, link, fields)
    return own(tx, account, link)


def change(tx: Connection, account: int, link: int, *, settings: Settings, **fields: Unpack[Fields]) -> Link:
    """Set the given fields; an alias or domain given up stays with the account. Raises as `add`."""
    before = own(tx, account, link)
    host = _host(tx, account, fields, settings) if "domain" in fields else before.host
    alias = fields.get("custom") or before.alias
    if (host, alias) != (before.host, before.alias):
        alias_namespace.release(tx, host=before.host, alias=before.alias)
        alias_namespace.claim(tx, account, "link", link, host=host, alias=alias_namespace.pick(tx, host, alias))
    change_log.record(tx, host, alias)
    if host != before.host and "url" not in fields:
        # Its target may have become a branded domain since: on one itself, the link could go in circles.
        validation.refuse_own(tx, before.url, field="domain", settings=settings)
    values = {**columns(tx, account, fields, settings), "host": host, "alias": alias}
    crud.change(tx, links, account, link, {**values, "search": searchable({**vars(before), **values})})
    dead_links.follow(tx, account, link, old=before.url, new=values.get("url", before.url))
    _relate(tx, account, link, fields)
    return own(tx, account, link)


def remove(tx: Connection, account: int, link: int) -> None:
    """Delete a link; its alias stays with the account, as a tombstone."""
    before = own(tx, account, link)
    alias_namespace.release(tx, host=before.host, alias=before.alias)
    crud.lock_row(tx, links, account, link)
    sent = submissions.c
    tx.execute(submissions.update().where(sent.link == link, sent.account == account).values(link=None))
    crud.remove(tx, links, account, link)


@dataclass(frozen=True)
class _Id:
    id: int


def _host(tx: Connection, account: int, fields: Fields, settings: Settings) -> str:
    domain = fields.get("domain")
    return alias_namespace.OWN if domain is None else hostnames.chosen(tx, account, domain, settings=settings)


def _search(tx: Connection, account: int, window: PageRequest, *, order: Order, q: str, only: Only) -> Page[Link]:
    """`page` of what matches."""
    found = filters.matching(tx, account, q=q, only=only)
    result = int(tx.execute(select(func.count()).select_from(found.subquery())).scalar_one())
    if order == "date":
        ids = _slice(tx, found, window, result, *found.selected_columns)
    else:
        ranked = select(links.c.id).where(links.c.id.in_(found))
        if result > filters.FEW:  # they are walked past by clicks, rather than sorted
            walks = found.selected_columns[0] is links.c.id and only.campaign is None
            ranked = found if walks else ranked.where(links.c.account == account)
        ids = _slice(tx, ranked, window, result, links.c.clicks, links.c.id)
    return Page(listed(tx, ids), result, window)


def _slice(
    tx: Connection, chosen: Select[int], window: PageRequest, result: int, *order: ColumnElement[int]
) -> Sequence[int]:
    """The window of the chosen ids, of which there are `result`, greatest first; counted off from the nearer end."""
    length = min(window.limit, result - window.offset)
    behind = result - window.offset - length
    if length <= 0:
        return ()
    if window.offset <= behind:
        ahead = chosen.order_by(*(part.desc() for part in order)).limit(length).offset(window.offset)
        return tx.execute(ahead).scalars().all()
    return tx.execute(chosen.order_by(*order).limit(length).offset(behind)).scalars().all()[::-1]


def listed(tx: Connection, ids: Sequence[int]) -> list[Link]:
    """The links with these ids, in this order."""
    c = links.c
    shown = (c.id, c.host, c.alias, c.url, c.title, c.description, c.clicks, c.uniqueclicks, c.campaign, c.created)
    chosen = select(*shown, domains.c.scheme).outerjoin(domains, domains.c.host == c.host).where(c.id.in_(ids))
    on = select(channel_items.c.link, channel_items.c.channel).where(channel_items.c.link.in_(ids))
    shelves: dict[int, list[int]] = {}
    for link, channel in tx.execute(on.order_by(channel_items.c.channel)):
        shelves.setdefault(link, []).append(channel)
    found = {row["id"]: Link(**row, channel=shelves.get(row["id"], ())) for row in tx.execute(chosen).mappings()}
    return [found[item] for item in ids]


def _relate(tx: Connection, account: int, link: int, fields: Fields) -> None:
    """Set the link's pixels and channels, where given."""
    if "pixels" in fields:
        wanted = _known(tx, account, fields["pixels"] or (), pixels, "pixels")
        tx.execute(delete(link_pixels).where(link_pixels.c.link == link, link_pixels.c.account == account))
        if wanted:
            tx.execute(insert(link_pixels), [{"link": link, "pixel": one, "account": account} for one in wanted])
    if "channel" in fields:
        given = fields["channel"]
        wanted = _known(tx, account, [given] if isinstance(given, int) else given or (), channels, "channel")
        on = channel_items.c
        tx.execute(delete(channel_items).where(on.link == link, on.account == account, on.channel.not_in(wanted)))
        now = clock.now()
        new = [{"account": account, "link": link, "channel": channel, "assigned": now} for channel in wanted]
        if new:  # where the link stands already, it keeps its place
            tx.execute(upsert(tx, channel_items).values(new).on_conflict_do_nothing())


def _known(tx: Connection, account: int, ids: Iterable[int], table: Table, field: str) -> list[int]:
    wanted = list(dict.fromkeys(ids))
    for item in wanted:
        crud.require_reference(tx, table, account, item, field=field)
    return wanted
