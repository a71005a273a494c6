"""Rules and statements of short links."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any, Literal, TypedDict, Unpack

from sqlalchemy import (
    Connection,
    Integer,
    Label,
    RowMapping,
    String,
    Table,
    bindparam,
    cast,
    delete,
    func,
    insert,
    literal_column,
    select,
)

from waypost.core import clock
from waypost.core.errors import not_found
from waypost.core.settings import Settings
from waypost.db import audit_log, change_log, crud
from waypost.db.database import upsert
from waypost.db.schema import channel_items, channels, domains, link_pixels, links, pixels, submissions
from waypost.db.statements import TypedSelect
from waypost.items.links import dead_links
from waypost.items.links.columns import Fields, Status, search_text, to_columns, url_hash
from waypost.urls import alias_namespace, alias_rules, hostnames

_RELATION_COLUMNS = {"pixels": link_pixels.c.pixel, "channel": channel_items.c.channel}


@dataclass(frozen=True)
class Link:
    """A link as lists show it. `scheme` is the scheme of its branded domain; times are Unix timestamps."""

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


_LISTED_NAMES = tuple(field.name for field in fields_of(Link) if field.name != "channel")
_link = links.c
_WITH_DOMAIN = links.outerjoin(domains, domains.c.host == _link.host)
_COLUMNS = (*(_link[name] for name in _LISTED_NAMES if name in _link), domains.c.scheme)
_IS_OWNED = (_link.id == bindparam("link")) & (_link.account == bindparam("account"))
_RECORDED = audit_log.columns_of(links)
_LOCKED = select(*_RECORDED, domains.c.scheme).select_from(_WITH_DOMAIN).where(_IS_OWNED).with_for_update(of=links)
_SCHEME = select(domains.c.scheme).where(domains.c.host == bindparam("host"))


def _ids_of_link(table: Table, name: str) -> Label[str]:
    """Select the ids in a column of the rows of each link, separated by commas, without a statement of its own."""
    comma: Any = literal_column("','")  # a string would be rendered again at each execution
    ids = func.aggregate_strings(cast(table.c[name], String), comma)
    is_of_link = (table.c.link == _link.id, table.c.account == _link.account)
    return select(ids).where(*is_of_link).scalar_subquery().label(name)


_CHANNELS = _ids_of_link(channel_items, "channel")
_LISTED = select(*_COLUMNS, _CHANNELS).select_from(_WITH_DOMAIN)
_ONE = _LISTED.where(_IS_OWNED)
_MANY = _LISTED.where(_link.account == bindparam("account"), _link.id.in_(bindparam("links", expanding=True)))
_NEWEST = TypedSelect(
    _LISTED.where(_link.account == bindparam("account"), _link.id < bindparam("ceiling"))
    .order_by(_link.id.desc())
    .limit(bindparam("limit", type_=Integer))
    .offset(bindparam("offset", type_=Integer))
)
_PIXELS = _ids_of_link(link_pixels, "pixel")
_DETAILS = TypedSelect(select(links, domains.c.scheme, _CHANNELS, _PIXELS).select_from(_WITH_DOMAIN).where(_IS_OWNED))


@dataclass(frozen=True)
class Address:
    """The id and the address of a link."""

    id: int
    host: str
    alias: str
    scheme: str | None


@dataclass(frozen=True)
class Details:
    """The settings of a link that lists do not show. `password` is true if the link has one."""

    status: Status
    type: str
    password: bool
    importedclicks: int
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
    dropquery: bool
    pixels: Sequence[int]


def get_owned(tx: Connection, account: int, link: int) -> Link:
    """Return one link, as lists show it. Raises NOT_FOUND."""
    row = tx.execute(_ONE, {"link": link, "account": account}).first()
    if row is None:
        raise not_found("link")
    return _from_row(row)


def get_many(tx: Connection, account: int, ids: Sequence[int]) -> list[Link]:
    """Return the account's links with these ids, in this order, without those that do not exist."""
    if not ids:
        return []
    links_by_id = {row[0]: _from_row(row) for row in tx.execute(_MANY, {"links": ids, "account": account}).all()}
    return [links_by_id[link] for link in ids if link in links_by_id]


def get_owned_many(tx: Connection, account: int, ids: Sequence[int]) -> list[Link]:
    """Return the account's links with these ids, in this order. Raises NOT_FOUND if one is missing."""
    owned = get_many(tx, account, ids)
    if len(owned) != len(ids):
        raise not_found("link")
    return owned


def newest(tx: Connection, account: int, *, ceiling: int, limit: int, offset: int) -> list[Link]:
    """Return the account's links with ids below `ceiling`, newest first."""
    rows = _NEWEST.fetch_all(tx, account=account, ceiling=ceiling, limit=limit, offset=offset)
    return [_from_row(row) for row in rows]


def _from_row(row: Sequence[Any]) -> Link:
    """Return the link of a row of `_LISTED`."""
    return Link(**dict(zip(_LISTED_NAMES, row[:-1], strict=True)), channel=_ids(row[-1]))


