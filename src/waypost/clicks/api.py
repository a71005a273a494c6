"""`/stats` and `/stats/export`: the clicks of the whole account."""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from waypost.api.answers import Success
from waypost.api.bodies import JsonRoute
from waypost.api.door import Came, Door
from waypost.api.spans import AskedSpan
from waypost.clicks import events, stats
from waypost.clicks.stats import Report, Span

router = APIRouter(route_class=JsonRoute, tags=["Statistics"])
_MEDIA = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


class ReportAnswer(Success):
    """The visits of a span."""

    data: Report


@router.get("/stats")
def account_statistics(door: Came, span: AskedSpan) -> ReportAnswer:
    """The visits of everything the account has."""
    return ReportAnswer(data=read_report(door, "account", door.account, span))


@router.get("/stats/export", response_class=StreamingResponse)
def export_visits(door: Came, span: AskedSpan, format: Literal["csv", "jsonl"] = "csv") -> StreamingResponse:
    """Every single visit of the span that is still kept, oldest first."""
    first, after = span.seconds()
    door.read_counts(lambda _tx: None)
    lines = events.export(door.database, door.account, form=format, first=first, after=after)
    name = f"visits-{span.start}-{span.end}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=_MEDIA[format], headers=headers)


def read_report(door: Door, kind: str, item: int, span: Span) -> Report:
    """The report of one thing that the caller has shown to be the account's own."""
    return door.read_counts(lambda tx: stats.report(tx, kind, item, span))
