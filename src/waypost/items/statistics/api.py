"""`/stats` and `/stats/export`: the clicks of the whole account."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from waypost.api.context import Context
from waypost.api.responses import ReportResponse
from waypost.api.types import RequestedSpan
from waypost.clicks.stats import stored_visits
from waypost.http import file_names

router = APIRouter(tags=["Statistics"])
_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/x-ndjson": {"schema": {"type": "string"}},
        }
    }
}
_MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@router.get("/stats")
def read_account_statistics(context: Context, span: RequestedSpan) -> ReportResponse:
    """Read the visits of the whole account over time and by dimension."""
    return ReportResponse(data=context.read_report("account", context.account, span))


@router.get("/stats/export", response_class=StreamingResponse, responses=_EXPORT)
def export_visits(
    context: Context,
    span: RequestedSpan,
    format: Annotated[
        Literal["csv", "jsonl"], Query(description="CSV, or one JSON object per line.", examples=["csv"])
    ] = "csv",
) -> StreamingResponse:
    """Export every stored visit, oldest first."""
    first, after = span.seconds()
    context.read_after_ingest(lambda _tx: None)
    lines = stored_visits.export(context.database, context.account, form=format, first=first, after=after)
    headers = {"Content-Disposition": file_names.attachment(f"visits-{span.start}-{span.end}", format)}
    return StreamingResponse(lines, media_type=_MEDIA_TYPES[format], headers=headers)
