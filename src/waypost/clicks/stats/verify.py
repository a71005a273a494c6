"""Compare roll-ups with the stored events of complete days, and repair the roll-ups."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, select, update

from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY, IMPORTED, NOT_IN_ACCOUNT_TOTALS, QUARTER, VisitAttributes
from waypost.clicks.ingest.ingester import EVENTS_COMPLETE_SINCE
from waypost.clicks.ingest.label_limits import fold
from waypost.clicks.stats.reports import COUNTS
from waypost.db import moved_items
from waypost.db.database import upsert
from waypost.db.item_columns import CLICK_TOTALS
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import click_labels, click_times, events, installation

_COLUMN = {"click": "clicks", "bot": "bots", "preview": "previews", "other": "others", "late": "late"}
_DIMENSIONS = [name for name in VisitAttributes._fields if name != "network"]  # the network follows from the referrer
DayKey = tuple[str, int, int]
"""(kind, item, day since 1970)"""


@dataclass(frozen=True)
class Difference:
    """A day of an item or account whose roll-ups (`counted`) differ from its events (`stored`).

    Imported clicks have no events and are left out. A day with some cannot be repaired: the events do not contain them.
    """

    kind: str
    item: int
    day: int
    counted: Mapping[str, int]
    stored: Mapping[str, int]
    has_imported: bool


def differences(tx: Connection) -> list[Difference]:
    """Return all differences. Days whose events are partly deleted cannot be compared and are skipped."""
    disable_timeouts(tx)
    moved_items.hold(tx)
    complete_since = select(installation.c.value).where(installation.c.name == EVENTS_COMPLETE_SINCE)
    since = tx.execute(complete_since).scalar_one_or_none()
    oldest, lowest = tx.execute(select(func.min(events.c.at_ms), func.min(events.c.id))).one()
    if since is None or oldest is None:
        return []
    # Events are complete since `since`. The oldest day is incomplete if the first event was deleted.
    first = max(oldest // 1000 // DAY + (lowest > 1), -(-int(since) // DAY))
    stored, counted = _stored_counts(tx, first), _rollup_counts(tx, first)
    keys = sorted(key for key in stored.keys() | counted.keys() if stored[key] != counted[key])
    imported = _imported_counts(tx, first)
    return [
        Difference(*key, counted=dict(counted[key]), stored=dict(stored[key]), has_imported=key in imported)
        for key in keys
    ]


def repair(tx: Connection, differences: list[Difference]) -> None:
    """Rebuild the roll-ups of these days from events, and adjust the totals by the difference.

    Days with imported clicks stay as they are.
    """
    for difference in differences:
        if difference.has_imported:
            continue
        item = {"kind": difference.kind, "item": difference.item, "account": _account_of(tx, difference)}
        _repair_times(tx, difference, item)
        _repair_labels(tx, difference, item)
        if difference.kind in CLICK_TOTALS:
            table, columns = CLICK_TOTALS[difference.kind]
            totals = {
                column: table.c[column] + difference.stored.get(name, 0) - difference.counted.get(name, 0)
                for column, name in zip(columns, ("clicks", "uniques"), strict=False)
            }
            tx.execute(update(table).where(table.c.id == difference.item).values(totals))


def _stored_counts(tx: Connection, first: int) -> dict[DayKey, Counter[str]]:
    c = events.c
    columns = (c.account, c.kind, c.item, (c.at_ms // (DAY * 1000)).label("day"), c.sort, c.first)
    query = select(*columns, func.count().label("n")).where(c.at_ms >= first * DAY * 1000).group_by(*columns)
    sums: dict[DayKey, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(query):
        item, account = (row.kind, row.item, int(row.day)), ("account", row.account, int(row.day))
        for key in (item,) if row.kind in NOT_IN_ACCOUNT_TOTALS else (item, account):
            sums[key][_COLUMN[row.sort]] += row.n
            if row.first:
                sums[key]["uniques"] += row.n
    return sums


def _rollup_counts(tx: Connection, first: int) -> dict[DayKey, Counter[str]]:
    c = click_times.c
    day = (c.at // DAY).label("day")
    sums = [func.sum(c[name]).label(name) for name in COUNTS]
    query = select(c.kind, c.item, day, *sums).where(c.at >= first * DAY).group_by(c.kind, c.item, day)
    counts: dict[DayKey, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(query).mappings():
        key = (row["kind"], row["item"], int(row["day"]))
        counts[key] = Counter({name: int(row[name]) for name in COUNTS if row[name]})
    for key, imported in _imported_counts(tx, first).items():
        counts[key]["clicks"] -= imported
    return counts


def _imported_counts(tx: Connection, first: int) -> dict[DayKey, int]:
    """Return the imported clicks, which have no events, by item and day."""
    c = click_labels.c
    query = select(c.kind, c.item, c.day, c.n).where(c.day >= first, c.dimension == IMPORTED)
    return {(row.kind, row.item, row.day): row.n for row in tx.execute(query)}


def _account_of(tx: Connection, difference: Difference) -> int:
    """Return the account of the item, from its events or roll-ups."""
    if difference.kind == "account":
        return difference.item
    c = click_labels.c
    stored = tx.execute(_events_of(difference, select(events.c.account)).limit(1)).scalar()
    counted = select(c.account).where(c.kind == difference.kind, c.item == difference.item).limit(1)
    return int(stored or tx.execute(counted).scalar() or 0)


def _repair_times(tx: Connection, difference: Difference, item: Mapping[str, Any]) -> None:
    c = click_times.c
    of_day = (c.kind == difference.kind, c.item == difference.item, c.at // DAY == difference.day)
    tx.execute(delete(click_times).where(*of_day))
    quarter = (events.c.at_ms // (QUARTER * 1000)).label("quarter")
    columns = (quarter, events.c.sort, events.c.first)
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(_events_of(difference, select(*columns, func.count().label("n"))).group_by(*columns)):
        sums[int(row.quarter)][_COLUMN[row.sort]] += row.n
        sums[int(row.quarter)]["uniques"] += row.n if row.first else 0
    rows = [{**item, "at": at * QUARTER, **{name: n[name] for name in COUNTS}} for at, n in sums.items()]
    if rows:
        tx.execute(insert(click_times), rows)


def _repair_labels(tx: Connection, difference: Difference, item: Mapping[str, Any]) -> None:
    c = click_labels.c
    of_day = (c.kind == difference.kind, c.item == difference.item, c.day == difference.day)
    for dimension in _DIMENSIONS:
        label = events.c[dimension]
        query = _events_of(difference, select(label.label("label"), func.count().label("n"))).where(
            events.c.sort == "click", label != ""
        )
        stored = {row.label: row.n for row in tx.execute(query.group_by(label))}
        counted = _counted_labels(tx, difference, dimension, difference.day)
        stored = fold(stored, counted.keys(), dimension=dimension, day=difference.day)
        changes = {name: stored.get(name, 0) - counted.get(name, 0) for name in stored.keys() | counted.keys()}
        of_all_days = _counted_labels(tx, difference, dimension, ALL_DAYS)
        for day, by_label in (
            (difference.day, changes),
            (ALL_DAYS, fold(changes, of_all_days.keys(), dimension=dimension, day=ALL_DAYS)),
        ):
            for name, change in by_label.items():
                if change:
                    key = {**item, "day": day, "dimension": dimension, "label": name}
                    row = upsert(tx, click_labels).values(**key, n=change)
                    tx.execute(row.on_conflict_do_update(index_elements=list(key), set_={"n": c.n + change}))
        tx.execute(delete(click_labels).where(*of_day, c.dimension == dimension, c.n == 0))


def _counted_labels(tx: Connection, difference: Difference, dimension: str, day: int) -> dict[str, int]:
    c = click_labels.c
    own = (c.kind == difference.kind, c.item == difference.item, c.day == day, c.dimension == dimension)
    return {row.label: row.n for row in tx.execute(select(c.label, c.n).where(*own))}


def _events_of(difference: Difference, query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """Restrict a query to the events of a difference's item and day."""
    c = events.c
    whole = (c.account == difference.item, c.kind.not_in(NOT_IN_ACCOUNT_TOTALS))
    own = whole if difference.kind == "account" else (c.kind == difference.kind, c.item == difference.item)
    return query.where(*own, c.at_ms // (DAY * 1000) == difference.day)