def _listed(row: Mapping[str, Any]) -> Link:
    return Link(**{name: row[name] for name in _LISTED_NAMES}, channel=_ids(row["channel"]))


def _ids(text: str | None) -> list[int]:
    """Return the ids of `_ids_of_link`, sorted."""
    return sorted(map(int, text.split(","))) if text else []


def find_by_alias(tx: Connection, account: int, short: str, *, settings: Settings) -> int:
    """Return the id of the account's link with an alias or short URL. Raises NOT_FOUND."""
    host, alias = hostnames.split_short(tx, short, settings=settings)
    link = alias_namespace.owned_item(tx, account, "link", host=host, alias=alias)
    if link is None:
        raise not_found("link")
    return link


def get_details(tx: Connection, account: int, link: int) -> tuple[Link, Details]:
    """Return a link and all its settings. Raises NOT_FOUND."""
    row = _DETAILS.fetch_first(tx, link=link, account=account)
    if row is None:
        raise not_found("link")
    values = {field.name: row[field.name] for field in fields_of(Details) if field.name in row}
    if row["type"] == "overlay":
        values["type"] = f"overlay-{row['overlay']}" if row["overlay"] else "direct"
    elif row["type"] == "splash" and row["splash"]:
        values["type"] = str(row["splash"])
    values["password"] = row["password"] is not None
    values["pixels"] = _ids(row["pixel"])
    return _listed(row), Details(**values)


def add(tx: Connection, account: int, *, settings: Settings, **fields: Unpack[Fields]) -> Address:
    """Create a link. Raises INVALID or TAKEN with the field at fault."""
    host = _host(tx, account, fields, settings)
    custom = fields.get("custom")
    alias = alias_rules.generate() if custom is None else alias_rules.check(custom, host=host, field="custom")
    alias = alias_namespace.canonical(tx, host, alias)
    values = {**to_columns(tx, account, fields, settings), "host": host, "alias": alias}
    link = crud.add(tx, links, account, {**values, "search": search_text(values)})
    if custom is not None:
        alias_namespace.claim(tx, account, "link", link, host=host, alias=alias)
    elif (claimed := alias_namespace.claim_generated(tx, account, "link", link, host=host, alias=alias)) != alias:
        alias = claimed
        crud.change(tx, links, account, link, {"alias": alias, "search": search_text({**values, "alias": alias})})
    _set_relations(tx, account, link, **_owned_relations(tx, account, fields))
    return Address(link, host, alias, _scheme(tx, host))


def change(tx: Connection, account: int, link: int, *, settings: Settings, **fields: Unpack[Fields]) -> Address:
    """Set the given fields. A previous alias stays reserved for the account. Raises NOT_FOUND, and errors as `add`."""
    columns = to_columns(tx, account, fields, settings)
    relations = _owned_relations(tx, account, fields)
    before = _lock(tx, account, link)
    host = _host(tx, account, fields, settings) if "domain" in fields else before["host"]
    alias = before["alias"]
    if host != before["host"] or fields.get("custom"):
        alias = alias_rules.check(fields.get("custom") or before["alias"], host=host, field="custom")
        alias = alias_namespace.canonical(tx, host, alias)
    if (host, alias) != (before["host"], before["alias"]):
        alias_namespace.release(tx, host=before["host"], alias=before["alias"])
        alias_namespace.claim(tx, account, "link", link, host=host, alias=alias)
    change_log.record(tx, host, alias)
    if host != before["host"] and "url" not in fields:
        # The destination may be on a branded domain by now: a link on such a domain could cause a redirect loop.
        hostnames.refuse_own(tx, before["url"], field="domain", settings=settings)
    values = {**columns, "host": host, "alias": alias}
    search = search_text({**before, **values})
    crud.change(tx, links, account, link, {**values, "search": search}, before=before)
    dead_links.reset_if_moved(tx, account, link, old=before["url"], new=values.get("url", before["url"]))
    _set_relations(tx, account, link, **relations)
    return Address(link, host, alias, before["scheme"] if host == before["host"] else _scheme(tx, host))


def remove(tx: Connection, account: int, link: int) -> None:
    """Delete a link. Its alias stays reserved for the account."""
    before = _lock(tx, account, link)
    alias_namespace.release(tx, host=before["host"], alias=before["alias"])
    owned_by = (submissions.c.link == link, submissions.c.account == account)
    tx.execute(submissions.update().where(*owned_by).values(link=None))
    crud.remove(tx, links, account, link)


def _lock(tx: Connection, account: int, link: int) -> RowMapping:
    """Lock a link, and return its row with the scheme of its domain. Raises NOT_FOUND."""
    row = tx.execute(_LOCKED, {"link": link, "account": account}).mappings().first()
    if row is None:
        raise not_found("link")
    return row


def _scheme(tx: Connection, host: str) -> str | None:
    """Return the scheme of a branded domain."""
    return tx.execute(_SCHEME, {"host": host}).scalar() if host else None


