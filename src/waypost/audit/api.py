"""`/audit`: all changes with their authors."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from waypost.api.context import Context
from waypost.api.responses import Success
from waypost.api.types import Id
from waypost.audit import log
from waypost.audit.log import AuditFilter, Format
from waypost.core import clock
from waypost.http import file_names

router = APIRouter(tags=["Audit log"])
_MAX, _LAST = 100, 2**53
_MEDIA_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}
_EXPORT: dict[int | str, dict[str, Any]] = {
    200: {"content": {name.partition(";")[0]: {"schema": {"type": "string"}} for name in _MEDIA_TYPES.values()}}
}


def _requested(
    kind: Annotated[str, Query(max_length=16, description="Only this kind of thing.", examples=["link"])] = "",
    item: Annotated[int | None, Query(ge=1, le=_LAST, description="Only the thing with this id.", examples=[7])] = None,
    event: Annotated[str, Query(max_length=40, description="Only these events.", examples=["link.updated"])] = "",
    origin: Annotated[
        Literal["", "dashboard", "api", "agent", "command", "import", "system"],
        Query(description="Only what came through this.", examples=["api"]),
    ] = "",
    key: Annotated[str, Query(max_length=16, description="Only this beginning of an API key.", examples=["wp"])] = "",
    first: Annotated[
        int | None, Query(alias="from", ge=0, le=_LAST, description="First second, Unix time.", examples=[1767225600])
    ] = None,
    last: Annotated[
        int | None, Query(alias="to", ge=0, le=_LAST, description="Last second, Unix time.", examples=[1798761599])
    ] = None,
    account: Annotated[
        int | None, Query(ge=1, le=_LAST, description="Only changes by this account.", examples=[1])
    ] = None,
) -> AuditFilter:
    """Return the events that a request asks for."""
    return AuditFilter(kind, item, event, origin, key, first, last, author=account)


RequestedEvents = Annotated[AuditFilter, Depends(_requested)]


class EventOut(BaseModel):
    """An event of the audit log."""

    id: Id
    date: str = Field(description="Time of the event, UTC.", examples=["2026-11-30 09:00:00"])
    event: str = Field(description="Name of the event.", examples=["link.updated"])
    kind: str = Field(description="Kind of the thing.", examples=["link"])
    item: int | None = Field(description="Id of the thing.", examples=[7])
    label: str = Field(description="Name of the thing at that time.", examples=["Spring sale"])
    origin: str = Field(description="dashboard, api, agent, command, import or system.", examples=["api"])
    account: int | None = Field(description="Account of the session or key.", examples=[1])
    key: str = Field(description="Beginning of the API key.", examples=["wp_1a2b3c"])
    network: str = Field(description="Keyed hash of the client's network.", examples=["9f86d081884c7d65"])
    before: dict[str, Any] | None = Field(
        description="Values that were replaced or deleted.", examples=[{"title": "Sale"}]
    )
    after: dict[str, Any] | None = Field(description="New values.", examples=[{"title": "Spring sale"}])


class EventsData(BaseModel):
    """A part of the log."""

    perpage: int = Field(description="Events at most.", examples=[15])
    before: int | None = Field(description="Value of `before` for the next part; null at the end.", examples=[4711])
    events: list[EventOut] = Field(description="The events, latest first.")


class EventsResponse(Success):
    """A part of the audit log."""

    data: EventsData = Field(description="The events.")


@router.get("/audit")
def read_audit_log(
    context: Context,
    requested: RequestedEvents,
    limit: Annotated[int, Query(ge=1, le=_MAX, description="Events at most.", examples=[15])] = 15,
    before: Annotated[int | None, Query(ge=1, le=_LAST, description="Only events before this id.", examples=[4711])] = (
        None
    ),
) -> EventsResponse:
    """Read the changes in the account with their authors, latest first.

    With filters, a part can have fewer events than `limit`.
    """
    page = context.read(lambda tx: log.page(tx, context.account, requested, limit=limit, before=before))
    events = [EventOut(**log.as_json(entry)) for entry in page.entries]
    return EventsResponse(data=EventsData(perpage=limit, before=page.before, events=events))


@router.get("/audit/export", response_class=StreamingResponse, responses=_EXPORT)
def export_audit_log(
    context: Context,
    requested: RequestedEvents,
    format: Annotated[Format, Query(description="CSV, or one JSON object per line.", examples=["csv"])] = "csv",
) -> StreamingResponse:
    """Export the audit log of the account, oldest event first."""
    lines = log.export(context.database, context.account, requested, format)
    headers = {"Content-Disposition": file_names.attachment(f"audit-{clock.text(clock.now())[:10]}", format)}
    return StreamingResponse(lines, media_type=_MEDIA_TYPES[format], headers=headers)
