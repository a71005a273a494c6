"""The filter of a list by a period: a preset of the statistics, or days of the user's choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from waypost.dashboard import periods
from waypost.dashboard.context import PageContext

PRESETS = tuple(pair for pair in periods.PRESETS if pair[0] != periods.ALL)
"""Values of the query parameter `period` with their labels."""


@dataclass(frozen=True)
class ListPeriod:
    """`preset` is one of PRESETS, "days" with the day `first` or `last`, or "".

    `since` is its first second, `until` the one after it; None does not restrict.
    """

    preset: str = ""
    first: str = ""
    last: str = ""
    since: int | None = None
    until: int | None = None


def requested(context: PageContext) -> ListPeriod:
    """Return the period of the query, in the user's time zone; invalid values restrict nothing."""
    preset = context.query("period")
    if preset in dict(PRESETS):
        since, until = periods.preset_seconds(context, preset)
        return ListPeriod(preset, since=since, until=until)
    if not has_days(context.request.query_params):
        return ListPeriod()
    first, last = _day(context.query("from")), _day(context.query("to"))
    return ListPeriod(
        "days" if first or last else "",
        first.isoformat() if first else "",
        last.isoformat() if last else "",
        None if first is None else _start(context, first),
        None if last is None else _start(context, last + timedelta(days=1)),
    )


def has_days(parameters: Mapping[str, str]) -> bool:
    """Return whether the days `from` and `to` restrict a list. Addresses of earlier versions have no `period`."""
    return parameters.get("period", "days") == "days"


def _day(value: str) -> date | None:
    """Return a day that has a day before and after it in every time zone, or None."""
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return None
    return day if 1 < day.year < 9999 else None


def _start(context: PageContext, day: date) -> int:
    """Return the Unix time at which a day begins in the viewer's time zone."""
    return int(datetime(day.year, day.month, day.day, tzinfo=context.time_zone).timestamp())
