"""Changes of many links with a fixed number of statements per batch, for bulk requests."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from waypost.db import change_log, crud, edits
from waypost.db.schema import channel_items, domains, link_pixels, links
from waypost.errors import not_found
from waypost.links import creation, dead_links, ops
from waypost.links.columns import Fields, search_text, to_columns
from waypost.links.ops import Address
from waypost.settings import Settings
from waypost.urls import blocklist

Change = tuple[int, Fields]
"""The id of a link and its new fields."""
_MOVE = frozenset({"custom", "domain"})
_BEFORE = select(*(links.c[name] for name in ("id", "host", "alias", "url", "title", "description")), domains.c.scheme)
_UPDATE = update(links).where(links.c.id == bindparam("of_link"), links.c.account == bindparam("of_account"))


def change_each(tx: Connection, account: int, changes: Sequence[Change], *, settings: Settings) -> list[Address]:
    """Change links as separate requests would, or none. Raises what `ops.change` would raise for one of them.

    Those that move to another alias or domain are changed one by one.
    """
    ids = [link for link, _ in changes]
    if len(changes) == 1 or len(set(ids)) < len(ids) or any(fields.keys() & _MOVE for _, fields in changes):
        return [ops.change(tx, account, link, settings=settings, **fields) for link, fields in changes]
    columns = _columns(tx, account, [fields for _, fields in changes], settings)
    before = _lock(tx, account, ids)
    for row in before.values():
        change_log.record(tx, row.host, row.alias)
    _update(tx, account, [(before[link], values) for link, values in zip(ids, columns, strict=True)])
    edits.record(tx, account, "link", *ids)
    moved = [
        link
        for link, values in zip(ids, columns, strict=True)
        if values.get("url", before[link].url) != before[link].url
    ]
    dead_links.reset(tx, account, moved)
    _set_relations(tx, account, changes)
    return [Address(link, before[link].host, before[link].alias, before[link].scheme) for link in ids]


def _columns(tx: Connection, account: int, items: Sequence[Fields], settings: Settings) -> list[dict[str, Any]]:
    """Return the new columns of each link. References are checked once, and locked. Raises INVALID."""
    creation.lock_references(tx, account, items)
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


def _lock(tx: Connection, account: int, ids: Sequence[int]) -> Mapping[int, Any]:
    """Lock and return the links, in the order of their ids, so that two requests cannot wait for each other."""
    query = _BEFORE.select_from(links.outerjoin(domains, domains.c.host == links.c.host))
    query = query.where(links.c.account == account, links.c.id.in_(ids)).order_by(links.c.id)
    rows = {row.id: row for row in tx.execute(query.with_for_update(of=links))}
    if len(rows) < len(ids):
        raise not_found("link")
    return rows


def _update(tx: Connection, account: int, rows: Sequence[tuple[Any, Mapping[str, Any]]]) -> None:
    """Set the columns, with a statement for all links that have the same ones."""
    by_names: defaultdict[frozenset[str], list[dict[str, Any]]] = defaultdict(list)
    for before, values in rows:
        stored = {**crud.with_defaults(links, values), "search": search_text({**before._mapping, **values})}  # noqa: SLF001  # public in SQLAlchemy
        by_names[frozenset(stored)].append({"of_link": before.id, "of_account": account, **stored})
    for parameters in by_names.values():
        tx.execute(_UPDATE, parameters)


def _set_relations(tx: Connection, account: int, changes: Sequence[Change]) -> None:
    """Replace pixels and channels, where given. A link that is in a channel already keeps its position."""
    pixels = {link: creation.references(fields, "pixels") for link, fields in changes if "pixels" in fields}
    channels = {link: creation.references(fields, "channel") for link, fields in changes if "channel" in fields}
    if pixels:
        tx.execute(delete(link_pixels).where(link_pixels.c.account == account, link_pixels.c.link.in_(pixels)))
    by_channels: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for link, ids in channels.items():
        by_channels[tuple(ids)].append(link)
    c = channel_items.c
    for kept, of_links in by_channels.items():
        tx.execute(delete(channel_items).where(c.account == account, c.link.in_(of_links), c.channel.not_in(kept)))
    creation.add_relations(
        tx,
        account,
        ((link, item) for link, ids in pixels.items() for item in ids),
        ((link, item) for link, ids in channels.items() for item in ids),
    )
