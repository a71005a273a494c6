"""Undo of an applied import: its links are deleted, and those that it changed get their old values back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, update

from waypost.core.errors import Kind, Problem
from waypost.db import change_log, crud
from waypost.db.database import Database
from waypost.db.schema import campaigns as campaigns_table
from waypost.db.schema import (
    channel_items,
    import_origins,
    import_plans,
    import_rows,
    link_pixels,
    links,
    moved_items,
)
from waypost.db.schema import channels as channels_table
from waypost.db.schema.nouns import NOUNS
from waypost.items.campaigns import ops as campaigns
from waypost.items.channels import ops as channels
from waypost.items.functions import FUNCTIONS
from waypost.items.links import bulk
from waypost.transfer.imports import apply_links, click_history, planned_rows, plans
from waypost.transfer.imports.archives import part_rows
from waypost.transfer.imports.archives.kinds import FOUNDATIONS, is_used
from waypost.transfer.imports.batches import Cancellation, Pace
from waypost.transfer.imports.planned_rows import PlannedRow
from waypost.transfer.imports.plans import BATCH, MAX_BATCH

_row = import_rows.c
_NAMED = 3  # edited items in the message
_CLEAR = update(import_rows).where(_row.id == bindparam("row_id"), _row.account == bindparam("owner")).values(item=None)


@dataclass(frozen=True)
class Preview:
    """The items that undo would delete and change back, their clicks since the import, and those that were edited."""

    deleted: int = 0
    restored: int = 0
    clicks: int = 0
    edited: Sequence[str] = ()


def preview(database: Database, account: int) -> Preview:
    """Return the effect of undo of the last import. It reads every item that the import created or changed.

    Raises NOT_FOUND without an import; IMPORT_STATE if nothing of it was applied, and while it is applied.
    """
    plan = database.read(lambda tx: plans.current(tx, account))
    _require_applied(plan)
    total, last = Preview(edited=database.read(lambda tx: _moved(tx, account, plan.id))), 0
    while rows := database.read(partial(_applied_rows, account=account, plan=plan.id, after=last, limit=BATCH)):
        total = database.read(partial(_add, account=account, rows=rows, total=total))
        last = rows[-1].line
    return total


def undo(database: Database, account: int, check: Callable[[], object] = lambda: None) -> Preview:
    """Undo the last import. If interrupted, call it again to resume. `check` is called after every batch.

    Raises as `preview`, and IMPORT_STATE if one of its items was edited since, or if it is canceled.
    """
    plan = database.read(lambda tx: plans.current(tx, account))
    undone = preview(database, account)
    require_unedited(plan, undone)
    with plans.busy(database, account, plan.id, Cancellation(check)) as cancellation:
        run(database, account, plan.id, cancellation.check)
    return undone


def run(database: Database, account: int, plan: int, check: Callable[[], object]) -> None:
    """Undo a plan that is marked as in work."""
    database.write(lambda tx: _begin(tx, account, plan))
    click_history.remove_all(database, account, plan, check)
    part_rows.remove_all(database, account, plan, check)
    for are_foundations in (False, True):  # items are deleted before those that they refer to
        pace, last = Pace(database, BATCH, MAX_BATCH), 0
        undo_batch = partial(_undo_batch, account=account, plan=plan, are_foundations=are_foundations)
        while last := pace.write(partial(undo_batch, after=last)):
            check()
    database.write(lambda tx: _remove_added(tx, account, plan))


def require_unedited(plan: plans.Plan, preview: Preview) -> None:
    """Raise IMPORT_STATE if an item was edited since the import. An undo that has begun always resumes."""
    if preview.edited and plan.state != "undoing":
        raise _edited(preview.edited)


def _edited(items: Sequence[str]) -> Problem:
    names = ", ".join(items[:_NAMED]) + (" …" if len(items) > _NAMED else "")
    message = f"{len(items):,} items were edited since the import: {names}. Delete links by hand instead."
    return Problem(Kind.IMPORT_STATE, message)


def _begin(tx: Connection, account: int, plan: int) -> None:
    """Mark the plan, after which no link of the account moves. Raises IMPORT_STATE if one has moved."""
    plans.set_state(tx, account, plan, "undoing")
    if moved := _moved(tx, account, plan):
        raise _edited(moved)


def _moved(tx: Connection, account: int, plan: int) -> Sequence[str]:
    """Return the aliases of items that belong to another account by now, with the statistics that the plan added."""
    moved = moved_items.c
    is_item = (moved.kind == _row.kind) & (moved.item == _row.item) & (moved.owner != account)
    query = select(_row.alias).join(moved_items, is_item).order_by(_row.line)
    of_plan = (_row.plan == plan, _row.account == account, _row.fate.in_(("create", "changed")))
    return tx.execute(query.where(*of_plan)).scalars().all()


def _require_applied(plan: plans.Plan) -> None:
    if plan.state == "applying" and plan.is_busy:
        raise plans.running()
    if plan.state not in plans.UNDOABLE:
        raise Problem(Kind.IMPORT_STATE, "The last import was not applied, so there is nothing to undo.")


def _applied_rows(
    tx: Connection, account: int, plan: int, *, after: int, limit: int, are_foundations: bool | None = None
) -> Sequence[PlannedRow]:
    is_applied = (
        _row.plan == plan,
        _row.account == account,
        _row.fate.in_(("create", "changed")),
        _row.item.is_not(None),
    )
    query = select(import_rows).where(*is_applied, _row.line > after).order_by(_row.line)
    if are_foundations is not None:
        is_foundation = _row.kind.in_(FOUNDATIONS)
        query = query.where(is_foundation if are_foundations else ~is_foundation)
    return [planned_rows.read(row) for row in tx.execute(query.limit(limit))]


def _add(tx: Connection, account: int, rows: Sequence[PlannedRow], total: Preview) -> Preview:
    items = _items(tx, account, rows)
    existing = [(row, items[row.kind, row.item]) for row in rows if (row.kind, row.item) in items]
    extended = _extended(tx, account, rows)
    edited = [row.alias for row, item in existing if row.id in extended or _is_edited(row, item)]
    created = [(row, item) for row, item in existing if row.fate == "create"]
    return replace(
        total,
        deleted=total.deleted + len(created),
        restored=total.restored + len(existing) - len(created),
        clicks=total.clicks + sum(_clicks_since(row, item) for row, item in created),
        edited=(*total.edited, *edited),
    )


def _items(tx: Connection, account: int, rows: Sequence[PlannedRow]) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the items of the rows that still exist, by kind and id."""
    items: dict[tuple[str, int], Mapping[str, Any]] = {}
    for kind in {row.kind for row in rows}:
        table = NOUNS[kind].table
        query = select(table).where(
            table.c.account == account, table.c.id.in_([r.item for r in rows if r.kind == kind])
        )
        items |= {(kind, item["id"]): dict(item) for item in tx.execute(query).mappings()}
    return items


