"""A tool for statistics, in words and numbers."""

from collections.abc import Mapping
from datetime import date
from itertools import islice
from typing import Annotated, Literal

import mcp_types as types
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from waypost.api.types import ItemId, Line, date_range
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import Interval, Report, Span, VisitCounts
from waypost.clicks.stats.subjects import Subject
from waypost.core.errors import Problem, invalid
from waypost.dashboard import statistics as dashboard_statistics
from waypost.dashboard.periods import Period
from waypost.db import crud
from waypost.db.schema.nouns import NOUNS
from waypost.integrations.mcp import untrusted_text
from waypost.integrations.mcp.tool import Arguments, Result, Tool, ToolContext

_Subject = Literal["account", "link", "qr", "file", "bio", "campaign", "domain"]
_COUNTED = {"qr": "scan", "file": "download", "campaign": "visit", "domain": "visit"}
"""The word for a counted visit, by subject; of others, click."""
_DAY_POINTS, _WEEK_POINTS = 100, 400
_IN_WORDS = 3
_SHOWN_LABELS = 10


class DescribeStatistics(Arguments):
    """Arguments of describe_statistics."""

    subject: Annotated[
        _Subject, Field(description="`account` for all items together; `domain`: visits to unknown aliases of it.")
    ]
    id: Annotated[ItemId | None, Field(description="Id of the item; not for `account`.")] = None
    first_day: Annotated[Line | None, Field(description="`YYYY-MM-DD`; 29 days before the last one by default.")] = None
    last_day: Annotated[Line | None, Field(description="`YYYY-MM-DD`; today by default.")] = None
    timezone: Annotated[Line, Field(max_length=64, description="Name of a time zone, such as Europe/Berlin.")] = "UTC"


class StatisticsPoint(BaseModel):
    """The visits of a day, week or month."""

    start: str = Field(description="First day of the point.")
    clicks: int = Field(description="Visits by people.")


class Labels(BaseModel):
    """Counts by labels that visitors or other websites chose."""

    referrers: dict[str, int] = Field(description="Clicks by site that visitors came from.")
    sources: dict[str, int] = Field(description="Clicks by source, such as a short link, a QR code or utm_source.")
    browsers: dict[str, int] = Field(description="Clicks by browser.")
    systems: dict[str, int] = Field(description="Clicks by operating system.")


class Statistics(Result):
    """The visits of a span."""

    summary: str = Field(description="The statistics in words.")
    clicks: int = Field(description="Visits by people, without bots and link previews.")
    unique_visitors: int = Field(description="Distinct visitors, counted per day.")
    previous_clicks: int = Field(description="Visits in the comparable span before this one.")
    bots: int = Field(description="Visits by bots, which are not counted.")
    link_previews: int = Field(description="Link previews, which are not counted.")
    interval: Interval = Field(description="Length of the points.")
    points: list[StatisticsPoint] = Field(description="The visits over time; points without visits are left out.")
    countries: dict[str, int] = Field(description="Clicks by country, the first 10.")
    devices: dict[str, int] = Field(description="Clicks by type of device.")
    untrusted: Labels = Field(description=untrusted_text.NOTICE)

    def blocks(self) -> list[types.ContentBlock]:
        """Return the summary, and the notice about labels of strangers."""
        return [types.TextContent(type="text", text=self.summary), untrusted_text.notice()]


def describe_statistics(context: ToolContext, arguments: DescribeStatistics) -> Statistics:
    """Describe the visits of the account, or of one link, QR code, file, bio page, campaign or domain, in some days.

    Returns a summary in words with a comparison to the span before, and the numbers over time, by country and device.
    """
    kind, item = _item(context, arguments)
    span = _span(arguments)

    def work(tx: Connection) -> tuple[Report, VisitCounts]:
        previous = dashboard_statistics.compare(tx, Subject(context.account, kind, item), Period(span))
        return reports.report(tx, context.account, kind, item, span), previous.total

    report, previous = context.read_after_ingest(work)
    counted = _COUNTED.get(arguments.subject, "click")
    return _statistics(report, previous, summary=_summary(report, previous, counted))


