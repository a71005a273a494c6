"""`/overlay` and `/overlay/…` (API document, section CTA overlays; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import lists
from waypost.api.answers import Created, Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came
from waypost.api.fields import Color, Line, Name, Paragraph, PathId, Target, Timestamp
from waypost.overlays import ops, submissions

router = APIRouter(route_class=JsonRoute, tags=["CTA overlays"])

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
    """What a visitor sent by an overlay; what its type does not ask for is empty."""

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
    link: Target | None = None
    position: ops.Position | None = None
    color: Color | None = None
    background: Color | None = None
    delay: Seconds | None = None
    button: Line | None = None
    thanks: Paragraph | None = None
    options: Options | None = None
    code: Line | None = None
    image: Target | None = None
    webhook: Target | None = None


class NewOverlay(_Looks):
    name: Name
    type: ops.Type


class OverlayChange(_Looks):
    name: Name = ""
    type: ops.Type = "message"


@router.get("/overlay", response_model=lists.envelope("cta", OverlayItem))
def list_overlays(door: Came, asked: lists.Asked) -> Any:
    page = door.read(lambda tx: ops.page(tx, door.account, asked))
    return lists.answer("cta", page, OverlayItem.model_validate)


@router.get("/overlay/{id}")
def read_overlay(door: Came, id: PathId) -> OverlayDetails:
    overlay = door.read(lambda tx: ops.own(tx, door.account, id))
    return OverlayDetails(details=OverlayOut.model_validate(overlay))


@router.get("/overlay/{id}/submissions", response_model=lists.envelope("submissions", SubmissionOut))
def list_submissions(door: Came, id: PathId, asked: lists.Asked) -> Any:
    """What visitors sent by an overlay, newest first."""
    page = door.read(lambda tx: submissions.page(tx, door.account, id, asked))
    return lists.answer("submissions", page, SubmissionOut.model_validate)


@router.get("/overlay/{id}/submissions/export", response_class=StreamingResponse)
def export_submissions(door: Came, id: PathId) -> StreamingResponse:
    """All of it as CSV, oldest first."""
    overlay = door.read(lambda tx: ops.own(tx, door.account, id))
    headers = {"Content-Disposition": f'attachment; filename="overlay-{overlay.id}.csv"'}
    lines = submissions.export(door.database, door.account, overlay.id)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/overlay/add")
def add_overlay(door: Came, body: NewOverlay) -> Created:
    overlay = door.write(lambda tx: ops.add(tx, door.account, **body.sent()))
    return Created(id=overlay.id)


@router.put("/overlay/{id}/update")
def update_overlay(door: Came, id: PathId, body: OverlayChange) -> Done:
    door.write(lambda tx: ops.change(tx, door.account, id, **body.sent()))
    return Done(message="Overlay has been updated successfully.")


@router.delete("/overlay/{id}/delete")
def delete_overlay(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Overlay has been deleted successfully.")