def _clicks_since(row: PlannedRow, item: Mapping[str, Any]) -> int:
    """Return the visits of an item since the import."""
    names = NOUNS[row.kind].totals
    if not names:
        return 0
    before = row.content.totals.get(names[0], row.content.clicks)
    return int(item[names[0]] - before)


def _is_edited(row: PlannedRow, item: Mapping[str, Any]) -> bool:
    """Return whether the item differs from what the import made of it. Its clicks do not matter."""
    current: Mapping[str, Any] = item
    if row.kind == "bio":
        current = {**item, "blocks": [{n: v for n, v in block.items() if n != "id"} for block in item["blocks"]]}
        expected: Mapping[str, Any] = {**row.content.columns, "alias": row.alias}
    elif row.fate == "changed":
        expected = row.content.after or {}
    elif row.kind == "qr":
        return bool(item["version"] != 1 or item["alias"] != row.alias)
    elif row.kind != "link":
        made = row.content.columns.items()
        expected = {name: value for name, value in made if name in current and value is not None}
    else:
        columns = {**apply_links.DEFAULTS, **apply_links.REFERENCES, **apply_links.columns_of(row, row.alias)}
        if row.content.references:  # set after the link was created
            columns = {name: value for name, value in columns.items() if name not in ("type", *apply_links.REFERENCES)}
        elif not row.content.campaign:
            columns["campaign"] = None
        expected = {**columns, "host": row.host, "alias": row.alias}
    return any(current[name] != value for name, value in expected.items())


