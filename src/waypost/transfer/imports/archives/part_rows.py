"""The rows of each part of an archive: the items that they need, how they are added, and removed by undo."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from waypost.clicks.ingest import partitions
from waypost.clicks.ingest.aggregate import (
    DAY,
    IMPORTED,
    NOT_IN_ACCOUNT_TOTALS,
    LabelCounts,
    VisitAttributes,
    label_columns,
    label_of,
    link_of,
)
from waypost.clicks.ingest.bulk_upsert import transpose, upsert_counts
from waypost.clicks.ingest.label_limits import limit_labels
from waypost.dashboard import presets
from waypost.db.database import Database, upsert
from waypost.db.schema import (
    channel_items,
    click_labels,
    click_times,
    events,
    import_parts,
    import_plans,
    rotator_links,
    submissions,
)
from waypost.transfer.imports.archives import kinds
from waypost.transfer.imports.archives.kinds import Items, Key
from waypost.transfer.imports.archives.parts import ACCOUNT_KIND, Row
from waypost.transfer.imports.batches import Pace

_NOT_HERE = 0
"""The id of all items of an archive that do not come along."""
_TIME_KEY = ("kind", "item", "at", "account", "clicks", "uniques", "bots", "previews", "others", "late")
_LABEL_KEY = ("kind", "item", "day", "dimension", "label", "account", "n")
_EVENT = (
    "kind",
    "item",
    "at_ms",
    "sort",
    "first",
    "country",
    "referrer",
    "browser",
    "os",
    "device",
    "language",
    "source",
)
_PLAN, _PART = import_plans.c, import_parts.c
_PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH = 2, 25
_PARTS_PER_READ = 100


def _statistics_keys(row: Row) -> Iterable[Key]:
    kind, item = row[0], row[1]
    yield ("domain", item) if kind == "missing" else (kind, item)
    yield (kind, item)
    if kind == "campaign" and (link := link_of(str(row[4]))) is not None:
        yield "link", link


_REFERENCES = {"links": {"campaign": "campaign", "channel": "channel"}, "qr": {"former": "qr"}}
"""The settings of presets with the id of an item, and its kind, by the kind of the preset."""


def _preset_keys(row: Row) -> Iterable[Key]:
    kind, _, settings = row
    references = _REFERENCES[kind].items()
    return ((noun, int(settings[name])) for name, noun in references if settings.get(name, "").isdecimal())


KEYS: Mapping[str, Callable[[Row], Iterable[Key]]] = {
    "channel_items": lambda row: (("channel", row[0]), (row[1], row[2])),
    "rotator_links": lambda row: (("campaign", row[0]), ("link", row[1])),
    "submissions": lambda row: (("overlay", row[0]), ("link", row[1])),
    "clicks_by_time": _statistics_keys,
    "clicks_by_label": _statistics_keys,
    "visits": _statistics_keys,
    "presets": _preset_keys,
}


def _add_channel_items(tx: Connection, account: int, content: Any, items: Items) -> None:
    values = [
        {"link": None, "bio": None, "qr": None}
        | {
            "account": account,
            "channel": items.all["channel", channel],
            kind: items.created[kind, item],
            "assigned": at,
        }
        for channel, kind, item, at in content["rows"]
        if ("channel", channel) in items.all and (kind, item) in items.created
    ]
    _insert_new(tx, channel_items, values)


def _add_rotator_links(tx: Connection, account: int, content: Any, items: Items) -> None:
    values = [
        {
            "account": account,
            "campaign": items.all["campaign", campaign],
            "link": items.created["link", link],
            "weight": weight,
            "quota": quota,
            "given": given,
        }
        for campaign, link, weight, quota, given in content["rows"]
        if ("campaign", campaign) in items.all and ("link", link) in items.created
    ]
    _insert_new(tx, rotator_links, values)


def _add_submissions(tx: Connection, account: int, content: Any, items: Items) -> None:
    names = ("name", "email", "message", "choice", "created")
    values = [
        {"account": account, "overlay": items.created["overlay", overlay], "link": items.all.get(("link", link))}
        | dict(zip(names, rest, strict=True))
        for overlay, link, *rest in content["rows"]
        if ("overlay", overlay) in items.created
    ]
    if values:
        tx.execute(insert(submissions), values)


def _insert_new(tx: Connection, table: Table, values: list[dict[str, Any]]) -> None:
    if values:
        tx.execute(upsert(tx, table).on_conflict_do_nothing(), values)


def _add_times(tx: Connection, account: int, content: Any, items: Items, *, sign: int = 1) -> None:
    rows: dict[tuple[str, int, int], list[int]] = {}
    for kind, item, at, *counts in content["rows"]:
        item_id = _item_here(kind, item, content, items)
        if item_id is None:
            continue
        for owner in _owners(kind, item_id, account, content):
            row = rows.setdefault((*owner, at), [0] * len(counts))
            row[:] = [total + sign * count for total, count in zip(row, counts, strict=True)]
    values = [(*key, account, *counts) for key, counts in sorted(rows.items())]
    upsert_counts(tx, click_times, transpose(_TIME_KEY, values))


def _add_labels(tx: Connection, account: int, content: Any, items: Items, *, sign: int = 1) -> None:
    rows: Counter[tuple[str, int, int, str, str]] = Counter()
    whole: dict[int, list[Counter[str]]] = defaultdict(lambda: [Counter() for _ in VisitAttributes._fields])
    for kind, item, day, dimension, label, number in content["rows"]:
        if (kind, item) not in items.created:
            continue
        own, *others = _owners(kind, items.created[kind, item], account, content)
        rows[*own, day, dimension, _label_here(kind, label, items)] += number
        for owner in others:
            if dimension == IMPORTED:
                rows[*owner, day, dimension, label] += number
            else:
                whole[day][VisitAttributes._fields.index(dimension)][label] += number
    values = [(*key, account, sign * number) for key, number in sorted(rows.items())]
    upsert_counts(tx, click_labels, transpose(_LABEL_KEY, values))
    counts = [LabelCounts(ACCOUNT_KIND, account, day, account, tuple(each)) for day, each in sorted(whole.items())]
    columns = label_columns(limit_labels(tx, counts))
    upsert_counts(tx, click_labels, {**columns, "n": [sign * number for number in columns["n"]]})


def _owners(kind: str, item: int, account: int, content: Any) -> list[tuple[str, int]]:
    """Return what a row counts for: its item, and the account if that has statistics of its own."""
    counts_for_account = content["adds_to_account"] and kind not in NOT_IN_ACCOUNT_TOTALS
    return [(kind, item), *([(ACCOUNT_KIND, account)] if counts_for_account else [])]


def _item_here(kind: str, item: int, content: Any, items: Items) -> int | None:
    """Return the id here of an item of the archive; None if its statistics are left out.

    It is _NOT_HERE for an item that does not come along although the totals of the account include its visits.
    """
    return items.created.get((kind, item), None if content["adds_to_account"] else _NOT_HERE)


def _label_here(kind: str, label: str, items: Items) -> str:
    """Return a label with the id here of the link that it names."""
    link = link_of(label) if kind == "campaign" else None
    return label if link is None else label_of(items.created.get(("link", link), _NOT_HERE))


def _add_visits(tx: Connection, account: int, content: Any, items: Items) -> None:
    rows = _visits_here(account, content, items)
    if rows:
        tx.execute(insert(events), rows)


def _remove_visits(tx: Connection, account: int, content: Any, items: Items) -> None:
    c = events.c
    for row in _visits_here(account, content, items):
        is_visit = (c.account == account, c.kind == row["kind"], c.item == row["item"], c.at_ms == row["at_ms"])
        tx.execute(delete(events).where(*is_visit))


def _visits_here(account: int, content: Any, items: Items) -> list[dict[str, Any]]:
    rows = (dict(zip(_EVENT, row, strict=True)) for row in content["rows"])
    return [
        row | {"account": account, "item": item_id}
        for row in rows
        if (item_id := _item_here(row["kind"], row["item"], content, items)) is not None
    ]


def _add_presets(tx: Connection, account: int, content: Any, items: Items) -> None:
    for kind, name, settings in _presets_here(content, items):
        presets.add_missing(tx, account, kind, name, settings)


def _remove_presets(tx: Connection, account: int, content: Any, items: Items) -> None:
    for kind, name, settings in _presets_here(content, items):
        presets.remove_equal(tx, account, kind, name, settings)


def _presets_here(content: Any, items: Items) -> Iterator[tuple[presets.Kind, str, dict[str, str]]]:
    """Yield presets with the ids here. A view of items that do not come along is left out; a style loses its logo."""
    for row in content["rows"]:
        kind, name, settings = row
        ids = {key: items.all.get(key) for key in _preset_keys(row)}
        if kind == "links" and None in ids.values():
            continue
        new_ids = {
            name: str(ids[noun, int(settings[name])] or "")
            for name, noun in _REFERENCES[kind].items()
            if settings.get(name, "").isdecimal()
        }
        yield kind, name, {**settings, **new_ids}


APPLY: Mapping[str, Callable[..., None]] = {
    "channel_items": _add_channel_items,
    "rotator_links": _add_rotator_links,
    "submissions": _add_submissions,
    "clicks_by_time": _add_times,
    "clicks_by_label": _add_labels,
    "visits": _add_visits,
    "presets": _add_presets,
}
REMOVE: Mapping[str, Callable[..., None]] = {
    "clicks_by_time": lambda *values: _add_times(*values, sign=-1),
    "clicks_by_label": lambda *values: _add_labels(*values, sign=-1),
    "visits": _remove_visits,
    "presets": _remove_presets,
}


def apply_all(database: Database, account: int, plan: int, check: Callable[[], object] = lambda: None) -> None:
    """Add all parts of the plan, from its position. An interrupted application resumes."""
    _create_partitions(database, account, plan)
    pace = Pace(database, _PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH)
    while pace.write(lambda tx, size: _apply_batch(tx, account, plan, size)):
        check()


def remove_all(database: Database, account: int, plan: int, check: Callable[[], object]) -> None:
    """Remove the statistics again; the other rows are deleted with their items. An interrupted removal resumes."""
    pace = Pace(database, _PARTS_PER_BATCH, _MAX_PARTS_PER_BATCH)
    while pace.write(lambda tx, size: _remove_batch(tx, account, plan, size)):
        check()


def _apply_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    parts = _next_parts(tx, account, plan, size, _position(tx, account, plan))
    if parts:
        is_plan = (_PLAN.id == plan, _PLAN.account == account)
        tx.execute(update(import_plans).where(*is_plan).values(parts_position=parts[-1].id))
        items = _items(tx, account, plan, parts)
        for part in parts:
            APPLY[part.sheet](tx, account, part.content, items)
    return bool(parts)


def _remove_batch(tx: Connection, account: int, plan: int, size: int) -> bool:
    position = _position(tx, account, plan)
    parts = [part for part in _next_parts(tx, account, plan, size, 0) if part.id <= position]
    if parts:
        items = _items(tx, account, plan, parts)
        for part in parts:
            if remove := REMOVE.get(part.sheet):
                remove(tx, account, part.content, items)
        is_removed = _PART.id.in_([part.id for part in parts])
        tx.execute(delete(import_parts).where(_PART.account == account, is_removed))
    return bool(parts)


def _position(tx: Connection, account: int, plan: int) -> int:
    is_plan = (_PLAN.id == plan, _PLAN.account == account)
    return int(tx.execute(select(_PLAN.parts_position).where(*is_plan).with_for_update()).scalar_one())


def _next_parts(tx: Connection, account: int, plan: int, size: int, after: int) -> Sequence[Any]:
    """Return parts after an id. An older version has stored times of edits too, which this one leaves out."""
    query = select(_PART.id, _PART.sheet, _PART.content)
    query = query.where(_PART.plan == plan, _PART.account == account, _PART.id > after, _PART.sheet != "edits")
    return tx.execute(query.order_by(_PART.id).limit(size)).all()


def _items(tx: Connection, account: int, plan: int, parts: Sequence[Any]) -> Items:
    """Return the items here of all keys in the parts."""
    keys = {key for part in parts for row in part.content["rows"] for key in KEYS[part.sheet](row)}
    if not keys:
        return Items()
    by_source = kinds.find_items(tx, account, plan, parts[0].content["service"], keys)
    domains = {("missing", item): domain for (kind, item), domain in by_source.created.items() if kind == "domain"}
    blocks = kinds.blocks_here(tx, account, plan) if any(kind == "block" for kind, _ in keys) else {}
    own = {(ACCOUNT_KIND, item): account for kind, item in keys if kind == ACCOUNT_KIND}
    return Items(by_source.all, {**by_source.created, **domains, **blocks, **own})


def _create_partitions(database: Database, account: int, plan: int) -> None:
    """Create the partitions of all days that have statistics, in a transaction of their own, on PostgreSQL."""
    days: dict[str, set[int]] = {"clicks_by_time": set(), "clicks_by_label": set(), "visits": set()}
    last = 0
    while not database.is_sqlite:
        parts = database.read(partial(_next_parts, account=account, plan=plan, size=_PARTS_PER_READ, after=last))
        if not parts:
            break
        last = parts[-1].id
        for part in parts:
            if part.sheet in days:
                unit = {"clicks_by_time": DAY, "clicks_by_label": 1, "visits": DAY * 1000}[part.sheet]
                days[part.sheet] |= {row[2] // unit for row in part.content["rows"]}
    tables = {"clicks_by_time": "click_times", "clicks_by_label": "click_labels", "visits": "events"}
    for sheet, table in tables.items():
        database.write(partial(partitions.ensure, days=days[sheet], tables=[table]))
