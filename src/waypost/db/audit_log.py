"""The audit log: one row for each event, written in the transaction of the change (ADR 19).

`record` keeps an event until the end of the transaction; `Database.write` then inserts all of them, with one statement
and with the actor. So a rollback has no event, and several changes of one thing in a transaction are one event. Rows
are deleted only by their age or with their account, and get nothing but their position later (`audit_sequence.py`).
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Column, Connection, Engine, LargeBinary, Table, bindparam, insert, select
from sqlalchemy import event as engine_events

from waypost.core import clock
from waypost.core.actor import Actor, current
from waypost.db.item_columns import name_of
from waypost.db.schema import audit, shares, webhook_endpoints
from waypost.db.schema.nouns import NOUNS
from waypost.db.statements import DriverChange

Values = Mapping[Any, Any]
CREATED, UPDATED, DELETED, RESTORED = "created", "updated", "deleted", "restored"
_MAX_VALUE = 65_536
"""Characters of a value as JSON; a longer one is stored as its length and hash."""
_MAX_LABEL = 200
_DERIVED = {"search", "version", "visits"}
"""Columns that change with others, or with each save."""
_KINDS: Mapping[str, str] = {
    **{noun.table.name: noun.kind for noun in NOUNS.values()},
    shares.name: "share",
    webhook_endpoints.name: "webhook",
}
SHARED = ("link", "qr", "bio", "campaign")
"""The columns of share links with the items that they show, which are kinds; those of a whole account have none."""


@dataclass(frozen=True)
class Event:
    """Something that happened: `verb` to an item of `kind`. `before` and `after` have the values of its columns."""

    verb: str
    account: int | None
    kind: str
    item: int | None = None
    label: str = ""
    before: Values | None = None
    after: Values | None = None


_pending: WeakKeyDictionary[Connection, list[Event]] = WeakKeyDictionary()
_savepoints: WeakKeyDictionary[Connection, list[int]] = WeakKeyDictionary()
"""By transaction, the number of events that were recorded before each open savepoint."""


def item_created(tx: Connection, table: Table, account: int, item: int, row: Values) -> None:
    """Record a new row of an item or share link."""
    _add(tx, _event(tx, CREATED, table, account, item, after=row))


def item_updated(tx: Connection, table: Table, account: int, item: int, before: Values, after: Values) -> None:
    """Record new values of an item, if any differs. `before` has at least those of `columns_of` that change."""
    changed = {name: value for name, value in after.items() if name not in before or before[name] != value}
    if not changed.keys() - _DERIVED:
        return
    old = {name: before[name] for name in changed if name in before}
    label = _label(tx, table, account, {**before, **after})
    kind = _KINDS[table.name]
    _add(tx, Event(UPDATED, account, kind, item, label, _shown(table, old), _shown(table, changed)))


def item_deleted(tx: Connection, table: Table, account: int, item: int, row: Values) -> None:
    """Record the deletion of an item. `row` has the values of `columns_of`."""
    _add(tx, _event(tx, DELETED, table, account, item, before=row))


def item_restored(tx: Connection, table: Table, account: int, item: int, row: Values) -> None:
    """Record that a deleted item is back."""
    _add(tx, _event(tx, RESTORED, table, account, item, after=row))


def record(
    tx: Connection,
    account: int | None,
    name: str,
    item: int | None = None,
    *,
    label: str = "",
    before: Values | None = None,
    after: Values | None = None,
) -> None:
    """Record an event of something that is no item, such as `key.created`; without an account, of the installation."""
    kind, _, verb = name.partition(".")
    bounded = ({key: _bounded(value) for key, value in row.items()} if row else None for row in (before, after))
    _add(tx, Event(verb, account, kind, item, label[:_MAX_LABEL], *bounded))


def _add(tx: Connection, event: Event) -> None:
    """Keep an event until the end of the transaction."""
    _pending.setdefault(tx, []).append(event)


def _event(
    tx: Connection,
    verb: str,
    table: Table,
    account: int,
    item: int,
    *,
    before: Values | None = None,
    after: Values | None = None,
) -> Event:
    label = _label(tx, table, account, before or after or {})
    shown = (None if row is None else _without_empty(_shown(table, row)) for row in (before, after))
    return Event(verb, account, _KINDS[table.name], item, label, *shown)


def columns_of(table: Table, changed: Iterable[str] | None = None) -> Sequence[Column[Any]]:
    """Return the columns whose values the log needs: all that it shows, or those that change and those of the name."""
    names = _label_columns(table)
    return [
        column
        for column in table.c
        if column.name in names or (_is_shown(column) and (changed is None or column.name in changed))
    ]


@cache
def _label_columns(table: Table) -> Sequence[str]:
    """Return the columns of which the first one that is not empty is the name of an item.

    A share link is called as the item that it shows, whose column has its kind.
    """
    noun = NOUNS.get(_KINDS[table.name])
    if noun is None:
        return ("title", *SHARED) if table is shares else ("title",)
    return (*noun.names, noun.alias.column) if noun.alias else noun.names


def _label(tx: Connection, table: Table, account: int, row: Values) -> str:
    """Return the name of an item, "" if it has none or `row` lacks its columns."""
    name = next((name for name in _label_columns(table) if row.get(name)), "")
    if table is not shares or name not in SHARED:
        return str(row[name])[:_MAX_LABEL] if name else ""
    item = NOUNS[name].table
    query = select(name_of(NOUNS[name])).where(item.c.account == account, item.c.id == row[name])
    return str(tx.execute(query).scalar() or "")[:_MAX_LABEL]


def _shown(table: Table, values: Values) -> dict[str, Any]:
    """Return the values that may be read: exports contain the same columns. Of a password, only whether there is one.

    So neither secrets nor hashes are in the log.
    """
    shown = {}
    for name, value in values.items():
        if name == "password":
            shown["haspassword"] = value is not None
        elif name in table.c and _is_shown(table.c[name]):
            shown[name] = _bounded(value)
    return shown


def _is_shown(column: Column[Any]) -> bool:
    return column.name == "password" or (bool(column.doc) and not isinstance(column.type, LargeBinary))


def _without_empty(values: Values) -> dict[str, Any]:
    """Return the values of a whole row that say something."""
    return {name: value for name, value in values.items() if value not in (None, "", 0, [], {})}


def is_shortened(value: Any) -> bool:
    """Return whether the log has only the length and hash of a value."""
    return isinstance(value, dict) and value.keys() == {"characters", "sha256"}


def _bounded(value: Any) -> Any:
    """Return the value, or its length and hash if it is long."""
    if not isinstance(value, str | list | dict):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= _MAX_VALUE:
        return value
    return {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def forget(tx: Connection, account: int) -> None:
    """Store none of the events of an account that the transaction has recorded, because its log is deleted too."""
    if recorded := _pending.get(tx):
        recorded[:] = [event for event in recorded if event.account != account]


_COLUMNS = tuple(column.name for column in audit.c if column not in (audit.c.id, audit.c.position))
_INSERT = DriverChange(insert(audit).values({name: bindparam(name) for name in _COLUMNS}))
_JSON = ("before", "after")


def flush(tx: Connection) -> None:
    """Store the events of the transaction, which is about to be committed."""
    _savepoints.pop(tx, None)
    events = _merged(_pending.pop(tx, ()))
    if not events:
        return
    now, actor = clock.now(), current()
    rows = [_row(event, actor, now) for event in events]
    if len(rows) == 1:
        texts = {name: None if rows[0][name] is None else json.dumps(rows[0][name]) for name in _JSON}
        _INSERT.execute(tx, **{**rows[0], **texts})
    else:
        tx.execute(insert(audit), rows)


def _row(event: Event, actor: Actor, now: int) -> dict[str, Any]:
    return {
        "at": now,
        "account": event.account,
        "name": f"{event.kind}.{event.verb}",
        "kind": event.kind,
        "item": event.item,
        "label": event.label,
        "origin": actor.origin,
        "actor": actor.account,
        "key": actor.key,
        "network": actor.network,
        "before": event.before,
        "after": event.after,
        "salt": secrets.token_hex(16),
    }


def _merged(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events of a transaction, with one for changes of the same thing that follow each other."""
    merged: list[Event] = []
    latest: dict[tuple[Any, ...], int] = {}
    for new in events:
        key = (new.account, new.kind, new.item)
        index = latest.get(key)
        if index is not None and new.verb == UPDATED and merged[index].verb in (CREATED, UPDATED, RESTORED):
            merged[index] = _joined(merged[index], new)
            continue
        if new.item is not None:
            latest[key] = len(merged)
        merged.append(new)
    return merged


def _joined(old: Event, new: Event) -> Event:
    """Return one event for a change that follows the creation, restoration or another change of the same thing."""
    before = {**(new.before or {}), **(old.before or {})} if old.verb == UPDATED else old.before
    after = {**(old.after or {}), **(new.after or {})}
    return replace(old, label=new.label or old.label, before=before, after=after)


def follow_savepoints(engines: Iterable[Engine]) -> None:
    """Forget the events of a savepoint that is rolled back."""

    def begin(tx: Connection, _name: str | None) -> None:
        _savepoints.setdefault(tx, []).append(len(_pending.get(tx, ())))

    def release(tx: Connection, _name: str, _context: None) -> None:
        _savepoints[tx].pop()

    def roll_back(tx: Connection, _name: str, _context: None) -> None:
        del _pending.get(tx, [])[_savepoints[tx].pop() :]

    for engine in engines:
        engine_events.listen(engine, "savepoint", begin)
        engine_events.listen(engine, "release_savepoint", release)
        engine_events.listen(engine, "rollback_savepoint", roll_back)
