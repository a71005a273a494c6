"""`/qr` and `/qr/…` (API document, section QR codes; decisions 30 to 36)."""

import base64
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, Field
from sqlalchemy import Connection

from waypost.api import pagination
from waypost.api.context import Context, RequestContext
from waypost.api.date_range import RequestedSpan
from waypost.api.responses import Failure, MessageResponse, ReportResponse, Success
from waypost.api.types import PathId, Timestamp, whole_number
from waypost.clicks.stats import reports
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.errors import Problem, invalid
from waypost.qr import export, ops, service, zip_stream
from waypost.qr.ops import Draft
from waypost.qr.schemas import CodeChange, NewCode, NewCodes, PreviewCode, parsed
from waypost.qrcode.payloads import Type
from waypost.qrcode.render import MEDIA, Format, design
from waypost.qrcode.styles import LEAST_SIZE, MOST_SIZE
from waypost.urls.short_urls import short_url

router = APIRouter(tags=["QR codes"])


class CodeOut(BaseModel):
    """A QR code, as the API document shows it; `link` is its picture."""

    id: int
    link: str
    scans: int
    name: str
    date: Timestamp


class CodeDetails(CodeOut):
    """A QR code, with everything that is set on it. `shorturl` is what a tracked one holds."""

    alias: str
    shorturl: str
    type: Type
    data: str | dict[str, Any]
    dynamic: bool
    foreground: str
    background: str
    gradient: dict[str, Any] | None
    modules: str
    eyes: str
    level: str
    margin: int
    caption: str
    logo: Annotated[bool, Field(description="true if the code has a logo.")]
    version: Annotated[int, Field(description="Counts changes; with ?v= the picture may be kept for ever.")]


class CodeAnswer(Success):
    details: CodeDetails
    data: StatisticsBlock


class CodeDone(Success):
    """The response to a create request."""

    id: int
    link: str


class Preview(Success):
    """A drawn code: `image` is a data: URL, `content` what it says, `modules` how many are along its side."""

    image: str
    content: str
    level: str
    modules: int


class CodesDone(MessageResponse):
    results: list[CodeDone | Failure]


_GroupId = Annotated[int | None, Query(ge=1), BeforeValidator(whole_number)]


@router.get("/qr", response_model=pagination.list_model("qrs", CodeOut))
def list_codes(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read_after_ingest(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("qrs", page, lambda code: CodeOut(**_shown(code, context)))


@router.get("/qr/zip", response_class=StreamingResponse)
def zip_codes(
    context: Context,
    campaign: _GroupId = None,
    channel: _GroupId = None,
    format: Format = "png",
    size: Annotated[int, Query(ge=LEAST_SIZE, le=MOST_SIZE), BeforeValidator(whole_number)] = 512,
) -> StreamingResponse:
    """The pictures of everything in a campaign or on a channel: of its QR codes, and of its short URLs."""
    if (campaign is None) == (channel is None):
        raise invalid("campaign", "Either campaign or channel must be given: the id of what to draw.")

    def work(tx: Connection) -> Sequence[export.Member]:
        if campaign is not None:
            return export.of_campaign(tx, context.account, campaign)
        return export.of_channel(tx, context.account, channel or 0)

    members = context.read(work)
    name = f"qr-campaign-{campaign}" if campaign is not None else f"qr-channel-{channel}"
    headers = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    files = zip_stream.stream(_files(context, members, format, size))
    return StreamingResponse(files, media_type="application/zip", headers=headers)


@router.get("/qr/{id}")
def read_code(context: Context, id: PathId) -> CodeAnswer:
    """One code with its scans."""

    def work(tx: Connection) -> tuple[ops.Code, bool, StatisticsBlock]:
        code = ops.get_owned(tx, context.account, id)
        block = reports.block(tx, "qr", id, clicks=code.scans, uniques=code.uniquescans)
        return code, ops.has_logo(tx, id), block

    code, logo, block = context.read_after_ingest(work)
    fields = {name: value for name, value in vars(code).items() if name in CodeDetails.model_fields}
    url = short_url(context.settings.base, "", None, code.alias)
    return CodeAnswer(details=CodeDetails(**{**fields, **_shown(code, context)}, logo=logo, shorturl=url), data=block)


@router.get("/qr/{id}/stats")
def code_statistics(context: Context, id: PathId, span: RequestedSpan) -> ReportResponse:
    """The scans of one code over time and by every dimension."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return ReportResponse(data=context.read_report("qr", id, span))


@router.post("/qr/add")
def add_code(context: Context, body: NewCode) -> CodeDone:
    """Make a code. It is drawn and read before it is saved."""
    new = service.proven(context, body, service.Logos(context))
    return context.change(
        lambda tx: ops.add(tx, context.account, new),
        lambda code: CodeDone(id=code, link=picture_url(new.alias, context)),
    )


@router.post("/qr/preview")
def preview_code(context: Context, body: PreviewCode) -> Preview:
    """Draw a code without saving it. A tracked one holds an address that nothing answers yet."""
    new = service.draft(context, body, service.Logos(context))
    drawing = service.prove(new)
    encoded = base64.b64encode(drawing.render(body.format, body.size)).decode()
    image = f"data:{MEDIA[body.format]};base64,{encoded}"
    return Preview(image=image, content=new.text, level=drawing.symbol.level, modules=drawing.symbol.side)


@router.post("/qr/bulk")
def add_codes(context: Context, body: NewCodes) -> CodesDone:
    """Make up to 500 codes, each for itself: `results` has what `/qr/add` would have answered to each."""
    request_logos = service.Logos(context)
    drafts = [_proven(context, item, request_logos) for item in body.codes]
    return context.change(lambda tx: [_added(tx, context, draft) for draft in drafts], _codes_done)


@router.put("/qr/{id}/update")
def update_code(context: Context, id: PathId, body: CodeChange) -> MessageResponse:
    """Change a code. Printed copies of a tracked code keep working."""
    context.read(lambda tx: ops.get_owned(tx, context.account, id))  # do not fetch a logo for a code of another account
    fields = service.Logos(context).resolve(body)

    settings = context.settings
    return service.change(
        context,
        id,
        lambda tx: ops.draft_change(tx, context.account, id, settings=settings, **fields),
        MessageResponse(message="QR code has been updated successfully."),
    )


@router.delete("/qr/{id}/delete")
def delete_code(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="QR code has been deleted successfully."),
    )


def picture_url(alias: str, context: RequestContext) -> str:
    """Where a code's picture is."""
    return f"{context.settings.base}/qr/{alias}"


def _proven(context: RequestContext, item: Any, request_logos: service.Logos) -> Draft | Problem:
    """Return one of many codes, or the problem that is its own response."""
    try:
        return service.proven(context, parsed(item), request_logos)
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


def _files(
    context: RequestContext, members: Sequence[export.Member], form: Format, size: int
) -> Iterator[tuple[str, bytes]]:
    """Name and content of each picture, read and drawn one after the other."""
    for member in members:
        new = context.read(lambda tx, member=member: export.to_draw(tx, member, context.settings))  # type: ignore[misc]
        if new is not None:
            yield f"{member.name}.{form}", design(new.text, new.style, new.logo).render(form, size)


def _shown(code: ops.Listed, context: RequestContext) -> dict[str, Any]:
    link = picture_url(code.alias, context)
    return {"id": code.id, "link": link, "scans": code.scans, "name": code.name, "date": code.created}
