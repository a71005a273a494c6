"""`/import` and `/import/…`: move links from another service (decision 108)."""

from collections.abc import Callable
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.responses import MessageResponse
from waypost.core.errors import invalid
from waypost.http import file_names
from waypost.items.files import ops as files
from waypost.transfer.imports import plan_removal, plans, runner, undo
from waypost.transfer.imports.plans import Fate
from waypost.transfer.imports.schemas import ImportAnswer, ImportDetails, ImportRow, NewImport, UndoAnswer
from waypost.transfer.imports.sources import registry

router = APIRouter(tags=["Imports"])
_CSV: dict[int | str, dict[str, Any]] = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}


@router.get("/import")
def read_import(context: Context) -> ImportAnswer:
    """Read the last import: its state, and the number of rows of each fate."""
    return context.read(lambda tx: _answer(tx, context))


@router.get("/import/rows", response_model=pagination.list_model("rows", ImportRow))
def list_import_rows(
    context: Context,
    page_request: pagination.RequestedPage,
    fate: Annotated[Fate | None, Query(description="Only rows with this fate.", examples=["conflict"])] = None,
) -> Any:
    """List the rows of the last import with their fates, in the order of the source."""
    page = context.read(lambda tx: plans.page(tx, context.account, page_request, fate))
    return pagination.list_response("rows", page, ImportRow.model_validate)


@router.get("/import/export", response_class=StreamingResponse, responses=_CSV)
def export_import_rows(context: Context) -> StreamingResponse:
    """Export the rows of the last import with their fates as CSV."""
    plan = context.read(lambda tx: plans.current(tx, context.account))
    lines = plans.report_csv(context.database, context.account, plan.id)
    headers = {"Content-Disposition": file_names.attachment("import-plan", "csv")}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/import/add")
def create_import(context: Context, new: NewImport) -> ImportAnswer:
    """Read a source and plan its import, in the background. Nothing is imported yet. The plan replaces the last one."""
    return _start(context, new)


@router.post("/import/apply")
def apply_import(context: Context) -> ImportAnswer:
    """Import the planned links, in the background, or resume an import that was interrupted."""
    return runner.start_applying(context, _responding(context))


@router.get("/import/undo")
def preview_import_undo(context: Context) -> UndoAnswer:
    """Preview the effect of undo: the number of links, and their clicks since the import."""
    context.wait_for_ingest()
    return UndoAnswer.of(undo.preview(context.database, context.account))


@router.post("/import/undo")
def undo_import(context: Context) -> ImportAnswer:
    """Undo the last import, in the background: its links are deleted or changed back, unless one was edited."""
    return runner.start_undoing(context, _responding(context))


@router.delete("/import/delete")
def delete_import(context: Context) -> MessageResponse:
    """Delete the plan of the last import, and cancel its reading. Its links stay, and undo is no longer possible.

    While the import is applied or undone, this stops it after the current step, and the plan stays: resume or undo it.
    """
    return runner.remove(context, plan_removal.begin, lambda message: MessageResponse(message=message))


def _start(context: RequestContext, new: NewImport) -> ImportAnswer:
    """Start to read the source. Raises INVALID, NOT_FOUND, and as `runner.start_reading`."""
    if (new.service is None) == (new.file is None):
        raise invalid("service", "service: name the service whose API is read, or give the id of a file.")
    zone = ZoneInfo(new.timezone or "UTC")
    if new.service is not None:
        hosts = registry.trusted_hosts(context.settings)
        options = registry.ServiceOptions(new.url or "", zone, new.history is not False, hosts)
        return runner.read_service(context, new.service, new.token or "", options, new.options, _responding(context))
    file = context.read(lambda tx: files.get_owned(tx, context.account, new.file or 0))
    dates = new.dates or "unambiguous"
    respond = _responding(context)
    return runner.read_stored_file(context, file.object, new.columns or {}, zone, new.options, respond, dates=dates)


def _responding(context: RequestContext) -> Callable[[Connection], ImportAnswer]:
    """Return the function that makes the response in the transaction of a change: the import after it."""
    return lambda tx: _answer(tx, context)


def _answer(tx: Connection, context: RequestContext) -> ImportAnswer:
    plan = plans.current(tx, context.account)
    return ImportAnswer(details=ImportDetails.of(plan, plans.summary(tx, context.account, plan.id)))
