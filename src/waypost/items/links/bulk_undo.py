"""Undo of bulk actions: the values that an action of the dashboard replaced, kept for a day."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Connection, RowMapping, delete, func, insert, select

from waypost.core import clock
from waypost.core.errors import Problem, not_found
from waypost.core.settings import Settings
from waypost.db import account_rows, change_log
from waypost.db.schema import link_undos, links
from waypost.items.links import bulk, ops

_KEPT = 3
"""Actions of an account that can be undone: the last ones, in several tabs."""
_SETTERS: Mapping[str, Callable[[Connection, int, Sequence[int], Any], None]] = {
    "status": bulk.set_status,
    "campaign": bulk.set_campaign,
    "expiry": bulk.set_expiry,
}
_CHANNEL_CHANGES: Mapping[str, Callable[[Connection, int, Sequence[int], int], None]] = {
    "add": bulk.remove_channel,
    "remove": bulk.add_channel,
}


@dataclass(frozen=True)
class Replaced:
    """The values that an action replaced.

    `kind` is the column `status`, `campaign` or `expiry`, `url` or `address`, or `add` or `remove` for a channel.
    `value` is the new value of the column, or the channel. `rows` have the id of a link, then the previous and, for
    `url` and `address`, the new values.
    """

    kind: str
    value: Any
    rows: Sequence[Sequence[Any]]


class Undone(NamedTuple):
    """The number of links that got their values back, and of those that did not."""

    restored: int
    kept: int
    more_remain: bool


def store(tx: Connection, account: int, replaced: Replaced, batch: str = "") -> str:
    """Keep the values; return the batch that undoes the action, "" if it changed nothing.

    `batch` is that of the links which the same action has changed before.
    """
    if not replaced.rows:
        return batch
    account_rows.lock(tx, account)
    c, batch = link_undos.c, batch or secrets.token_hex(16)
    content = {"kind": replaced.kind, "value": replaced.value, "rows": replaced.rows}
    tx.execute(insert(link_undos).values(account=account, batch=batch, created=clock.now(), content=content))
    newest = select(c.batch).where(c.account == account).group_by(c.batch).order_by(func.max(c.id).desc()).limit(_KEPT)
    kept = tx.execute(newest).scalars().all()
    tx.execute(delete(link_undos).where(c.account == account, c.batch.not_in(kept)))
    return batch


def undo(tx: Connection, account: int, batch: str, *, settings: Settings) -> Undone:
    """Restore the values of one action, of as many links as one transaction changes.

    Links that were deleted or changed again keep their values. Raises NOT_FOUND for an unknown batch, and after a day.
    """
    account_rows.lock(tx, account)
    c = link_undos.c
    is_batch = (c.account == account, c.batch == batch)
    rows = tx.execute(select(c.id, c.content).where(*is_batch).order_by(c.id).limit(2).with_for_update()).all()
    if not rows:
        raise not_found("change")
    tx.execute(delete(link_undos).where(*is_batch, c.id == rows[0].id))
    replaced = Replaced(**rows[0].content)
    with change_log.in_one_batch(tx):
        restored = _restore(tx, account, replaced, settings)
    return Undone(restored, len(replaced.rows) - restored, more_remain=len(rows) > 1)


def _restore(tx: Connection, account: int, replaced: Replaced, settings: Settings) -> int:
    if replaced.kind in _SETTERS:
        return _restore_column(tx, account, replaced)
    current = _current(tx, account, replaced)
    if replaced.kind in _CHANNEL_CHANGES:
        ids = [row[0] for row in replaced.rows if row[0] in current]
        return (
            len(ids) if _is_done(tx, lambda: _CHANNEL_CHANGES[replaced.kind](tx, account, ids, replaced.value)) else 0
        )
    restored = 0
    for link, *values in replaced.rows:
        old, new = values[: len(values) // 2], values[len(values) // 2 :]
        names = ("url",) if replaced.kind == "url" else ("host", "alias")
        if replaced.kind == "url":
            fields = {"url": old[0]}
        else:
            fields = {"domain": old[0] or settings.own_host, "custom": old[1]}
        is_same = link in current and [current[link][name] for name in names] == new
        if is_same and _is_done(tx, partial(ops.change, tx, account, link, settings=settings, **fields)):
            restored += 1
    return restored


def _restore_column(tx: Connection, account: int, replaced: Replaced) -> int:
    current = _current(tx, account, replaced)
    ids_by_value: dict[Any, list[int]] = defaultdict(list)
    for link, old in replaced.rows:
        if link in current and current[link][replaced.kind] == replaced.value:
            ids_by_value[old].append(link)
    restored = 0
    for value, ids in ids_by_value.items():
        if _is_done(tx, partial(_SETTERS[replaced.kind], tx, account, ids, value)):
            restored += len(ids)
    return restored


def _current(tx: Connection, account: int, replaced: Replaced) -> Mapping[int, RowMapping]:
    """Return the present values of the links, locked in the order of their ids."""
    c = links.c
    query = select(c.id, c.status, c.campaign, c.expiry, c.url, c.host, c.alias).where(c.account == account)
    query = query.where(c.id.in_([row[0] for row in replaced.rows])).order_by(c.id).with_for_update()
    return {row["id"]: row for row in tx.execute(query).mappings()}


def _is_done(tx: Connection, work: Callable[[], object]) -> bool:
    """Run `work`; undo it and return False if the value cannot be restored any more, such as a deleted campaign."""
    try:
        with tx.begin_nested():
            work()
    except Problem:
        return False
    return True
