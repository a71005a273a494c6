"""`/overlay` and `/overlay/…` (API document, section CTA overlays; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Context
from waypost.api.request_body import Body
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import Color, Line, Name, Paragraph, PathId, Timestamp, Url
from waypost.overlays import ops, submissions

router = APIRouter(tags=["CTA overlays"])

Seconds = Annotated[int, Field(ge=0, le=3600)]
Options = Annotated[list[Name], Field(min_length=2, max_length=10)]


class OverlayItem(BaseModel):
    """An overlay, as the API document lists it."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    type: str
    name: str
    date: Timestamp = Field(validation_alias="created")


class OverlayOut(OverlayItem):
    """An overlay, whole; what its type does not have is empty."""

    message: str
    label: str
    link: str
    position: str
    color: str
    background: str
    delay: int
    button: str
    thanks: str
    options: list[str]
    code: str
    image: str
    webhook: str


class SubmissionOut(BaseModel):
    """A form submission; fields that the overlay type does not have are empty."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    link: int | None
    name: str
    email: str
    message: str
    choice: str
    date: Timestamp = Field(validation_alias="created")


class OverlayDetails(Success):
    details: OverlayOut


class _Looks(Body):
    message: Paragraph | None = None
    label: Line | None = None
    link: Url | None = None
    position: ops.Position | None = None
    color: Color | None = None
    background: Color | None = None
    delay: Seconds | None = None
    button: Line | None = None
    thanks: Paragraph | None = None
    options: Options | None = None
    code: Line | None = None
    image: Url | None = None
    webhook: Url | None = None


class NewOverlay(_Looks):
    name: Name
    type: ops.Type


class OverlayChange(_Looks):
    name: Name = ""
    type: ops.Type = "message"


@router.get("/overlay", response_model=pagination.list_model("cta", OverlayItem))
def list_overlays(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("cta", page, OverlayItem.model_validate)


@router.get("/overlay/{id}")
def read_overlay(context: Context, id: PathId) -> OverlayDetails:
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return OverlayDetails(details=OverlayOut.model_validate(overlay))


@router.get("/overlay/{id}/submissions", response_model=pagination.list_model("submissions", SubmissionOut))
def list_submissions(context: Context, id: PathId, page_request: pagination.RequestedPage) -> Any:
    """Form submissions of an overlay, newest first."""
    page = context.read(lambda tx: submissions.list_submissions(tx, context.account, id, page_request))
    return pagination.list_response("submissions", page, SubmissionOut.model_validate)


@router.get("/overlay/{id}/submissions/export", response_class=StreamingResponse)
def export_submissions(context: Context, id: PathId) -> StreamingResponse:
    """All of it as CSV, oldest first."""
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    headers = {"Content-Disposition": f'attachment; filename="overlay-{overlay.id}.csv"'}
    lines = submissions.export(context.database, context.account, overlay.id)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/overlay/add")
def add_overlay(context: Context, body: NewOverlay) -> CreatedResponse:
    return context.change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda overlay: CreatedResponse(id=overlay.id),
    )


@router.put("/overlay/{id}/update")
def update_overlay(context: Context, id: PathId, body: OverlayChange) -> MessageResponse:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Overlay has been updated successfully."),
    )


@router.delete("/overlay/{id}/delete")
def delete_overlay(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Overlay has been deleted successfully."),
    )