def _item(context: ToolContext, arguments: DescribeStatistics) -> tuple[str, int]:
    """Return kind and id as statistics know them. Raises INVALID and NOT_FOUND."""
    subject, item = arguments.subject, arguments.id
    if subject == "account":
        if item is not None:
            raise invalid("id", "id must not be sent for the account.")
        return "account", context.account
    if item is None:
        raise invalid("id", f"id is required: the id of the {subject}.")
    context.read(lambda tx: crud.require_owned(tx, NOUNS[subject].table, context.account, item))
    return "missing" if subject == "domain" else subject, item


def _span(arguments: DescribeStatistics) -> Span:
    """Return the span with points of a day, a week or a month, so that there are few. Raises INVALID."""
    try:
        days = date_range(arguments.first_day, arguments.last_day, "month", arguments.timezone)
    except Problem as problem:
        raise _with_own_names(problem) from problem
    length = (days.end - days.start).days + 1
    interval: Interval = "day" if length <= _DAY_POINTS else "week" if length <= _WEEK_POINTS else "month"
    return Span(days.start, days.end, interval, days.zone)


def _with_own_names(problem: Problem) -> Problem:
    """Return a problem with a parameter of the API as a problem with the argument of the tool."""
    message = problem.message
    for name, own in (("from must", "first_day must"), ("to must", "last_day must"), ("after to.", "after last_day.")):
        message = message.replace(name, own)
    field = problem.field or "first_day"
    return invalid({"from": "first_day", "to": "last_day"}.get(field, field), message)


def _summary(report: Report, previous: VisitCounts, counted: str) -> str:
    """Return the statistics in sentences, without labels that strangers chose."""
    total = report.total
    days = (date.fromisoformat(report.end) - date.fromisoformat(report.start)).days + 1
    number = _number(total.clicks, counted)
    visitors = _number(total.uniqueClicks, "unique visitor")
    sentences = [f"{number} by {visitors} from {report.start} to {report.end} ({report.timezone})."]
    if previous.clicks:
        change = round((total.clicks - previous.clicks) * 100 / previous.clicks)
        direction = f"{abs(change)} % {'more' if change > 0 else 'fewer'} than" if change else "As many as"
        sentences.append(f"{direction} in the comparable {days} days before ({previous.clicks}).")
    elif total.clicks:
        sentences.append(f"There were none in the comparable {days} days before.")
    if total.clicks:
        best = max(report.series, key=lambda point: point.clicks)
        sentences.append(f"Most in the {report.interval} from {best.at[:10]}: {best.clicks}.")
        for name in ("countries", "devices"):
            if labels := _first(report.dimensions[name], _IN_WORDS):
                listed = ", ".join(f"{label} ({n})" for label, n in labels.items())
                sentences.append(f"Top {name}: {listed}.")
    apart = (_number(total.bots, "visit") + " by bots", _number(total.previews, "link preview"))
    sentences.append(f"Not counted: {' and '.join(apart)}.")
    return " ".join(sentences)


def _statistics(report: Report, previous: VisitCounts, *, summary: str) -> Statistics:
    labels = {name: untrusted_text.visible_labels(_first(counts)) for name, counts in report.dimensions.items()}
    return Statistics(
        summary=summary,
        clicks=report.total.clicks,
        unique_visitors=report.total.uniqueClicks,
        previous_clicks=previous.clicks,
        bots=report.total.bots,
        link_previews=report.total.previews,
        interval=report.interval,
        points=[StatisticsPoint(start=p.at[:10], clicks=p.clicks) for p in report.series if p.clicks],
        countries=labels["countries"],
        devices=labels["devices"],
        untrusted=Labels(
            referrers=labels["referrers"],
            sources=labels["sources"],
            browsers=labels["browsers"],
            systems=labels["os"],
        ),
    )


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _first(counts: Mapping[str, int], number: int = _SHOWN_LABELS) -> dict[str, int]:
    return dict(islice(counts.items(), number))


TOOLS = (Tool("Describe statistics", "read", describe_statistics),)
