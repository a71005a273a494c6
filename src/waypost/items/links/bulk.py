"""Creation, changes and deletion of many links, with a fixed number of statements for each batch."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update

from waypost.core import clock
from waypost.core.errors import not_found, taken
from waypost.core.settings import Settings
from waypost.db import audit_log, change_log, crud, page_counters
from waypost.db.database import upsert
from waypost.db.schema import (
    aliases,
    campaigns,
    channel_items,
    channels,
    domains,
    link_pixels,
    links,
    pixels,
    submissions,
)
from waypost.items.links import dead_links, ops
from waypost.items.links.columns import Fields, Status, search_text, to_columns
from waypost.items.links.ops import Address
from waypost.urls import alias_namespace, alias_rules, blocklist, hostnames

Name = tuple[str, str]
"""The host and the alias of a link."""
_DEFAULTS = {column.name: getattr(column.default, "arg", None) for column in links.c if column.name != "id"}
"""Every column: all rows of a statement have the same ones."""
_INSERT = insert(links).returning(links.c.id, links.c.host, links.c.alias)


def add_many(tx: Connection, account: int, items: Sequence[Fields], *, settings: Settings) -> list[Address]:
    """Create links in one batch, or none. Raises what `ops.add` would raise for one of them."""
    if len(items) == 1:
        return [ops.add(tx, account, settings=settings, **items[0])]
    hosts = _resolve_hosts(tx, account, items, settings)
    branded = lock_domains(tx, account, {host for host in hosts if host})
    with blocklist.preloaded(tx, (fields["url"] for fields in items), settings=settings):
        rows = [
            _row(tx, account, fields, host, settings, ignores_case=host in branded and branded[host].ignorecase)
            for fields, host in zip(items, hosts, strict=True)
        ]
    lock_references(tx, account, items)
    names = [(row["host"], row["alias"]) for row in rows]
    ids = insert_many(tx, account, rows) if len(set(names)) == len(names) else {}
    if len(ids) < len(names):
        raise taken("custom", alias_namespace.TAKEN)
    created = [ids[name] for name in names]
    pairs = list(zip(created, items, strict=True))
    add_relations(
        tx,
        account,
        ((link, item) for link, fields in pairs for item in references(fields, "pixels")),
        ((link, item) for link, fields in pairs for item in references(fields, "channel")),
    )
    for host, alias in names:
        change_log.record(tx, host, alias)
    schemes = {host: domain.scheme for host, domain in branded.items()}
    return [Address(ids[host, alias], host, alias, schemes.get(host)) for host, alias in names]


def _resolve_hosts(tx: Connection, account: int, items: Sequence[Fields], settings: Settings) -> list[str]:
    """Return the host of each link, with one statement for each distinct domain. Raises INVALID."""
    sent = {fields.get("domain") for fields in items}
    hosts = {
        domain: hostnames.resolve_domain(tx, account, domain, settings=settings) if domain is not None else ""
        for domain in sent
    }
    return [hosts[fields.get("domain")] for fields in items]


def _row(
    tx: Connection, account: int, fields: Fields, host: str, settings: Settings, *, ignores_case: bool
) -> dict[str, Any]:
    """Return all columns of a new link. Its campaign is checked by the caller."""
    custom = fields.get("custom")
    alias = alias_rules.generate() if custom is None else alias_rules.check(custom, host=host, field="custom")
    without_campaign: Any = {name: value for name, value in fields.items() if name != "campaign"}
    columns = {**to_columns(tx, account, without_campaign, settings), "campaign": fields.get("campaign")}
    row = {**_DEFAULTS, **{name: value for name, value in columns.items() if value is not None}}
    row |= {"host": host, "alias": alias_rules.fold_case(alias) if ignores_case else alias}
    return {**row, "account": account, "created": clock.now(), "search": search_text(row)}


def lock_references(tx: Connection, account: int, items: Sequence[Fields]) -> None:
    """Check every campaign, channel and pixel once, and keep it from being deleted until the commit. Raises INVALID."""
    for table, field in ((campaigns, "campaign"), (channels, "channel"), (pixels, "pixels")):
        for item in sorted({item for fields in items for item in references(fields, field)}):
            crud.require_reference(tx, table, account, item, field=field, lock=True)


def references(fields: Fields, name: str) -> list[int]:
    """Return the distinct ids in a field, which has one id, several or none."""
    value: Any = fields.get(name)
    return sorted({value} if isinstance(value, int) else set(value or ()))


def insert_many(tx: Connection, account: int, rows: Sequence[Mapping[str, Any]]) -> dict[Name, int]:
    """Insert links with their aliases, of which no two are the same. Return the ids by host and alias.

    All rows must have the same columns. A link whose alias is taken is not inserted. The caller records the changes.
    Raises INVALID above the limit of the account's plan.
    """
    # In the order of the rows, SQLite would need a statement for each of them.
    ids = {(host, alias): link for link, host, alias in tx.execute(_INSERT, rows)}
    claimed = alias_namespace.claim_many(tx, account, "link", ids)
    taken = [link for name, link in ids.items() if name not in claimed]
    if taken:
        tx.execute(delete(links).where(links.c.id.in_(taken), links.c.account == account))
    created = {name: link for name, link in ids.items() if name in claimed}
    for link in created.values():
        page_counters.increment(tx, account, links.name, link, 1)
    crud.check_item_limit(tx, account, links, crud.item_limit(tx, account))
    for row in rows:
        if (link := created.get((row["host"], row["alias"]))) is not None:
            audit_log.item_created(tx, links, account, link, row)
    return created


def lock_domains(tx: Connection, account: int, hosts: Collection[str]) -> dict[str, Any]:
    """Return `scheme` and `ignorecase` of branded domains of the account, which do not change until the commit."""
    c = domains.c
    query = select(c.host, c.scheme, c.ignorecase).where(c.account == account, c.host.in_(hosts)).order_by(c.host)
    return {row.host: row for row in tx.execute(query.with_for_update(read=True))} if hosts else {}


def add_relations(
    tx: Connection, account: int, pixels: Iterable[tuple[int, int]], channels: Iterable[tuple[int, int]]
) -> None:
    """Add pixels and channels to new links: pairs of the id of a link and that of a pixel or channel."""
    if values := [{"link": link, "pixel": pixel, "account": account} for link, pixel in pixels]:
        tx.execute(insert(link_pixels), values)
    now = clock.now()
    items = [{"account": account, "link": link, "channel": item, "assigned": now} for link, item in channels]
    if items:
        tx.execute(upsert(tx, channel_items).on_conflict_do_nothing(), items)


Change = tuple[int, Fields]
"""The id of a link and its new fields."""
_MOVE = frozenset({"custom", "domain"})
_RECORDED = audit_log.columns_of(links)
_BEFORE = select(*_RECORDED, domains.c.scheme)
_UPDATE = update(links).where(links.c.id == bindparam("of_link"), links.c.account == bindparam("of_account"))


def change_each(tx: Connection, account: int, changes: Sequence[Change], *, settings: Settings) -> list[Address]:
    """Change links as separate requests would, or none. Raises what `ops.change` would raise for one of them.

    Those that move to another alias or domain are changed one by one.
    """
    ids = [link for link, _ in changes]
    if len(changes) == 1 or len(set(ids)) < len(ids) or any(fields.keys() & _MOVE for _, fields in changes):
        return [ops.change(tx, account, link, settings=settings, **fields) for link, fields in changes]
    columns = _columns(tx, account, [fields for _, fields in changes], settings)
    before = _lock_each(tx, account, ids)
    for row in before.values():
        change_log.record(tx, row["host"], row["alias"])
    _update_each(tx, account, [(before[link], values) for link, values in zip(ids, columns, strict=True)])
    urls = {link: row["url"] for link, row in before.items()}
    moved = [link for link, values in zip(ids, columns, strict=True) if values.get("url", urls[link]) != urls[link]]
    dead_links.reset(tx, account, moved)
    _set_relations(tx, account, changes)
    return [Address(**{name: before[link][name] for name in ("id", "host", "alias", "scheme")}) for link in ids]


def _columns(tx: Connection, account: int, items: Sequence[Fields], settings: Settings) -> list[dict[str, Any]]:
    """Return the new columns of each link. References are checked once, and locked. Raises INVALID."""
    lock_references(tx, account, items)
    types = {
        kind: to_columns(tx, account, {"type": kind}, settings) for kind in {f["type"] for f in items if "type" in f}
    }
    urls = [str(url) for fields in items for name in ("url", "expiryurl") if (url := fields.get(name))]
    columns = []
    with blocklist.preloaded(tx, urls, settings=settings):
        for fields in items:
            others: Any = {name: value for name, value in fields.items() if name not in ("campaign", "type")}
            campaign = {"campaign": fields["campaign"]} if "campaign" in fields else {}
            kind = types[fields["type"]] if "type" in fields else {}
            columns.append({**to_columns(tx, account, others, settings), **campaign, **kind})
    return columns


def _lock_each(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, RowMapping]:
    """Lock and return the links, in the order of their ids, so that two requests cannot wait for each other."""
    query = _BEFORE.select_from(links.outerjoin(domains, domains.c.host == links.c.host))
    query = query.where(links.c.account == account, links.c.id.in_(ids)).order_by(links.c.id)
    rows = {row["id"]: row for row in tx.execute(query.with_for_update(of=links)).mappings()}
    if len(rows) < len(ids):
        raise not_found("link")
    return rows


def _update_each(tx: Connection, account: int, rows: Sequence[tuple[RowMapping, Mapping[str, Any]]]) -> None:
    """Set the columns, with a statement for all links that have the same ones."""
    by_names: defaultdict[frozenset[str], list[dict[str, Any]]] = defaultdict(list)
    for before, values in rows:
        stored = {**crud.with_defaults(links, values), "search": search_text({**before, **values})}
        by_names[frozenset(stored)].append({"of_link": before["id"], "of_account": account, **stored})
        audit_log.item_updated(tx, links, account, before["id"], before, stored)
    for parameters in by_names.values():
        tx.execute(_UPDATE, parameters)


def _set_relations(tx: Connection, account: int, changes: Sequence[Change]) -> None:
    """Replace pixels and channels, where given. A link that is in a channel already keeps its position."""
    pixels = {link: references(fields, "pixels") for link, fields in changes if "pixels" in fields}
    channels = {link: references(fields, "channel") for link, fields in changes if "channel" in fields}
    if channels:
        ops.record_relations(tx, account, "channel", channels)
    if pixels:
        ops.record_relations(tx, account, "pixels", pixels)
        tx.execute(delete(link_pixels).where(link_pixels.c.account == account, link_pixels.c.link.in_(pixels)))
    by_channels: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for link, ids in channels.items():
        by_channels[tuple(ids)].append(link)
    c = channel_items.c
    for kept, of_links in by_channels.items():
        tx.execute(delete(channel_items).where(c.account == account, c.link.in_(of_links), c.channel.not_in(kept)))
    add_relations(
        tx,
        account,
        ((link, item) for link, ids in pixels.items() for item in ids),
        ((link, item) for link, ids in channels.items() for item in ids),
    )


_RELEASE = (
    update(aliases)
    .where(aliases.c.host == bindparam("link_host"), aliases.c.alias == bindparam("link_alias"))
    .values(kind=None, item=None)
)


def set_status(tx: Connection, account: int, ids: Collection[int], status: Status) -> None:
    """Set the status of the links. Raises NOT_FOUND if one of them does not exist."""
    _update(tx, account, ids, {"status": status})


def set_campaign(tx: Connection, account: int, ids: Collection[int], campaign: int | None) -> None:
    """Move the links to a campaign, or out of every campaign. Raises INVALID, and NOT_FOUND as `set_status`."""
    if campaign is not None:
        crud.require_reference(tx, campaigns, account, campaign, field="campaign", lock=True)
    _update(tx, account, ids, {"campaign": campaign})


def add_channel(tx: Connection, account: int, ids: Collection[int], channel: int) -> None:
    """Add the links to a channel. Raises INVALID, and NOT_FOUND as `set_status`."""
    crud.require_reference(tx, channels, account, channel, field="channel", lock=True)
    now = clock.now()
    locked = _lock(tx, account, ids)
    rows = [{"account": account, "channel": channel, "link": link["id"], "assigned": now} for link in locked]
    if not rows:
        return
    added = upsert(tx, channel_items).on_conflict_do_nothing().returning(channel_items.c.link)
    for link in sorted(tx.execute(added, rows).scalars()):
        audit_log.record(tx, account, "channel.item_added", channel, after={"link": link})


def remove_channel(tx: Connection, account: int, ids: Collection[int], channel: int) -> None:
    """Remove the links from a channel, if they are in it. Raises INVALID, and NOT_FOUND as `set_status`."""
    crud.require_reference(tx, channels, account, channel, field="channel", lock=True)
    c, locked = channel_items.c, _lock(tx, account, ids)
    is_selected = c.link.in_([link["id"] for link in locked])
    removed = delete(channel_items).where(c.channel == channel, c.account == account, is_selected).returning(c.link)
    for link in sorted(tx.execute(removed).scalars()):
        audit_log.record(tx, account, "channel.item_removed", channel, before={"link": link})


def set_expiry(tx: Connection, account: int, ids: Collection[int], expiry: int | None) -> None:
    """Set the last second of the links, or none. Raises NOT_FOUND as `set_status`."""
    _update(tx, account, ids, {"expiry": expiry})


def remove(tx: Connection, account: int, ids: Collection[int]) -> None:
    """Delete the links. Their aliases stay reserved for the account. Raises NOT_FOUND as `set_status`."""
    locked = _lock(tx, account, ids)
    if not locked:
        return
    tx.execute(_RELEASE, [{"link_host": link["host"], "link_alias": link["alias"]} for link in locked])
    is_selected = links.c.id.in_([link["id"] for link in locked])
    tx.execute(
        update(submissions)
        .where(submissions.c.account == account, submissions.c.link.in_([link["id"] for link in locked]))
        .values(link=None)
    )
    tx.execute(delete(links).where(links.c.account == account, is_selected))
    for link in locked:
        audit_log.item_deleted(tx, links, account, link["id"], link)
    _record(tx, locked)
    with page_counters.in_one_batch(tx):
        for link in locked:
            page_counters.increment(tx, account, links.name, link["id"], -1)


def remove_each(tx: Connection, account: int, ids: Sequence[int]) -> Sequence[None]:
    """Delete links as separate requests would. Raises NOT_FOUND if one of them does not exist, or is there twice."""
    if len(ids) == 1:
        ops.remove(tx, account, ids[0])
    elif len(set(ids)) < len(ids):
        raise not_found("link")
    else:
        remove(tx, account, ids)
    return [None] * len(ids)


def _update(tx: Connection, account: int, ids: Collection[int], values: dict[str, Any]) -> None:
    locked = _lock(tx, account, ids)
    is_selected = links.c.id.in_([link["id"] for link in locked])
    tx.execute(update(links).where(links.c.account == account, is_selected).values(values))
    for link in locked:
        audit_log.item_updated(tx, links, account, link["id"], link, values)
    _record(tx, locked)


def _lock(tx: Connection, account: int, ids: Collection[int]) -> Sequence[RowMapping]:
    """Lock and return the links, in the order of their ids so that two requests cannot wait for each other."""
    query = select(*_RECORDED).where(links.c.account == account, links.c.id.in_(set(ids)))
    locked = tx.execute(query.order_by(links.c.id).with_for_update()).mappings().all()
    if len(locked) != len(set(ids)):
        raise not_found("link")
    return locked


def _record(tx: Connection, locked: Sequence[RowMapping]) -> None:
    with change_log.in_one_batch(tx):
        for link in locked:
            change_log.record(tx, link["host"], link["alias"])
