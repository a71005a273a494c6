"""`/qr` and `/qr/…` (API document, section QR codes; decisions 30 to 36)."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator, Field
from sqlalchemy import Connection

from waypost.api import examples, pagination
from waypost.api.context import Change, Context, RequestContext
from waypost.api.request_body import Partial
from waypost.api.responses import Failure, MessageResponse, ReportResponse
from waypost.api.types import PathId, RequestedSpan, whole_number
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.core.errors import Problem, invalid
from waypost.http import file_names
from waypost.items.qr import export, ops, service
from waypost.items.qr.ops import Draft
from waypost.items.qr.schemas import (
    FORMAT,
    SIZE,
    CodeAnswer,
    CodeChange,
    CodeDetails,
    CodeDone,
    CodeOut,
    CodesDone,
    NewCode,
    NewCodes,
    Preview,
    PreviewCode,
    parsed,
)
from waypost.media.qrcode.render import MEDIA, Format
from waypost.media.qrcode.styles import LEAST_SIZE, MOST_SIZE
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["QR codes"])
_GroupId = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(whole_number)]
_ZIP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get("/qr", response_model=pagination.list_model("qrs", CodeOut))
def list_qr_codes(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List QR codes, newest first."""
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("qrs", page, lambda code: CodeOut(**_shown(code, context)))


@router.get(
    "/qr/zip",
    response_class=StreamingResponse,
    responses=_ZIP,
    openapi_extra={examples.QUERY: {"campaign": 1}},
)
def download_qr_codes(
    context: Context,
    campaign: Annotated[_GroupId, Query(description="Id of the campaign.", examples=[1])] = None,
    channel: Annotated[_GroupId, Query(description="Id of the channel.", examples=[1])] = None,
    format: Annotated[Format, Query(description=FORMAT.description, examples=["png"])] = "png",
    size: Annotated[
        int,
        Query(ge=LEAST_SIZE, le=MOST_SIZE, description=SIZE.description, examples=[512]),
        BeforeValidator(whole_number),
    ] = 512,
) -> StreamingResponse:
    """Download the QR codes of a campaign or a channel as a ZIP archive.

    It has an image of each QR code and each short URL, called by its title or name, or else by its alias. Either
    `campaign` or `channel` is required.
    """
    if (campaign is None) == (channel is None):
        raise invalid("campaign", "Either campaign or channel must be given: the id of what to draw.")

    def work(tx: Connection) -> export.Group:
        if campaign is not None:
            return export.of_campaign(tx, context.account, campaign)
        return export.of_channel(tx, context.account, channel or 0)

    name, members = context.read(work)
    headers = {"Content-Disposition": file_names.attachment(name, "zip")}
    files = export.zip_stream(export.images(context, members, format, size))
    return StreamingResponse(files, media_type="application/zip", headers=headers)


@router.get("/qr/{id}")
def read_qr_code(context: Context, id: PathId) -> CodeAnswer:
    """Read a QR code with the statistics of its scans."""

    def work(tx: Connection) -> tuple[ops.Code, bool, StatisticsBlock]:
        code = ops.get_owned(tx, context.account, id)
        block = reports.block(tx, context.account, "qr", id, clicks=code.scans, uniques=code.uniquescans)
        return code, ops.has_logo(tx, context.account, id), block

    code, logo, block = context.read_after_ingest(work)
    fields = {name: value for name, value in vars(code).items() if name in CodeDetails.model_fields}
    url = short_url(context.settings.base, "", None, code.alias)
    return CodeAnswer(details=CodeDetails(**{**fields, **_shown(code, context)}, logo=logo, shorturl=url), data=block)


@router.get("/qr/{id}/stats")
def read_qr_code_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """Read the scans of a QR code over time and by dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("qr", id, span))


@router.post("/qr/add")
def create_qr_code(context: Context, body: NewCode) -> Change[CodeDone]:
    """Create a QR code.

    Its image is decoded before the code is saved, so that a style that cannot be scanned is rejected.
    """
    new = service.proven(context, body)
    return Change(
        lambda tx: ops.add(tx, context.account, new),
        lambda code: CodeDone(id=code, link=picture_url(new.alias, context)),
    )


@router.post("/qr/preview")
def preview_qr_code(context: Context, body: PreviewCode) -> Preview:
    """Draw a QR code without saving it.

    The short URL in the image of a tracked code does not work.
    """
    new = service.draft(context, body)
    drawing = service.prove(new)
    encoded = base64.b64encode(drawing.render(body.format, body.size)).decode()
    image = f"data:{MEDIA[body.format]};base64,{encoded}"
    return Preview(image=image, content=new.text, level=drawing.symbol.level, modules=drawing.symbol.side)


@router.post("/qr/bulk")
def create_qr_codes(context: Context, body: NewCodes) -> Change[CodesDone]:
    """Create up to 500 QR codes. One that fails does not affect the others."""
    drafts = [_proven(context, item) for item in body.codes]
    context.budget.require_client()
    return Change(lambda tx: [_added(tx, context, draft) for draft in drafts], _codes_done)


@router.put("/qr/{id}/update")
def update_qr_code(context: Context, id: PathId, body: Partial[CodeChange]) -> Change[MessageResponse]:
    """Update a QR code. Printed copies of a tracked code keep working.

    Fields that are not sent keep their values; `null` sets the default.
    """
    context.read(lambda tx: ops.get_owned(tx, context.account, id))  # do not fetch a logo for a code of another account
    fields = service.fields_of(context, body)

    settings = context.settings
    return service.change(
        context,
        id,
        lambda tx: ops.draft_change(tx, context.account, id, settings=settings, **fields),
        MessageResponse(message="QR code has been updated successfully."),
    )


@router.delete("/qr/{id}/delete")
def delete_qr_code(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a QR code. Printed copies of a tracked code stop working."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="QR code has been deleted successfully."),
    )


def picture_url(alias: str, context: RequestContext) -> str:
    """Where a code's picture is."""
    return f"{context.settings.base}/qr/{alias}"


def _proven(context: RequestContext, item: Any) -> Draft | Problem:
    """Return one of many codes, or the problem that is its own response."""
    try:
        context.budget.begin_item()
        return service.proven(context, parsed(item))
    except Problem as problem:
        return problem


def _added(tx: Connection, context: RequestContext, new: Draft | Problem) -> CodeDone | Failure:
    """Save one of many codes. A savepoint removes one that cannot be saved."""
    try:
        if isinstance(new, Problem):
            raise new
        with tx.begin_nested():
            code = ops.add(tx, context.account, new)
    except Problem as problem:
        return Failure(error=1, message=problem.message, code=problem.kind.code, field=problem.field)
    return CodeDone(id=code, link=picture_url(new.alias, context))


def _codes_done(results: Sequence[CodeDone | Failure]) -> CodesDone:
    created = sum(isinstance(result, CodeDone) for result in results)
    return CodesDone(message=f"{created} of {len(results)} QR codes have been created.", results=list(results))


def _shown(code: ops.Listed, context: RequestContext) -> dict[str, Any]:
    link = picture_url(code.alias, context)
    return {"id": code.id, "link": link, "scans": code.scans, "name": code.name, "date": code.created}
