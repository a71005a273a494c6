"""The period of a statistics page: presets, days of the user's choice, and the period before it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, select

from waypost.api.types import date_range
from waypost.clicks.ingest.aggregate import DAY
from waypost.clicks.stats.reports import Interval, Span, point_starts
from waypost.core import clock, formats
from waypost.core.errors import Problem, invalid
from waypost.dashboard.context import PageContext
from waypost.dashboard.i18n import gettext_noop
from waypost.db.schema import accounts

DAY_PRESET = "24h"
PRESETS = (
    ("today", gettext_noop("Today")),
    (DAY_PRESET, gettext_noop("24 hours")),
    ("yesterday", gettext_noop("Yesterday")),
    ("7", gettext_noop("7 days")),
    ("30", gettext_noop("30 days")),
    ("90", gettext_noop("90 days")),
    ("last-week", gettext_noop("Last week")),
    ("month", gettext_noop("This month")),
    ("last-month", gettext_noop("Last month")),
    ("year", gettext_noop("This year")),
    ("all", gettext_noop("All time")),
)
"""Values of the query parameter `period` with their labels."""
DEFAULT, ALL = "30", "all"
INTERVAL_LABELS: Mapping[Interval, str] = {
    "hour": gettext_noop("Hour"),
    "day": gettext_noop("Day"),
    "week": gettext_noop("Week"),
    "month": gettext_noop("Month"),
}
BEFORE, YEAR, NOTHING = "", "year", "none"
COMPARISONS = (
    (BEFORE, gettext_noop("Period before")),
    (YEAR, gettext_noop("A year before")),
    (NOTHING, gettext_noop("Nothing")),
)
"""Values of the query parameter `compare` with their labels."""
_INTERVALS = tuple(INTERVAL_LABELS)
_MAX_DAYS = 3660
_MAX_DAYS_BY_HOUR = 31  # of a page with bounds


@dataclass(frozen=True)
class Bounds:
    """The days that a page may show, in a time zone. `default` is the preset without a choice of the visitor."""

    first: date
    last: date
    zone: ZoneInfo
    default: str = ALL

    def contain(self, span: Span) -> bool:
        """Return whether a span is within these days."""
        return self.first <= span.start and span.end <= self.last


@dataclass(frozen=True)
class Period:
    """The period of a page. `preset` is "" for days that the user chose.

    `error` is the message for invalid days; the period is then the default. Nothing outside of `bounds` may be shown.
    `compared` is one of COMPARISONS: the span that it is compared with is `previous`.
    """

    span: Span
    preset: str = ""
    error: str = ""
    bounds: Bounds | None = None
    compared: str = BEFORE

    @property
    def unfinished_point(self) -> int | None:
        """The number of the point that contains the present, whose counts are not complete; None for past periods."""
        first, after = self.span.seconds()
        now = clock.now()
        return point_starts(self.span)(now) if first <= now < after else None

    @property
    def previous(self) -> Span:
        """The span of the same length before this one, or of the same days a year before.

        A whole calendar month is compared with the month before.
        """
        if self.compared == BEFORE and not self.span.part and (month := _month_before(self.span)):
            return replace(self.span, start=month[0], end=month[1])
        days = (self.span.end - self.span.start).days + 1
        if self.compared == YEAR:
            days = (self.span.start - _year_before(self.span.start)).days
        if self.span.part:
            first, after = self.span.part
            shifted = days * DAY if self.compared == YEAR else after - first
            previous = _hours(first - shifted, after - shifted, self.span.zone)
            return replace(previous, first_weekday=self.span.first_weekday)
        shift = timedelta(days=min(days, (self.span.start - date.min).days))
        return replace(self.span, start=self.span.start - shift, end=self.span.end - shift)

    @property
    def has_previous(self) -> bool:
        """Return whether the previous span is requested, and may be shown."""
        return self.compared != NOTHING and (self.bounds is None or self.bounds.contain(self.previous))

    def previous_seconds(self) -> tuple[int, int]:
        """Return the first second of the previous span and the second after its last comparable one.

        Of a running period, only the part until now can be compared.
        """
        first, after = self.previous.seconds()
        start, end = self.span.seconds()
        now = clock.now()
        return first, after if now >= end else min(after, first + now - start)


def default(context: PageContext) -> Period:
    """Return the period of a statistics page without a choice of the user."""
    return Period(_preset_span(context, DEFAULT, context.time_zone, None), DEFAULT)


def requested(context: PageContext, bounds: Bounds | None = None) -> Period:
    """Return the period of the query, in the user's time zone; with `bounds` only the part within them, in their zone.

    A preset that is not within the bounds is their default. Weeks begin as in the reader's region.
    """
    period = _requested(context, bounds)
    compared = next((value for value, _ in COMPARISONS if value == context.query("compare")), BEFORE)
    local_span = replace(period.span, first_weekday=formats.first_weekday(context.region))
    return replace(period, span=local_span, compared=compared)


def preset_seconds(context: PageContext, preset: str) -> tuple[int, int]:
    """Return the first second of a preset in the user's time zone, and the second after the last one."""
    return _preset_span(context, preset, context.time_zone, None).seconds()