def _extended(tx: Connection, account: int, rows: Sequence[PlannedRow]) -> set[int]:
    """Return the ids of rows whose new links got channels or pixels since. Those of an archive are not known here."""
    created = [row for row in rows if (row.kind, row.fate) == ("link", "create") and not row.content.references]
    counts: dict[int, int] = {}
    for link, is_owned in (
        (channel_items.c.link, channel_items.c.account),
        (link_pixels.c.link, link_pixels.c.account),
    ):
        query = select(link, func.count()).where(is_owned == account, link.in_([row.item for row in created]))
        for item, number in tx.execute(query.group_by(link)):
            counts[item] = counts.get(item, 0) + number
    return {row.id for row in created if counts.get(row.item, 0) > len(set(row.content.tags))}


def _undo_batch(tx: Connection, size: int, *, account: int, plan: int, after: int, are_foundations: bool) -> int:
    """Undo the next rows after a line. Return the line of the last one; 0 if there were none."""
    plans.hold(tx, account, plan)
    rows = _applied_rows(tx, account, plan, after=after, limit=size, are_foundations=are_foundations)
    items = _items(tx, account, rows)
    existing = [row for row in rows if (row.kind, row.item) in items]
    created = [row for row in existing if row.fate == "create"]
    bulk.remove(tx, account, [row.item for row in created if row.kind == "link"])
    for row in created:
        if row.kind != "link" and not (are_foundations and is_used(tx, account, row.kind, row.item)):
            FUNCTIONS[row.kind].remove(tx, account, row.item)
    _change_back(tx, account, [(row, items["link", row.item]) for row in existing if row.fate == "changed"])
    if rows:
        tx.execute(_CLEAR, [{"row_id": row.id, "owner": account} for row in rows])
    return rows[-1].line if rows else 0


def _change_back(tx: Connection, account: int, changed: Sequence[tuple[PlannedRow, Mapping[str, Any]]]) -> None:
    """Restore the old values of links, and remove them from the channels. The next import changes them again."""
    c = channel_items.c
    for row, link in changed:
        crud.change(tx, links, account, row.item, row.content.before or {})
        is_added = (c.account == account, c.link == row.item, c.channel.in_(row.content.channels or ()))
        tx.execute(delete(channel_items).where(*is_added))
        change_log.record(tx, link["host"], link["alias"])
    is_changed = import_origins.c.link.in_([row.item for row, _ in changed])
    tx.execute(update(import_origins).where(import_origins.c.account == account, is_changed).values(digest=""))


def _remove_added(tx: Connection, account: int, plan: int) -> None:
    """Delete the channels and campaigns that the import created, if they are empty, and end the undo."""
    plans.hold(tx, account, plan)
    is_plan = (import_plans.c.id == plan, import_plans.c.account == account)
    added = tx.execute(select(import_plans.c.added).where(*is_plan)).scalar_one()
    for table, member, remove in (
        (channels_table, channel_items.c.channel, channels.remove),
        (campaigns_table, links.c.campaign, campaigns.remove),
    ):
        is_added = table.c.id.in_(added.get(table.name, ()))
        is_member = (member == table.c.id) & (member.table.c.account == table.c.account)
        is_empty = ~select(member).where(is_member).exists()
        for item in (
            tx.execute(select(table.c.id).where(table.c.account == account, is_added, is_empty)).scalars().all()
        ):
            remove(tx, account, item)
    plans.set_state(tx, account, plan, "undone", added={})
