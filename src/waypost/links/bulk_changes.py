"""Changes of many links of an account: each is a fixed number of statements, in one transaction."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, update

from waypost import clock
from waypost.db import change_log, crud, edits, page_counters
from waypost.db.database import upsert
from waypost.db.schema import aliases, campaigns, channel_items, channels, links, submissions
from waypost.errors import not_found
from waypost.links import ops
from waypost.links.columns import Status

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
    rows = [{"account": account, "channel": channel, "link": link.id, "assigned": now} for link in locked]
    if rows:
        tx.execute(upsert(tx, channel_items).on_conflict_do_nothing(), rows)


def remove_channel(tx: Connection, account: int, ids: Collection[int], channel: int) -> None:
    """Remove the links from a channel, if they are in it. Raises INVALID, and NOT_FOUND as `set_status`."""
    crud.require_reference(tx, channels, account, channel, field="channel", lock=True)
    c, locked = channel_items.c, _lock(tx, account, ids)
    is_selected = c.link.in_([link.id for link in locked])
    tx.execute(delete(channel_items).where(c.channel == channel, c.account == account, is_selected))


def set_expiry(tx: Connection, account: int, ids: Collection[int], expiry: int | None) -> None:
    """Set the last second of the links, or none. Raises NOT_FOUND as `set_status`."""
    _update(tx, account, ids, {"expiry": expiry})


def remove(tx: Connection, account: int, ids: Collection[int]) -> None:
    """Delete the links. Their aliases stay reserved for the account. Raises NOT_FOUND as `set_status`."""
    locked = _lock(tx, account, ids)
    if not locked:
        return
    tx.execute(_RELEASE, [{"link_host": link.host, "link_alias": link.alias} for link in locked])
    is_selected = links.c.id.in_([link.id for link in locked])
    tx.execute(
        update(submissions)
        .where(submissions.c.account == account, submissions.c.link.in_([link.id for link in locked]))
        .values(link=None)
    )
    tx.execute(delete(links).where(links.c.account == account, is_selected))
    _record(tx, locked)
    with page_counters.in_one_batch(tx):
        for link in locked:
            page_counters.increment(tx, account, links.name, link.id, -1)


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
    is_selected = links.c.id.in_([link.id for link in locked])
    tx.execute(update(links).where(links.c.account == account, is_selected).values(values))
    edits.record(tx, account, "link", *(link.id for link in locked))
    _record(tx, locked)


def _lock(tx: Connection, account: int, ids: Collection[int]) -> Sequence[Any]:
    """Lock and return the links, in the order of their ids so that two requests cannot wait for each other."""
    query = select(links.c.id, links.c.host, links.c.alias).where(links.c.account == account, links.c.id.in_(set(ids)))
    locked = tx.execute(query.order_by(links.c.id).with_for_update()).all()
    if len(locked) != len(set(ids)):
        raise not_found("link")
    return locked


def _record(tx: Connection, locked: Sequence[Any]) -> None:
    with change_log.in_one_batch(tx):
        for link in locked:
            change_log.record(tx, link.host, link.alias)
