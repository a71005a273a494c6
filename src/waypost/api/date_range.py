"""The date range of a statistics request: `from`, `to`, `interval`, `timezone`."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import Depends, Query

from waypost.clicks.stats.reports import MAX_POINTS, Interval, Span
from waypost.core import clock
from waypost.core.errors import invalid

_DAYS = 30
_POINTS_A_DAY = {"hour": 24.0, "day": 1.0, "week": 1 / 7, "month": 1 / 28}
_FIRST = "First day, `YYYY-MM-DD`; 29 days before the last one by default."
_LAST = "Last day, `YYYY-MM-DD`; today in `timezone` by default."
_EARLIEST, _LATEST = date(2000, 1, 1), date(2200, 1, 1)


def span(
    first: Annotated[str | None, Query(alias="from", description=_FIRST, examples=["2026-11-01"])] = None,
    last: Annotated[str | None, Query(alias="to", description=_LAST, examples=["2026-11-30"])] = None,
    interval: Annotated[Interval, Query(description="Length of the points over time.", examples=["day"])] = "day",
    timezone: Annotated[str, Query(max_length=64, description="Name of a time zone.", examples=["Europe/Berlin"])] = (
        "UTC"
    ),
) -> Span:
    """Return the date range, 30 days by default. Raises INVALID on the invalid field."""
    zone = clock.zone(timezone)
    if zone is None:
        raise invalid("timezone", "timezone must be the name of a time zone, such as Europe/Berlin or UTC.")
    end = _day("to", last) if last is not None else clock.local(clock.now(), zone).date()
    start = _day("from", first) if first is not None else end - timedelta(days=_DAYS - 1)
    if start > end:
        raise invalid("from", "from must not be after to.")
    if ((end - start).days + 1) * _POINTS_A_DAY[interval] > MAX_POINTS:
        raise invalid("interval", f"interval is too short for this span: at most {MAX_POINTS} points at once.")
    return Span(start, end, interval, zone)


def _day(field: str, value: str) -> date:
    try:
        day = date.fromisoformat(value) if len(value) == len("2026-01-31") else None
    except ValueError:
        day = None
    if day is None or not _EARLIEST <= day <= _LATEST:
        raise invalid(field, f"{field} must be a day, YYYY-MM-DD.")
    return day


RequestedSpan = Annotated[Span, Depends(span)]
"""The requested date range."""
