"""Click statistics of one item or of a whole account, read from roll-ups, never from events."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field
from sqlalchemy import BigInteger, Connection, cast, func, select, text

from waypost.clicks.geo.countries import UNKNOWN
from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY, IMPORTED, PLACES
from waypost.clicks.ingest.label_limits import OTHER
from waypost.clicks.stats import span_labels
from waypost.clicks.stats.span_labels import LabelCounts
from waypost.clicks.stats.subjects import ACCOUNT, Subject
from waypost.db.schema import click_labels, click_times, links
from waypost.db.statements import is_one_of

_links = links.c
# The literal lets both databases use the partial index links_account_imported, which contains all columns.
_IMPORTED_OF_ACCOUNT = select(func.coalesce(func.sum(_links.importedclicks), 0)).where(text("links.importedclicks > 0"))
MIN_VISITORS = 5
"""Visitors of a place that is named: with fewer, someone could recognize a person."""
_MAX_PLACES = 40
_NAMELESS = (UNKNOWN, OTHER)


def untimed_clicks(tx: Connection, subject: Subject) -> int:
    """Return such clicks of a link, of the links of a group, or of all links of the account; 0 for other kinds."""
    query = _IMPORTED_OF_ACCOUNT.where(_links.account == subject.account)
    if subject.members is not None:
        query = query.where(is_one_of(_links.id, subject.members.get("link", ())))
    elif subject.kind == "link":
        query = query.where(_links.id == subject.item)
    elif subject.kind != ACCOUNT:
        return 0
    return int(tx.execute(query).scalar_one())


Interval = Literal["hour", "day", "week", "month"]
MAX_POINTS = 10_000
MAX_LABELS = 50
"""Labels of a dimension in a report, except countries."""
_MAX_COUNTRIES = 300  # all of them, for the map
COUNTS = ("clicks", "uniques", "bots", "previews", "others", "late")
"""The columns of `click_times` with counts, in the order of the fields of `VisitCounts`."""
# Dimensions and their names in the API.
_DIMENSIONS = {
    "country": "countries",
    "referrer": "referrers",
    "browser": "browsers",
    "os": "os",
    "device": "devices",
    "language": "languages",
    "source": "sources",
    "network": "networks",
}


# Fields of the API, with their meaning.
Clicks = Annotated[int, Field(description="Visits by people, without bots and link previews.", examples=[128])]
UniqueClicks = Annotated[int, Field(description="Distinct visitors, counted per day.", examples=[97])]
_Labels = Mapping[str, str]
_NO_LABELS: Mapping[str, int] = {}
Times = Mapping[int, Sequence[int]]
"""The counts (`COUNTS`) of each quarter of an hour, by its first second."""
_DATE = "2026-11-01"


@dataclass(frozen=True)
class StatisticsBlock:
    """Statistics of an item over its whole life. Counts by label are strings."""

    clicks: Clicks
    uniqueClicks: UniqueClicks
    topCountries: Annotated[_Labels, Field(description="Clicks by country.", examples=[{"Germany": "80"}])] = field(
        default_factory=dict
    )
    topReferrers: Annotated[
        _Labels, Field(description="Clicks by site that visitors came from.", examples=[{"news.example.com": "41"}])
    ] = field(default_factory=dict)
    topBrowsers: Annotated[_Labels, Field(description="Clicks by browser.", examples=[{"Firefox": "52"}])] = field(
        default_factory=dict
    )
    topOs: Annotated[_Labels, Field(description="Clicks by operating system.", examples=[{"Android": "61"}])] = field(
        default_factory=dict
    )
    socialCount: Annotated[
        Mapping[str, int],
        Field(
            description="Clicks from Facebook (`social_a`), X (`social_b`) and Instagram (`social_c`).",
            examples=[{"social_a": 12, "social_b": 3, "social_c": 9}],
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class VisitCounts:
    """Visits by outcome."""

    clicks: Clicks = 0
    uniqueClicks: UniqueClicks = 0
    bots: Annotated[int, Field(description="Visits by crawlers.", examples=[14])] = 0
    previews: Annotated[int, Field(description="Link previews of chats and social networks.", examples=[6])] = 0
    others: Annotated[int, Field(description="HEAD requests and prefetches.", examples=[2])] = 0
    late: Annotated[int, Field(description="Visits after the expiry or the limit.", examples=[0])] = 0


@dataclass(frozen=True)
class Point(VisitCounts):
    """The visits from `at` until the next point."""

    at: Annotated[
        str, Field(description="Start of the point, in the requested time zone.", examples=[f"{_DATE} 00:00:00"])
    ] = field(kw_only=True)


@dataclass(frozen=True)
class Report:
    """The visits of a span: total, over time, and by label of each dimension."""

    start: Annotated[str, Field(description="First day.", examples=[_DATE])]
    end: Annotated[str, Field(description="Last day.", examples=["2026-11-30"])]
    interval: Annotated[Interval, Field(description="Length of the points over time.", examples=["day"])]
    timezone: Annotated[str, Field(description="Time zone of the days and points.", examples=["UTC"])]
    total: Annotated[VisitCounts, Field(description="All visits of the span.")]
    series: Annotated[list[Point], Field(description="The visits over time, also points without visits.")]
    dimensions: Annotated[
        Mapping[str, Mapping[str, int]],
        Field(
            description="Clicks by label of each dimension, in the same days as the total: all `countries`, and at most"
            " 50 `referrers`, `browsers`, `os`, `devices`, `languages`, `sources` and `networks`.",
            examples=[{"countries": {"Germany": 80, "France": 31}, "devices": {"Mobile": 90, "Desktop": 38}}],
        ),
    ]


@dataclass(frozen=True)
class Span:
    """Whole days from `start` to `end`, inclusive, in a time zone; with `part` only these seconds of them.

    Weeks begin with `first_weekday`, 0 for Monday.
    """

    start: date
    end: date
    interval: Interval
    zone: ZoneInfo
    part: tuple[int, int] | None = None
    first_weekday: int = 0

    def seconds(self) -> tuple[int, int]:
        """Return the first second and the second after the last, since 1970."""
        if self.part:
            return self.part
        first = datetime.combine(self.start, time.min, self.zone)
        after = datetime.combine(self.end + timedelta(days=1), time.min, self.zone)
        return int(first.timestamp()), int(after.timestamp())


def block(tx: Connection, account: int, kind: str, item: int, *, clicks: int, uniques: int) -> StatisticsBlock:
    """Return the statistics of one item. The caller has read its totals in the same transaction."""
    labels = _most_frequent(span_labels.of_days(tx, Subject(account, kind, item), ALL_DAYS, ALL_DAYS))
    text = {name: {label: str(n) for label, n in counts.items()} for name, counts in labels.items()}
    networks = {key: labels["network"].get(key, 0) for key in ("social_a", "social_b", "social_c")}
    return StatisticsBlock(clicks, uniques, text["country"], text["referrer"], text["browser"], text["os"], networks)


def report(tx: Connection, account: int, kind: str, item: int, span: Span) -> Report:
    """Return the report of a span (uses the primary keys of click_times and click_labels)."""
    return with_times(tx, Subject(account, kind, item), span)[0]


def with_times(tx: Connection, subject: Subject, span: Span) -> tuple[Report, Times]:
    """Return the report of a span, and its counts by time."""
    first, after = span.seconds()
    times = times_of(tx, subject, first, after)
    return compose(span, times, span_labels.of_seconds(tx, subject, first, after)), times


def compose(span: Span, times: Times, labels: LabelCounts) -> Report:
    """Return the report of a span from its counts by time, and by dimension and label, the most frequent ones first."""
    total, series = summarize(span, times)
    shown = _most_frequent(labels)
    return Report(
        start=span.start.isoformat(),
        end=span.end.isoformat(),
        interval=span.interval,
        timezone=span.zone.key,
        total=total,
        series=series,
        dimensions={key: shown[name] for name, key in _DIMENSIONS.items()},
    )


def over_time(tx: Connection, subject: Subject, span: Span, after: int) -> tuple[VisitCounts, list[Point]]:
    """Return the visits of a span before the second `after`: the total, and each point."""
    return summarize(span, times_of(tx, subject, span.seconds()[0], after))


def times_of(tx: Connection, subject: Subject, first: int, after: int) -> Times:
    """Return the counts by quarter of an hour from second `first` to before `after` (primary key of click_times)."""
    c = click_times.c
    counts = [c[name] for name in COUNTS]
    if subject.members is None:
        query = select(c.at, *counts)
    else:
        query = select(c.at, *(cast(func.sum(count), BigInteger) for count in counts)).group_by(c.at)
    rows = tx.execute(query.where(subject.condition(c), c.at >= first, c.at < after))
    return {row[0]: row[1:] for row in rows}


def summarize(span: Span, times: Times) -> tuple[VisitCounts, list[Point]]:
    """Return the total of a span, and each point, from counts by quarter of an hour."""
    buckets = {start: [0] * len(COUNTS) for start in _starts(span)}
    total = [0] * len(COUNTS)
    for second, counts in times.items():
        bucket = buckets[_start_of(second, span)]
        for index, n in enumerate(counts):
            bucket[index] += n
            total[index] += n
    points = [Point(*sums, at=start.strftime("%Y-%m-%d %H:%M:%S")) for start, sums in buckets.items()]
    return VisitCounts(*total), points


def point_starts(span: Span) -> Callable[[int], int]:
    """Return a function from a second of the span to the number of its point."""
    seconds = [start.replace(tzinfo=span.zone).timestamp() for start in _starts(span)]
    return lambda second: max(0, bisect_right(seconds, second) - 1)


def clicks_by_hour_of_week(times: Times, zone: ZoneInfo) -> list[list[int]]:
    """Return the clicks of each hour of each weekday, Monday first."""
    hours = [[0] * 24 for _ in range(7)]
    for second, counts in times.items():
        if clicks := counts[0]:
            local = datetime.fromtimestamp(second, zone)
            hours[local.weekday()][local.hour] += clicks
    return hours


def label_counts(tx: Connection, account: int, kind: str, item: int, dimension: str, span: Span) -> Mapping[str, int]:
    """Return the count of every label of one dimension in a span."""
    return _labels_of_dimension(tx, Subject(account, kind, item), dimension, span)


def imported_clicks(tx: Connection, subject: Subject, span: Span) -> int:
    """Return the imported ones of the clicks of a span. Most items have none, which one statement tells."""
    c, (first, after) = click_labels.c, span.seconds()
    own = (subject.condition(c), c.dimension == IMPORTED)
    is_in_span = c.day.between(first // DAY, (after - 1) // DAY)
    if tx.execute(select(c.n).where(*own, is_in_span).limit(1)).first() is None:
        return 0
    return sum(_labels_of_dimension(tx, subject, IMPORTED, span).values())


def clicks_by_item(tx: Connection, subject: Subject, first: int, after: int) -> dict[tuple[str, int], int]:
    """Return the clicks of each clicked item of a group from second `first` to before `after`, most clicks first."""
    c, n = click_times.c, func.sum(click_times.c.clicks)
    query = select(c.kind, c.item, n).where(subject.condition(c), c.at >= first, c.at < after, c.clicks > 0)
    rows = tx.execute(query.group_by(c.kind, c.item).order_by(n.desc(), c.kind, c.item))
    return {(kind, item): int(clicks) for kind, item, clicks in rows}


def _labels_of_dimension(tx: Connection, subject: Subject, dimension: str, span: Span) -> Mapping[str, int]:
    return span_labels.of_seconds(tx, subject, *span.seconds()).get(dimension, _NO_LABELS)


def _most_frequent(counts: LabelCounts) -> dict[str, dict[str, int]]:
    """Return the labels of each dimension that a report contains."""
    return {name: dict(islice(counts.get(name, _NO_LABELS).items(), _max_labels(name))) for name in _DIMENSIONS}


def _max_labels(name: str) -> int:
    return _MAX_COUNTRIES if name == "country" else MAX_LABELS


def _start_of(second: int, span: Span) -> datetime:
    """Return the local start of the point that a second belongs to. The first point may start before the span."""
    local = datetime.fromtimestamp(second, span.zone).replace(tzinfo=None)
    if span.interval == "hour":
        return local.replace(minute=0, second=0)
    return _first_midnight(local.replace(hour=0, minute=0, second=0), span)


def _first_midnight(midnight: datetime, span: Span) -> datetime:
    """Return the first midnight of the point that a day belongs to."""
    if span.interval == "week":
        return midnight - timedelta(days=(midnight.weekday() - span.first_weekday) % 7)
    return midnight.replace(day=1) if span.interval == "month" else midnight


def _starts(span: Span) -> list[datetime]:
    """Return the local start of every point of the span, including points without visits."""
    if span.interval == "hour":  # days with a clock change have 23 or 25 hours
        first, after = span.seconds()
        return sorted({_start_of(second, span) for second in (*range(first, after, 3600), after - 1)})
    begin = _first_midnight(datetime.combine(span.start, time.min), span)
    if span.interval == "month":
        months = range(begin.year * 12 + begin.month - 1, span.end.year * 12 + span.end.month)
        return [datetime.combine(date(month // 12, month % 12 + 1, 1), time.min) for month in months]
    days = range(0, (span.end - begin.date()).days + 1, 7 if span.interval == "week" else 1)
    return [begin + timedelta(days=day) for day in days]


def visitors_by_place(tx: Connection, subject: Subject, span: Span) -> dict[str, dict[str, int]]:
    """Return the visitors of a span by dimension (`PLACES`) and label, most visitors first."""
    counts = span_labels.of_seconds(tx, subject, *span.seconds())
    return {name: hide_rare(counts.get(name, {})) for name in PLACES}


def hide_rare(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the most frequent places, and the visitors of all others as "Other"; most visitors first."""
    frequent = sorted((-n, label) for label, n in counts.items() if n >= MIN_VISITORS and label not in _NAMELESS)
    shown = {label: -n for n, label in frequent[:_MAX_PLACES]}
    if unknown := counts.get(UNKNOWN, 0):
        shown[UNKNOWN] = unknown
    if others := sum(counts.values()) - sum(shown.values()):
        shown[OTHER] = others
    return dict(sorted(shown.items(), key=lambda pair: (-pair[1], pair[0])))
