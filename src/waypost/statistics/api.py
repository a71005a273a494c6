"""`/stats` and `/stats/export`: the clicks of the whole account."""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from waypost.api.context import Context
from waypost.api.date_range import RequestedSpan
from waypost.api.responses import ReportResponse
from waypost.clicks.stats import raw_events

router = APIRouter(tags=["Statistics"])
_MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@router.get("/stats")
def account_statistics(context: Context, span: RequestedSpan) -> ReportResponse:
    """Return the click statistics of the whole account."""
    return ReportResponse(data=context.read_report("account", context.account, span))


@router.get("/stats/export", response_class=StreamingResponse)
def export_visits(context: Context, span: RequestedSpan, format: Literal["csv", "jsonl"] = "csv") -> StreamingResponse:
    """Export every stored visit of the span, oldest first."""
    first, after = span.seconds()
    context.read_after_ingest(lambda _tx: None)
    lines = raw_events.export(context.database, context.account, form=format, first=first, after=after)
    name = f"visits-{span.start}-{span.end}.{format}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type=_MEDIA_TYPES[format], headers=headers)
