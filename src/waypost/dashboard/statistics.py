"""The statistics page of an item: report of a span as a page and as CSV."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection
from starlette.responses import Response

from waypost import csv_export
from waypost.clicks.classify.language_names import LANGUAGE_NAMES
from waypost.clicks.ingest.aggregate import IMPORTED
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Report, VisitCounts
from waypost.dashboard import periods
from waypost.dashboard.context import PageContext
from waypost.dashboard.periods import Period

_DIMENSION_TITLES = {
    "countries": ("country", "Countries"),
    "referrers": ("referrer", "Referrers"),
    "devices": ("device", "Devices"),
    "browsers": ("browser", "Browsers"),
    "os": ("os", "Operating systems"),
    "languages": ("language", "Languages"),
    "sources": ("source", "Sources"),
}
"""By name in the report: the dimension of visits, and the title of its list."""
_COUNT_TITLES = {"file": "Downloads", "qr": "Scans", "campaign": "Visits", "missing": "Visits"}
"""Titles of the counted visits by kind of item."""
_SOURCES = {"link": "Short link", "qr": "QR code", "bio": "Bio page", "list": "List page"}


class Comparison(NamedTuple):
    """The visits of the period before: the total, and the clicks of each point."""

    total: VisitCounts
    clicks: list[int]


def page(
    context: PageContext,
    kind: str,
    item: int,
    *,
    title: str,
    back: str,
    template: str = "statistics.html",
    apart: str = "",
    baseline: int = 0,
    short: str = "",
    **more: Any,
) -> Response:
    """Return the statistics page of an item. The caller has checked that it belongs to the account.

    `back` is the item's page. `template` extends statistics.html and shows the dimension `apart` itself. `baseline` are
    clicks that were imported without a time. `short` is the item's short URL, if it has one.
    """
    period = periods.requested(context)

    def work(tx: Connection) -> tuple[Report, Comparison, int]:
        imported = sum(reports.label_counts(tx, kind, item, IMPORTED, period.span).values())
        return reports.report(tx, kind, item, period.span), compare(tx, kind, item, period), imported

    report, comparison, imported = context.read_after_ingest(work)
    if context.query("format") == "csv":
        return _csv_response(report, title)
    visits_path = f"/dashboard/visits?kind={kind}&item={item}"
    shown = report_context(report, comparison, period, kind=kind, visits_path=visits_path)
    return context.render(
        template,
        title=title,
        back=back,
        apart=apart,
        imported=imported,
        baseline=baseline,
        short=short,
        **shown,
        **more,
    )


def compare(tx: Connection, kind: str, item: int, period: Period) -> Comparison:
    """Return the visits of the period before."""
    _, after = period.previous_seconds()
    total, series = reports.over_time(tx, kind, item, period.previous, after)
    return Comparison(total, [point.clicks for point in series])


def report_context(
    report: Report, comparison: Comparison, period: Period, *, visits_path: str, kind: str = ""
) -> dict[str, Any]:
    """Return the template context of the report. `visits_path` is the page of its single visits."""
    lists = [
        {
            "key": key,
            "name": name,
            "dimension": dimension,
            "rows": list(report.dimensions[key].items()),
            "sum": sum(report.dimensions[key].values()),
        }
        for key, (dimension, name) in _DIMENSION_TITLES.items()
        if report.dimensions[key]
    ]
    return {
        "report": report,
        "comparison": comparison,
        "period": period,
        "presets": periods.PRESETS,
        "intervals": periods.INTERVALS,
        "lists": lists,
        "counted": _COUNT_TITLES.get(kind, "Clicks"),
        "visits_path": visits_path,
        "label_text": label_text,
    }


def label_text(dimension: str, label: str) -> str:
    """Return the text for a label of a dimension: names of languages and sources."""
    names = {"language": LANGUAGE_NAMES, "source": _SOURCES}.get(dimension, {})
    return names.get(label, label)


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
