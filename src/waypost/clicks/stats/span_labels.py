"""Clicks by label of exactly the seconds of a span. Totals by label are stored by day in UTC.

Whole days in UTC come from these totals. If a span has only a part of a day, the clicks of the part are counted from
single visits, if all of these are kept. Otherwise, the labels of the day share the clicks of the part, whose number is
known by quarter of an hour, in the proportion that they have on the whole day. So all sums are those of the totals
(ADR 17). Regions and cities, which single visits do not have, are always shared in this way.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from waypost.clicks.blocks.visit_counts import Counts, Parts
from waypost.clicks.classify.label_tables import NETWORKS
from waypost.clicks.ingest.aggregate import DAY, PLACES
from waypost.clicks.ingest.label_limits import OTHER
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.clicks.stats.subjects import ACCOUNT, Subject
from waypost.core import module_loading
from waypost.db.schema import click_labels, click_times
from waypost.db.statements import TypedSelect

LabelCounts = Mapping[str, Mapping[str, int]]
"""Clicks by dimension and label."""
_FILTERED = "waypost.clicks.blocks.filtered_counts"
_ONLY_LABELS: Parts = frozenset({"labels"})
_labels, _times = click_labels.c, click_times.c
_n = func.sum(_labels.n).label("n")
_OF_DAYS = TypedSelect(
    select(_labels.dimension, _labels.label, _n)
    .where(
        _labels.account == bindparam("account"), _labels.kind == bindparam("kind"), _labels.item == bindparam("item")
    )
    .where(_labels.day.between(bindparam("first"), bindparam("last")))
    .group_by(_labels.dimension, _labels.label)
    .order_by(_n.desc(), _labels.label)
)


def of_days(tx: Connection, subject: Subject, first: int, last: int) -> LabelCounts:
    """Return the counts from day `first` to day `last` in UTC, the most frequent labels first."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    for dimension, label, n in _rows_of_days(tx, subject, first, last):
        counts[dimension][label] = int(n)
    return counts


def _rows_of_days(tx: Connection, subject: Subject, first: int, last: int) -> Iterable[Any]:
    if subject.members is None:
        own = {"account": subject.account, "kind": subject.kind, "item": subject.item}
        return _OF_DAYS.fetch_all(tx, **own, first=first, last=last)
    in_days = select(_labels.dimension, _labels.label, _n).where(_labels.day.between(first, last))
    query = in_days.where(subject.condition(_labels)).group_by(_labels.dimension, _labels.label)
    return tx.execute(query.order_by(_n.desc(), _labels.label))


def of_seconds(tx: Connection, subject: Subject, first: int, after: int) -> LabelCounts:
    """Return the counts from second `first` to before `after`, the most frequent labels first."""
    first_day, day_after = -(-first // DAY), after // DAY
    whole = of_days(tx, subject, first_day, day_after - 1) if first_day < day_after else {}
    parts = [part for edge in _edges(first, after) if (part := _of_part(tx, subject, *edge))]
    if not parts:
        return whole
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for counts in (whole, *parts):
        for dimension, labels in counts.items():
            sums[dimension].update(labels)
    return {
        dimension: dict(sorted(labels.items(), key=lambda pair: (-pair[1], pair[0])))
        for dimension, labels in sums.items()
    }


def _edges(first: int, after: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span that are no whole days in UTC."""
    first_midnight, last_midnight = -(-first // DAY) * DAY, after // DAY * DAY
    if first_midnight > last_midnight:
        yield first, after
        return
    if first < first_midnight:
        yield first, first_midnight
    if last_midnight < after:
        yield last_midnight, after


def _of_part(tx: Connection, subject: Subject, first: int, after: int) -> LabelCounts:
    """Return the counts of a part of a day."""
    day = first // DAY
    is_inside = (_times.at >= first, _times.at < after)
    is_on_day = (_times.at >= day * DAY, _times.at < (day + 1) * DAY)
    query = select(func.sum(_times.clicks), func.sum(_times.clicks).filter(*is_inside)).where(
        subject.condition(_times), *is_on_day
    )
    of_day, inside = (int(value or 0) for value in tx.execute(query).one())
    if not inside:
        return {}
    counts = dict(of_days(tx, subject, day, day))
    if inside == of_day:
        return counts
    places = {name: _share(counts.pop(name), inside, of_day) for name in PLACES if name in counts}
    for start, end, is_rest in _countable(first, after):
        visits = _of_visits(tx, subject, start, end)
        if sum(row[0] for row in visits.times.values()) != (of_day - inside if is_rest else inside):
            continue
        labels = _with_labels_of(visits, counts)
        if not is_rest:
            return {**labels, **places}
        if (remaining := _without(counts, labels)) is not None:
            return {**remaining, **places}
    return {**{dimension: _share(labels, inside, of_day) for dimension, labels in counts.items()}, **places}


def _countable(first: int, after: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the seconds whose visits tell the counts of a part of a day: the shorter of part and rest of the day first.

    The flag says that it is the rest.
    """
    begin = first // DAY * DAY
    rest = (after, begin + DAY) if first == begin else (begin, first) if after == begin + DAY else None
    if rest and after - first > DAY // 2:
        yield *rest, True
    yield first, after, False
    if rest and after - first <= DAY // 2:
        yield *rest, True


def _of_visits(tx: Connection, subject: Subject, first: int, after: int) -> Counts:
    """Count the single visits that are kept."""
    if subject.members is not None:
        visit_filter = VisitFilter(members=subject.members)
    elif subject.kind == ACCOUNT:
        visit_filter = VisitFilter()
    else:
        visit_filter = VisitFilter(subject.kind, subject.item)
    filtered: Any = module_loading.load(_FILTERED)
    counts: Counts = filtered.count(tx, subject.account, visit_filter, first, after, parts=_ONLY_LABELS)
    return counts


def _with_labels_of(visits: Counts, day: LabelCounts) -> LabelCounts:
    """Return the counts of single visits with the labels of their day: rare labels of a busy day are "Other"."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for dimension, labels in visits.labels.items():
        known = day.get(dimension, {})
        for label, n in labels.items():
            if label:
                counts[dimension][label if label in known else OTHER] += n
            if dimension == "referrer" and label in NETWORKS:
                counts["network"][NETWORKS[label]] += n
    return counts


def _without(day: LabelCounts, rest: LabelCounts) -> LabelCounts | None:
    """Return the counts of a day without those of its rest; None if a label of the rest was counted as "Other"."""
    counts = {
        dimension: {label: n - rest.get(dimension, {}).get(label, 0) for label, n in labels.items()}
        for dimension, labels in day.items()
    }
    if any(n < 0 for labels in counts.values() for n in labels.values()):
        return None
    return {dimension: {label: n for label, n in labels.items() if n} for dimension, labels in counts.items()}


def _share(labels: Mapping[str, int], inside: int, of_day: int) -> Mapping[str, int]:
    """Return the part `inside` / `of_day` of each count, rounded so that the sum is right (largest remainders)."""
    total = (sum(labels.values()) * inside + of_day // 2) // of_day
    parts = {label: divmod(n * inside, of_day) for label, n in labels.items()}
    missing = total - sum(whole for whole, _ in parts.values())
    largest = sorted(parts, key=lambda label: (-parts[label][1], label))[: max(0, missing)]
    shares = {label: whole + (label in largest) for label, (whole, _) in parts.items()}
    return {label: n for label, n in shares.items() if n}
