"""Restoration of deleted items: their rows get the values and the ids that they had."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Table, bindparam, insert, select, text, update

from waypost.core.errors import taken
from waypost.db import audit_log, change_log, crud, page_counters
from waypost.db.crud import translate_unique_violation
from waypost.db.database import upsert
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.row_codec import Values, exact_row
from waypost.db.schema import aliases, links, trash
from waypost.db.schema.nouns import NOUNS
from waypost.trash import snapshots
from waypost.trash.snapshots import COMPANIONS, KIND_OF_TABLE, KINDS, Kind, Reference, references_of, references_to

_MAX_CHANGES = 1000  # of links in the change log; for more, everything is dropped from the caches
_BATCH = 500


@dataclass(frozen=True)
class Entry:
    """An item in the trash with its content."""

    id: int
    kind: str
    item: int
    name: str
    host: str
    alias: str | None
    content: Mapping[str, Any]
    created: int


def put_back(tx: Connection, account: int, entries: Sequence[Entry]) -> None:
    """Restore the items. Raises INVALID above the limit of the plan.

    Raises TAKEN for the name of a campaign, channel or UTM template, and for a domain that is used by now.
    """
    _add_late_clicks(tx, account, entries)
    with change_log.in_one_batch(tx), page_counters.in_one_batch(tx):
        by_kind = {name: [entry for entry in entries if entry.kind == name] for name in KINDS}
        restored = {name: same for name, same in by_kind.items() if same}
        for name, same in restored.items():
            _put_back_items(tx, account, KINDS[name], same)
            _claim_aliases(tx, account, name, same)
        for name, same in restored.items():  # parts can belong to items of two kinds
            _put_back_parts(tx, account, KINDS[name], same)
            _put_back_references(tx, account, KINDS[name], same)
        for name, same in restored.items():
            if (finish := KINDS[name].after_restoring) is not None:
                for entry in same:
                    finish(tx, _row(KINDS[name], entry))


def _add_late_clicks(tx: Connection, account: int, entries: Sequence[Entry]) -> None:
    """Add the clicks to the rows that were counted after the deletion: their visits were answered before it.

    PostgreSQL: the lock waits for the batches of ingesters, which cannot see the restored rows.
    """
    clicked = [entry for entry in entries if entry.content["counts"]]
    if clicked and tx.dialect.name == "postgresql":
        tx.execute(text("LOCK TABLE ONLY click_times IN SHARE MODE"))
    for name, deleted in sorted({(entry.kind, entry.created) for entry in clicked}):
        contents = [entry.content for entry in clicked if (entry.kind, entry.created) == (name, deleted)]
        now = snapshots.counted(tx, account, contents, name, deleted)
        for content in contents:
            for kind, before in content["counts"].items():
                rows = [content["row"]] if kind == name else content["parts"][CLICK_TOTALS[kind][0].name]
                for row in rows:
                    _add_clicks(row, kind, before=before[str(row["id"])], now=now[kind, row["id"]])


def _add_clicks(row: Values, kind: str, *, before: Sequence[int], now: Sequence[int]) -> None:
    clicks, *rest = CLICK_TOTALS[kind][1]
    row[clicks] += now[0] - before[0]
    if rest:
        row[rest[0]] += now[1] - before[1]
    if rest[1:] and row[NOUNS[kind].limit] is None:  # clicks under a limit were taken from it before the response
        row[rest[1]] += now[0] - before[0]


def _put_back_items(tx: Connection, account: int, kind: Kind, entries: Sequence[Entry]) -> None:
    table = kind.table
    rows: Sequence[Values] = [_row(kind, entry) for entry in entries]
    rows = _with_parents(tx, account, references_of(table), rows)
    with translate_unique_violation(kind.unique_errors):
        tx.execute(insert(table), rows)
    for entry, row in zip(entries, rows, strict=True):
        page_counters.increment(tx, account, table.name, entry.item, 1)
        audit_log.item_restored(tx, table, account, entry.item, row)
    crud.check_item_limit(tx, account, table, crud.item_limit(tx, account))


def _row(kind: Kind, entry: Entry) -> Values:
    row = snapshots.decode(kind.table, entry.content["row"])
    if entry.alias is not None and kind.noun.alias is not None:
        row[kind.noun.alias.column] = entry.alias  # the domain may ignore case by now
    return row


def _claim_aliases(tx: Connection, account: int, name: str, entries: Sequence[Entry]) -> None:
    """Give the items their aliases, which were reserved for them."""
    named = sorted((entry for entry in entries if entry.alias is not None), key=lambda entry: (entry.host, entry.alias))
    c = aliases.c
    for host, part in _by_host(named):
        is_named = (c.host == host, c.alias.in_([entry.alias for entry in part]))
        query = select(c.alias, c.item).where(*is_named, c.account == account, c.kind.is_(None))
        reserved = {row.alias: row.item for row in tx.execute(query.with_for_update())}
        for entry in part:
            if reserved.get(str(entry.alias)) != entry.id:
                raise taken("custom", f"The alias {entry.alias} is in use. Change that of the other item first.")
            change_log.record(tx, entry.host, str(entry.alias))
        claim = update(aliases).where(c.host == bindparam("of_host"), c.alias == bindparam("of_alias"))
        values = [{"of_host": entry.host, "of_alias": entry.alias, "new": entry.item} for entry in part]
        tx.execute(claim.values(kind=name, item=bindparam("new")), values)


def _by_host(entries: Sequence[Entry]) -> Iterator[tuple[str, Sequence[Entry]]]:
    """Yield the entries of each host, in parts. They are sorted by host."""
    for host, of_host in groupby(entries, key=attrgetter("host")):
        same = list(of_host)
        for start in range(0, len(same), _BATCH):
            yield host, same[start : start + _BATCH]


def _put_back_parts(tx: Connection, account: int, kind: Kind, entries: Sequence[Entry]) -> None:
    """Insert the rows that were deleted with the items."""
    for reference in references_to(kind.table):
        table = reference.table
        sent = [row for entry in entries for row in entry.content["parts"].get(table.name, ())]
        if not reference.is_part or not sent:
            continue
        rows = _with_parents(tx, account, references_of(table), [snapshots.decode(table, row) for row in sent])
        if rows:
            tx.execute(upsert(tx, table).on_conflict_do_nothing(), rows)
        if "link" in table.c and reference.parent.name == "pixels":
            _record_links(tx, account, [row["link"] for row in rows])


def _put_back_references(tx: Connection, account: int, kind: Kind, entries: Sequence[Entry]) -> None:
    """Connect the rows that referred to the items, unless they refer to others by now."""
    for reference in references_to(kind.table):
        pairs = [
            {"child": child, "parent": entry.item}
            for entry in entries
            for child in entry.content["references"].get(reference.key, ())
        ]
        if reference.is_part or not pairs:
            continue
        c = reference.table.c
        free = [c.id == bindparam("child"), c.account == account, c[reference.column].is_(None)]
        if reference.key in COMPANIONS:
            column, _, without = COMPANIONS[reference.key]
            free.append(c[column] == without)
        values = _connected(reference, bindparam("parent"))
        tx.execute(update(reference.table).where(*free).values(values), pairs)
        _connect_in_trash(tx, account, reference, pairs)
        if reference.key in COMPANIONS:
            _record_links(tx, account, [pair["child"] for pair in pairs])


def _connect_in_trash(tx: Connection, account: int, reference: Reference, pairs: Sequence[Mapping[str, int]]) -> None:
    """Connect the rows that were deleted after the items: they are in the contents of other items in the trash."""
    parents = {pair["child"]: pair["parent"] for pair in pairs}
    missing = parents.keys() - _existing(tx, account, reference.table, parents)
    wholes = [KIND_OF_TABLE[part.parent.name] for part in references_of(reference.table) if part.is_part]
    own_kind = KIND_OF_TABLE.get(reference.table.name)
    for start in range(0, len(missing), _BATCH):
        ids = set(sorted(missing)[start : start + _BATCH])
        is_whole = (trash.c.kind == own_kind) & trash.c.item.in_(ids) if own_kind else trash.c.kind.in_(wholes)
        query = select(trash.c.id, trash.c.content).where(trash.c.account == account, is_whole).order_by(trash.c.id)
        for entry in tx.execute(query.with_for_update()).all():
            rows = [entry.content["row"]] if own_kind else entry.content["parts"].get(reference.table.name, ())
            for row in rows:
                if row["id"] in ids and row[reference.column] is None:
                    row.update(_connected(reference, parents[row["id"]]))
            is_entry = (trash.c.id == entry.id, trash.c.account == account)
            tx.execute(update(trash).where(*is_entry).values(content=entry.content))


def _connected(reference: Reference, parent: Any) -> Values:
    """Return the values of a row that refers to a parent."""
    values = {reference.column: parent}
    if reference.key in COMPANIONS:
        column, with_reference, _ = COMPANIONS[reference.key]
        values[column] = with_reference
    return values


def _record_links(tx: Connection, account: int, ids: Sequence[int]) -> None:
    if len(ids) > _MAX_CHANGES:
        change_log.record(tx, "")
    else:
        change_log.record_links(tx, links.c.id.in_(ids) & (links.c.account == account))


def _with_parents(
    tx: Connection, account: int, references: Iterable[Reference], rows: Sequence[Values]
) -> Sequence[Values]:
    """Return the rows that can be inserted: those that refer to items that exist.

    A reference to an item that is in the trash is restored with that item. One to a deleted item is gone.
    """
    for reference in references:
        parents = {row[reference.column] for row in rows if row[reference.column] is not None}
        missing = parents - _existing(tx, account, reference.parent, parents)
        if not missing:
            continue
        orphaned = [row for row in rows if row[reference.column] in missing]
        for row in orphaned:
            _postpone(tx, account, reference, row)
        if reference.is_part:
            rows = [row for row in rows if row[reference.column] not in missing]
            continue
        for row in orphaned:
            row[reference.column] = None
            if reference.key in COMPANIONS:
                column, _, without = COMPANIONS[reference.key]
                row[column] = without
    return rows


def _existing(tx: Connection, account: int, table: Table, ids: Iterable[int]) -> set[int]:
    """Return the ids of rows that exist, locked against deletion."""
    c, ordered, existing = table.c, sorted(ids), set[int]()
    for start in range(0, len(ordered), _BATCH):
        query = select(c.id).where(c.account == account, c.id.in_(ordered[start : start + _BATCH])).order_by(c.id)
        existing.update(tx.execute(query.with_for_update(read=True, key_share=True)).scalars())
    return existing


def _postpone(tx: Connection, account: int, reference: Reference, row: Values) -> None:
    """Add a row to the content of the item that it refers to, if that is in the trash."""
    parent, c = row[reference.column], trash.c
    is_parent = (c.account == account, c.kind == KIND_OF_TABLE[reference.parent.name], c.item == parent)
    entry = tx.execute(select(c.id, c.content).where(*is_parent).with_for_update()).first()
    if entry is None:
        return
    content = dict(entry.content)
    if reference.is_part:
        name, added = reference.table.name, exact_row(row)
        content["parts"] = {**content["parts"], name: [*content["parts"].get(name, ()), added]}
    else:
        content["references"] = {
            **content["references"],
            reference.key: [*content["references"].get(reference.key, ()), row["id"]],
        }
    tx.execute(update(trash).where(c.id == entry.id, c.account == account).values(content=content))
