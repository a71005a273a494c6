"""The statistics page that every noun has: a span, what was counted in it, and the same as a sheet."""

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

RANGES = (7, 30, 90, 365)
_NAMES = {
    "countries": "Countries",
    "referrers": "Where from",
    "devices": "Devices",
    "browsers": "Browsers",
    "os": "Systems",
    "languages": "Languages",
    "sources": "By",
}
_COUNTED = {"file": "Downloads", "qr": "Scans", "campaign": "Visits", "missing": "Visits"}
"""What a visit is called that counts for a thing of this kind."""


def asked_span(context: PageContext) -> Span:
    """The span that the query asks for, in the viewer's time; 30 days by default. Raises INVALID."""
    today = datetime.fromtimestamp(clock.now(), context.time_zone).date()
    days = context.query_id("days")
    first, last = context.query("from"), context.query("to") or today.isoformat()
    if not first:
        first = (_day(last, today) - timedelta(days=min(days or 30, 3660) - 1)).isoformat()
    length = (_day(last, today) - _day(first, today)).days + 1
    interval = context.query("interval")
    usual: Interval = "hour" if length <= 2 else "day" if length <= 100 else "week" if length <= 400 else "month"
    chosen = next((one for one in _INTERVALS if one == interval), usual)
    return span(first, last, chosen, context.time_zone.key)


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
    """The statistics of one thing that the caller has shown to be the account's own; `back` is its own page.

    `template` is one that extends that of all nouns, and shows the dimension `apart` itself."""
    wanted = asked_span(context)
    report = context.read_after_ingest(lambda tx: reports.report(tx, kind, item, wanted))
    if context.query("format") == "csv":
        return _sheet(report, title)
    return context.render(template, title=title, back=back, apart=apart, **shown(context, report, wanted, kind), **more)


def shown(context: PageContext, report: Report, wanted: Span, kind: str = "") -> dict[str, Any]:
    """What `parts/report.html` wants to know."""
    lists = [
        {
            "key": key,
            "name": name,
            "rows": list(report.dimensions[key].items())[:10],
            "sum": sum(report.dimensions[key].values()),
        }
        for key, name in _NAMES.items()
        if report.dimensions[key]
    ]
    days = (wanted.end - wanted.start).days + 1
    at_end = wanted.end == datetime.fromtimestamp(clock.now(), context.time_zone).date()
    preset = days if at_end and days in RANGES else 0
    told = {"report": report, "lists": lists, "counted": _COUNTED.get(kind, "Clicks")}
    return {**told, "preset": preset, "ranges": RANGES, "intervals": _INTERVALS}


_INTERVALS: tuple[Interval, ...] = ("hour", "day", "week", "month")


def _day(value: str, otherwise: date) -> date:
    """A day, as far as a default depends on it; `span` says what is wrong with it."""
    try:
        return date.fromisoformat(value)
    except ValueError:
        return otherwise


def _sheet(report: Report, title: str) -> Response:
    """What the page shows, as CSV that is safe to open."""

    def rows() -> Iterator[list[Any]]:
        names = list(asdict(report.total))
        yield ["part", "label", *names]
        for point in report.series:
            yield [report.interval, point.at, *(getattr(point, name) for name in names)]
        for part, labels in report.dimensions.items():
            for label, count in labels.items():
                yield [part, label, count]

    name = "".join(letter if letter.isalnum() else "-" for letter in title)[:60] or "statistics"
    told = f"attachment; filename=\"statistics.csv\"; filename*=UTF-8''{quote(f'{name}.csv')}"
    headers = {"Content-Disposition": told}
    return Response(csv_export.lines(rows()), media_type="text/csv; charset=utf-8", headers=headers)