def _requested(context: PageContext, bounds: Bounds | None) -> Period:
    zone, default = (bounds.zone, bounds.default) if bounds else (context.time_zone, DEFAULT)
    if context.query("from") or context.query("to"):
        try:
            return Period(_chosen_span(context, zone, bounds), bounds=bounds)
        except Problem as problem:
            return Period(_preset_span(context, default, zone, bounds), default, problem.message, bounds)
    preset = context.query("period") or context.query("days") or default
    preset = preset if preset in dict(presets(context, bounds)) else default
    return Period(_preset_span(context, preset, zone, bounds), preset, bounds=bounds)


def presets(context: PageContext, bounds: Bounds | None) -> tuple[tuple[str, str], ...]:
    """Return the presets within the bounds that show only a part of them, with their labels, and the whole."""
    if bounds is None:
        return PRESETS
    spans = {pair: _preset_span(context, pair[0], bounds.zone, None) for pair in PRESETS if pair[0] != ALL}
    whole = (bounds.first, bounds.last)
    within = (pair for pair, part in spans.items() if bounds.contain(part) and (part.start, part.end) != whole)
    return (*within, (ALL, "Whole period"))


def _chosen_span(context: PageContext, zone: ZoneInfo, bounds: Bounds | None) -> Span:
    today = _today(zone)
    last = context.query("to") or today.isoformat()
    default = timedelta(days=int(DEFAULT) - 1)
    first = context.query("from") or (max(_day(last, today), date.min + default) - default).isoformat()
    days = (_day(last, today) - _day(first, today)).days + 1
    if days < 1:
        raise invalid("from", "The first day must not be after the last one.")
    requested_span = date_range(first, last, _interval(context, days), zone.key)
    if bounds is None:
        return requested_span
    start, end = max(requested_span.start, bounds.first), min(requested_span.end, bounds.last)
    if start > end:
        raise invalid("from", "These days are not in the period that is shared.")
    return _days(context, start, end, zone, bounds)


def _preset_span(context: PageContext, preset: str, zone: ZoneInfo, bounds: Bounds | None) -> Span:
    if preset == DAY_PRESET:
        hour = clock.local(clock.now(), zone).replace(minute=0, second=0)
        after = int(hour.timestamp()) + 3600
        return _hours(after - 24 * 3600, after, zone)
    if preset == ALL and bounds:
        return _days(context, bounds.first, bounds.last, zone, bounds)
    today = _today(zone)
    if preset == ALL:
        first = max(context.read(lambda tx: _registration_day(tx, context)), today - timedelta(days=_MAX_DAYS))
        return _days(context, min(first, today), today, zone, bounds)
    calendar = _calendar_days(today, formats.first_weekday(context.region))
    first, last = calendar.get(preset) or (today - timedelta(days=int(preset) - 1), today)
    return _days(context, first, last, zone, bounds)


def _calendar_days(today: date, first_weekday: int) -> Mapping[str, tuple[date, date]]:
    """Return the first and the last day of each preset that follows the calendar."""
    day, month = timedelta(days=1), today.replace(day=1)
    week = today - (today.weekday() - first_weekday) % 7 * day
    return {
        "today": (today, today),
        "yesterday": (today - day, today - day),
        "last-week": (week - 7 * day, week - day),
        "month": (month, today),
        "last-month": ((month - day).replace(day=1), month - day),
        "year": (today.replace(month=1, day=1), today),
    }


def _month_before(span: Span) -> tuple[date, date] | None:
    """Return the first and last day of the month before a whole calendar month; None for other spans."""
    day = timedelta(days=1)
    is_month = (span.start.day, span.start.replace(day=1)) == (1, span.end.replace(day=1))
    if not is_month or span.start == date.min or span.end == date.max or (span.end + day).day != 1:
        return None
    last = span.start - day
    return last.replace(day=1), last


def _year_before(day: date) -> date:
    """Return the same day of the year before; February 28 for February 29."""
    leap_day = (day.month, day.day) == (2, 29)
    return day.replace(year=max(day.year - 1, 1), day=28 if leap_day else day.day)


def _days(context: PageContext, first: date, last: date, zone: ZoneInfo, bounds: Bounds | None) -> Span:
    interval = _interval(context, (last - first).days + 1, bounds)
    return date_range(first.isoformat(), last.isoformat(), interval, zone.key)


def _hours(first: int, after: int, zone: ZoneInfo) -> Span:
    """Return the span of these seconds by hour."""
    days = (clock.local(first, zone).date(), clock.local(after - 1, zone).date())
    return Span(*days, "hour", zone, (first, after))


def _interval(context: PageContext, days: int, bounds: Bounds | None = None) -> Interval:
    """Return the interval of the query; by default one that gives 24 to 100 points.

    Visitors of a page with bounds cannot ask for thousands of points.
    """
    default: Interval = "hour" if days <= 2 else "day" if days <= 100 else "week" if days <= 400 else "month"
    allowed = _INTERVALS[1:] if bounds and days > _MAX_DAYS_BY_HOUR else _INTERVALS
    return next((name for name in allowed if name == context.query("interval")), default)


def _registration_day(tx: Connection, context: PageContext) -> date:
    second = tx.execute(select(accounts.c.registered).where(accounts.c.id == context.account)).scalar_one()
    return clock.local(second, context.time_zone).date()


def _today(zone: ZoneInfo) -> date:
    return clock.local(clock.now(), zone).date()


def _day(value: str, default: date) -> date:
    """Parse a day to compute defaults. An invalid one is reported by `span`."""
    try:
        return date.fromisoformat(value)
    except ValueError:
        return default