def _host(tx: Connection, account: int, fields: Fields, settings: Settings) -> str:
    domain = fields.get("domain")
    return alias_namespace.OWN if domain is None else hostnames.resolve_domain(tx, account, domain, settings=settings)


class _Relations(TypedDict, total=False):
    pixel_ids: Sequence[int]
    channel_ids: Sequence[int]


def _owned_relations(tx: Connection, account: int, fields: Fields) -> _Relations:
    """Return the ids of the pixels and channels, where given. Raises INVALID."""
    relations: _Relations = {}
    if "pixels" in fields:
        relations["pixel_ids"] = _owned_ids(tx, account, fields["pixels"] or (), pixels, "pixels")
    if "channel" in fields:
        sent = fields["channel"]
        ids = [sent] if isinstance(sent, int) else sent or ()
        relations["channel_ids"] = _owned_ids(tx, account, ids, channels, "channel")
    return relations


def _set_relations(
    tx: Connection,
    account: int,
    link: int,
    *,
    pixel_ids: Sequence[int] | None = None,
    channel_ids: Sequence[int] | None = None,
) -> None:
    """Replace the link's pixels and channels, where given."""
    if pixel_ids is not None:
        record_relations(tx, account, "pixels", {link: pixel_ids})
        tx.execute(delete(link_pixels).where(link_pixels.c.link == link, link_pixels.c.account == account))
        if pixel_ids:
            tx.execute(insert(link_pixels), [{"link": link, "pixel": pixel, "account": account} for pixel in pixel_ids])
    if channel_ids is not None:
        record_relations(tx, account, "channel", {link: channel_ids})
        c = channel_items.c
        owned_by = (c.link == link, c.account == account)
        tx.execute(delete(channel_items).where(*owned_by, c.channel.not_in(channel_ids)))
        now = clock.now()
        rows = [{"account": account, "link": link, "channel": channel, "assigned": now} for channel in channel_ids]
        if rows:  # a link that is in the channel already keeps its position
            tx.execute(upsert(tx, channel_items).values(rows).on_conflict_do_nothing())


def _owned_ids(tx: Connection, account: int, ids: Iterable[int], table: Table, field: str) -> list[int]:
    """Return the ids without duplicates. Raises INVALID on `field` for an id that the account does not own."""
    distinct = sorted(set(ids))
    for item in distinct:
        crud.require_reference(tx, table, account, item, field=field, lock=True)
    return distinct


def find_by_destination(tx: Connection, account: int, url: str, *, without: int = 0) -> Link | None:
    """Return the newest link to this destination, or None (index links_account_urlhash)."""
    is_same = (links.c.account == account, links.c.urlhash == url_hash(url), links.c.url == url, links.c.id != without)
    query = select(links.c.id).where(*is_same)
    ids = tx.execute(query.order_by(links.c.id.desc()).limit(1)).scalars().all()
    return next(iter(get_many(tx, account, ids)), None)


def duplicate(tx: Connection, account: int, link: int, *, settings: Settings) -> Address:
    """Create a link with the settings of another one and a generated alias. Its clicks and its limit begin at 0.

    The destination is checked like that of a new link. Raises NOT_FOUND, and INVALID as `ops.add`.
    """
    listed, details = get_details(tx, account, link)
    fields: Fields = {
        "url": listed.url,
        "title": listed.title,
        "description": listed.description,
        "campaign": listed.campaign,
        "channel": list(listed.channel),
        "password": tx.execute(select(links.c.password).where(links.c.id == link, links.c.account == account)).scalar(),
        "expiry": None if details.expiry is None else clock.text(details.expiry),
        "clicklimit": details.clicklimit,
        "expiryurl": details.expiryurl,
        "type": details.type,
        "status": details.status,
        "metatitle": details.metatitle,
        "metadescription": details.metadescription,
        "metaimage": details.metaimage,
        "geotarget": [{**rule} for rule in details.geotarget],
        "devicetarget": [{**rule} for rule in details.devicetarget],
        "languagetarget": [{**rule} for rule in details.languagetarget],
        "deeplink": {**details.deeplink},
        "parameters": [{**parameter} for parameter in details.parameters],
        "dropquery": details.dropquery,
        "pixels": list(details.pixels),
    }
    if listed.host:
        fields["domain"] = listed.host
    return add(tx, account, settings=settings, **fields)


def record_relations(
    tx: Connection, account: int, name: Literal["pixels", "channel"], new: Mapping[int, Sequence[int]]
) -> None:
    """Record the links that get other ids, before they do. `new` has all ids of each link."""
    column = _RELATION_COLUMNS[name]
    c = column.table.c
    before: defaultdict[int, set[int]] = defaultdict(set)
    for link, related in tx.execute(select(c.link, column).where(c.account == account, c.link.in_(new))):
        before[link].add(related)
    for link, ids in new.items():
        if before[link] != {*ids}:
            old = {name: sorted(before[link])}
            audit_log.record(tx, account, "link.updated", link, before=old, after={name: [*ids]})
