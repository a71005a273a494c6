"""The statistics page of an item: report of a span as a page and as CSV."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from waypost import clock, csv_export
from waypost.api.date_range import span
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Interval, Report, Span
from waypost.dashboard.context import PageContext

PRESET_DAYS = (7, 30, 90, 365)
_MAX_DAYS = 3660
_DIMENSION_TITLES = {
    "countries": "Countries",
    "referrers": "Referrers",
    "devices": "Devices",
    "browsers": "Browsers",
    "os": "Operating systems",
    "languages": "Languages",
    "sources": "Sources",
}
_COUNT_TITLES = {"file": "Downloads", "qr": "Scans", "campaign": "Visits", "missing": "Visits"}
"""Titles of the counted visits by kind of item."""


def requested_span(context: PageContext) -> Span:
    """Return the span of the query, in the user's time zone; 30 days by default. Raises INVALID."""
    today = datetime.fromtimestamp(clock.now(), context.time_zone).date()
    days = context.query_id("days")
    first, last = context.query("from"), context.query("to") or today.isoformat()
    if not first:
        end = max(_day(last, today), date.min + timedelta(days=_MAX_DAYS))
        first = (end - timedelta(days=min(days or 30, _MAX_DAYS) - 1)).isoformat()
    length = (_day(last, today) - _day(first, today)).days + 1
    interval = context.query("interval")
    default: Interval = "hour" if length <= 2 else "day" if length <= 100 else "week" if length <= 400 else "month"
    selected = next((name for name in _INTERVALS if name == interval), default)
    return span(first, last, selected, context.time_zone.key)


def page(
    context: PageContext,
    kind: str,
    item: int,
    *,
    title: str,
    back: str,
    template: str = "statistics.html",
    apart: str = "",
    **more: Any,
) -> Response:
    """Return the statistics page of an item. The caller has checked that it belongs to the account.

    `back` is the item's page. `template` extends statistics.html and shows the dimension `apart` itself.
    """
    report_span = requested_span(context)
    report = context.read_after_ingest(lambda tx: reports.report(tx, kind, item, report_span))
    if context.query("format") == "csv":
        return _csv_response(report, title)
    shown = report_context(context, report, report_span, kind)
    visits_path = f"/dashboard/visits?kind={kind}&item={item}"
    return context.render(template, title=title, back=back, apart=apart, visits_path=visits_path, **shown, **more)


def report_context(context: PageContext, report: Report, report_span: Span, kind: str = "") -> dict[str, Any]:
    """Return the template context of the report."""
    lists = [
        {
            "key": key,
            "name": name,
            "rows": list(report.dimensions[key].items())[:10],
            "sum": sum(report.dimensions[key].values()),
        }
        for key, name in _DIMENSION_TITLES.items()
        if report.dimensions[key]
    ]
    days = (report_span.end - report_span.start).days + 1
    at_end = report_span.end == datetime.fromtimestamp(clock.now(), context.time_zone).date()
    preset = days if at_end and days in PRESET_DAYS else 0
    base = {"report": report, "lists": lists, "counted": _COUNT_TITLES.get(kind, "Clicks")}
    return {**base, "preset": preset, "ranges": PRESET_DAYS, "intervals": _INTERVALS}


_INTERVALS: tuple[Interval, ...] = ("hour", "day", "week", "month")


def _day(value: str, default: date) -> date:
    """Parse a day to compute defaults. An invalid one is reported by `span`."""
    try:
        return date.fromisoformat(value)
    except ValueError:
        return default


def _csv_response(report: Report, title: str) -> Response:
    """Return the report as CSV, safe against formula injection."""

    def rows() -> Iterator[list[Any]]:
        names = list(asdict(report.total))
        yield ["part", "label", *names]
        for point in report.series:
            yield [report.interval, point.at, *(getattr(point, name) for name in names)]
        for part, labels in report.dimensions.items():
            for label, count in labels.items():
                yield [part, label, count]

    name = "".join(letter if letter.isalnum() else "-" for letter in title)[:60] or "statistics"
    disposition = f"attachment; filename=\"statistics.csv\"; filename*=UTF-8''{quote(f'{name}.csv')}"
    headers = {"Content-Disposition": disposition}
    return Response(csv_export.lines(rows()), media_type="text/csv; charset=utf-8", headers=headers)
