"""Compares the sums with the single visits behind them, on the days that are kept whole, and repairs the sums."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Select, delete, func, insert, select, update

from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY, NOT_IN_ACCOUNT_TOTALS, QUARTER, VisitAttributes
from waypost.clicks.ingest.ingester import EVENTS_COMPLETE_SINCE, TOTALS
from waypost.db.database import upsert
from waypost.db.postgres import disable_timeouts
from waypost.db.schema import click_labels, click_times, events, installation

_COLUMN = {"click": "clicks", "bot": "bots", "preview": "previews", "other": "others", "late": "late"}
_SUMS = ("clicks", "uniques", *list(_COLUMN.values())[1:])
_DIMENSIONS = tuple(name for name in VisitAttributes._fields if name != "network")  # which follows from the referrer
Place = tuple[str, int, int]
"""(kind, item, day since 1970)"""


@dataclass(frozen=True)
class Difference:
    """A day of a thing, or of an account, whose sums are not what its single visits add up to."""

    kind: str
    item: int
    day: int
    counted: Mapping[str, int]
    kept: Mapping[str, int]


def differences(tx: Connection) -> list[Difference]:
    """Everything that is wrong. A day whose visits are deleted in part cannot be told, and is left out."""
    disable_timeouts(tx)
    since = tx.execute(
        select(installation.c.value).where(installation.c.name == EVENTS_COMPLETE_SINCE)
    ).scalar_one_or_none()
    oldest, lowest = tx.execute(select(func.min(events.c.at_ms), func.min(events.c.id))).one()
    if since is None or oldest is None:
        return []
    # Visits were kept from `since` on, and the oldest day has lost some when the first of all is gone.
    first = max(oldest // 1000 // DAY + (lowest > 1), -(-int(since) // DAY))
    kept, counted = _kept(tx, first), _counted(tx, first)
    places = sorted(place for place in kept.keys() | counted.keys() if kept[place] != counted[place])
    return [Difference(*place, counted=dict(counted[place]), kept=dict(kept[place])) for place in places]


def repair(tx: Connection, found: list[Difference]) -> None:
    """Make the sums of these days what the visits add up to, and move the totals by as much."""
    for wrong in found:
        _repair_times(tx, wrong)
        _repair_labels(tx, wrong)
        if wrong.kind in TOTALS:
            table, columns = TOTALS[wrong.kind]
            values = {
                column: table.c[column] + wrong.kept.get(name, 0) - wrong.counted.get(name, 0)
                for column, name in zip(columns, ("clicks", "uniques"), strict=False)
            }
            tx.execute(update(table).where(table.c.id == wrong.item).values(values))


def _kept(tx: Connection, first: int) -> dict[Place, Counter[str]]:
    c = events.c
    columns = (c.account, c.kind, c.item, (c.at_ms // (DAY * 1000)).label("day"), c.sort, c.first)
    chosen = select(*columns, func.count().label("n")).where(c.at_ms >= first * DAY * 1000).group_by(*columns)
    sums: dict[Place, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(chosen):
        mine = (row.kind, row.item)
        for thing in (mine,) if row.kind in NOT_IN_ACCOUNT_TOTALS else (mine, ("account", row.account)):
            place = (*thing, int(row.day))
            sums[place][_COLUMN[row.sort]] += row.n
            if row.first:
                sums[place]["uniques"] += row.n
    return sums


def _counted(tx: Connection, first: int) -> dict[Place, Counter[str]]:
    c = click_times.c
    day = (c.at // DAY).label("day")
    sums = [func.sum(c[name]).label(name) for name in _SUMS]
    chosen = select(c.kind, c.item, day, *sums).where(c.at >= first * DAY).group_by(c.kind, c.item, day)
    found: dict[Place, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(chosen).mappings():
        place = (row["kind"], row["item"], int(row["day"]))
        found[place] = Counter({name: int(row[name]) for name in _SUMS if row[name]})
    return found


def _account_of(tx: Connection, wrong: Difference) -> int:
    """Whose thing it is, as its visits or its sums say."""
    if wrong.kind == "account":
        return wrong.item
    c = click_labels.c
    kept = tx.execute(_of(wrong, select(events.c.account)).limit(1)).scalar()
    counted = tx.execute(select(c.account).where(c.kind == wrong.kind, c.item == wrong.item).limit(1)).scalar()
    return int(kept or counted or 0)


def _repair_times(tx: Connection, wrong: Difference) -> None:
    c = click_times.c
    tx.execute(delete(click_times).where(c.kind == wrong.kind, c.item == wrong.item, c.at // DAY == wrong.day))
    quarter = (events.c.at_ms // (QUARTER * 1000)).label("quarter")
    columns = (quarter, events.c.sort, events.c.first)
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for row in tx.execute(_of(wrong, select(*columns, func.count().label("n"))).group_by(*columns)):
        sums[int(row.quarter)][_COLUMN[row.sort]] += row.n
        sums[int(row.quarter)]["uniques"] += row.n if row.first else 0
    thing = {"kind": wrong.kind, "item": wrong.item, "account": _account_of(tx, wrong)}
    rows = [{**thing, "at": at * QUARTER, **{name: n[name] for name in _SUMS}} for at, n in sums.items()]
    if rows:
        tx.execute(insert(click_times), rows)


def _repair_labels(tx: Connection, wrong: Difference) -> None:
    c = click_labels.c
    mine = (c.kind == wrong.kind, c.item == wrong.item, c.day == wrong.day)
    account = _account_of(tx, wrong)
    for dimension in _DIMENSIONS:
        label = events.c[dimension]
        chosen = _of(wrong, select(label.label("label"), func.count().label("n"))).where(
            events.c.sort == "click", label != ""
        )
        kept = {row.label: row.n for row in tx.execute(chosen.group_by(label))}
        today = (*mine, c.dimension == dimension)
        counted = {row.label: row.n for row in tx.execute(select(c.label, c.n).where(*today))}
        for name in kept.keys() | counted.keys():
            moved = kept.get(name, 0) - counted.get(name, 0)
            for day in (wrong.day, ALL_DAYS) if moved else ():
                thing = {"kind": wrong.kind, "item": wrong.item, "day": day, "account": account}
                key = {**thing, "dimension": dimension, "label": name}
                new = upsert(tx, click_labels).values(**key, n=moved)
                tx.execute(new.on_conflict_do_update(index_elements=list(key), set_={"n": c.n + moved}))
        tx.execute(delete(click_labels).where(*today, c.n == 0))


def _of(wrong: Difference, chosen: Select) -> Select:  # type: ignore[type-arg]  # of whatever columns
    """Just the visits of that day of that thing."""
    c = events.c
    whole = (c.account == wrong.item, c.kind.not_in(NOT_IN_ACCOUNT_TOTALS))
    own = whole if wrong.kind == "account" else (c.kind == wrong.kind, c.item == wrong.item)
    return chosen.where(*own, c.at_ms // (DAY * 1000) == wrong.day)
