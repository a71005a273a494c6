"""What is known of the clicks of one thing, or of a whole account. Reads sums, never single clicks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, func, select

from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY
from waypost.db.schema import click_labels, click_times

Interval = Literal["hour", "day", "week", "month"]
MOST_POINTS = 10_000
_TOP = 50
_SUMS = ("clicks", "uniques", "bots", "previews", "others", "late")
# The names under which dimensions are shown.
_SHOWN = {
    "country": "countries",
    "referrer": "referrers",
    "browser": "browsers",
    "os": "os",
    "device": "devices",
    "language": "languages",
    "source": "sources",
    "network": "networks",
}


@dataclass(frozen=True)
class Block:
    """The statistics block of the API document: counts by label, as strings."""

    clicks: int
    uniqueClicks: int  # noqa: N815  # the API document's spelling, here and below
    topCountries: Mapping[str, str] = field(default_factory=dict)  # noqa: N815
    topReferrers: Mapping[str, str] = field(default_factory=dict)  # noqa: N815
    topBrowsers: Mapping[str, str] = field(default_factory=dict)  # noqa: N815
    topOs: Mapping[str, str] = field(default_factory=dict)  # noqa: N815
    socialCount: Mapping[str, int] = field(default_factory=dict)  # noqa: N815


@dataclass(frozen=True)
class Sums:
    """Visits by what they counted as: `late` came after the end of a link, `others` asked without looking."""

    clicks: int = 0
    uniqueClicks: int = 0  # noqa: N815
    bots: int = 0
    previews: int = 0
    others: int = 0
    late: int = 0


@dataclass(frozen=True)
class Point(Sums):
    """The visits from `at` (local time of the wanted zone) to the next point."""

    at: str = ""


@dataclass(frozen=True)
class Report:
    """The visits of a span: in all, over time, and by label of each dimension (whole days, UTC)."""

    start: str
    end: str
    interval: Interval
    timezone: str
    total: Sums
    series: list[Point]
    dimensions: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Span:
    """Whole days from `start` to `end`, both included, in the zone's time."""

    start: date
    end: date
    interval: Interval
    zone: ZoneInfo

    def seconds(self) -> tuple[int, int]:
        """The first second and the second after the last."""
        first = datetime.combine(self.start, time.min, self.zone)
        after = datetime.combine(self.end + timedelta(days=1), time.min, self.zone)
        return int(first.timestamp()), int(after.timestamp())


def block(tx: Connection, kind: str, item: int, *, clicks: int, uniques: int) -> Block:
    """The block of one thing, whose totals the caller has read in the same transaction."""
    labels = {name: _labels(tx, kind, item, name, ALL_DAYS, ALL_DAYS) for name in _SHOWN}
    text = {name: {label: str(n) for label, n in found.items()} for name, found in labels.items()}
    networks = {key: labels["network"].get(key, 0) for key in ("social_a", "social_b", "social_c")}
    return Block(clicks, uniques, text["country"], text["referrer"], text["browser"], text["os"], networks)


def report(tx: Connection, kind: str, item: int, span: Span) -> Report:
    """Everything about the visits of a span (primary keys of click_times and click_labels)."""
    first, after = span.seconds()
    c = click_times.c
    chosen = select(c.at, *(c[name] for name in _SUMS)).where(
        c.kind == kind, c.item == item, c.at >= first, c.at < after
    )
    buckets = {start: [0] * len(_SUMS) for start in _starts(span)}
    total = [0] * len(_SUMS)
    for row in tx.execute(chosen):
        bucket = buckets[_start_of(row.at, span)]
        for place, n in enumerate(row[1:]):
            bucket[place] += n
            total[place] += n
    days = first // DAY, (after - 1) // DAY
    return Report(
        start=span.start.isoformat(),
        end=span.end.isoformat(),
        interval=span.interval,
        timezone=span.zone.key,
        total=Sums(**_named(total)),
        series=[Point(**_named(sums), at=start.strftime("%Y-%m-%d %H:%M:%S")) for start, sums in buckets.items()],
        dimensions={shown: _labels(tx, kind, item, name, *days) for name, shown in _SHOWN.items()},
    )


def labelled(tx: Connection, kind: str, item: int, dimension: str, span: Span) -> dict[str, int]:
    """Every label of one dimension, from the span's first day to its last (whole days, UTC)."""
    first, after = span.seconds()
    return _labels(tx, kind, item, dimension, first // DAY, (after - 1) // DAY, most=None)


def _named(sums: list[int]) -> dict[str, int]:
    return dict(zip(("clicks", "uniqueClicks", *_SUMS[2:]), sums, strict=True))


def _labels(
    tx: Connection, kind: str, item: int, dimension: str, first: int, last: int, *, most: int | None = _TOP
) -> dict[str, int]:
    """The most frequent labels of a dimension from one day to another."""
    c = click_labels.c
    n = func.sum(c.n).label("n")
    mine = (c.kind == kind, c.item == item, c.dimension == dimension, c.day.between(first, last))
    chosen = select(c.label, n).where(*mine).group_by(c.label).order_by(n.desc(), c.label).limit(most)
    return {row.label: int(row.n) for row in tx.execute(chosen)}


def _start_of(second: int, span: Span) -> datetime:
    """The local start of the point that a second belongs to; the first point may begin before the span."""
    local = datetime.fromtimestamp(second, span.zone).replace(tzinfo=None)
    if span.interval == "hour":
        return local.replace(minute=0, second=0)
    return _begin(local.replace(hour=0, minute=0, second=0), span.interval)


def _begin(midnight: datetime, interval: Interval) -> datetime:
    """The midnight with which the day's point begins."""
    if interval == "week":
        return midnight - timedelta(days=midnight.weekday())
    return midnight.replace(day=1) if interval == "month" else midnight


def _starts(span: Span) -> list[datetime]:
    """The local start of every point of the span, those without visits too."""
    if span.interval == "hour":  # not every hour is there on every day
        first, after = span.seconds()
        return sorted({_start_of(second, span) for second in (*range(first, after, 3600), after - 1)})
    days = (span.start + timedelta(days=n) for n in range((span.end - span.start).days + 1))
    return list(dict.fromkeys(_begin(datetime.combine(day, time.min), span.interval) for day in days))
