"""`/overlay` and `/overlay/…` (API document, section CTA overlays; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import Color, CreatedAt, Id, Line, Name, Paragraph, PathId, Url
from waypost.http import file_names
from waypost.items.overlays import ops, submissions

router = APIRouter(tags=["CTA overlays"])

Seconds = Annotated[int, Field(ge=0, le=3600)]
Options = Annotated[list[Name], Field(min_length=2, max_length=10)]
_NAME = Field(description="Name for yourself.", examples=["Newsletter"])
_TYPE = Field(description="Kind of the overlay; it decides which other fields are used.", examples=["newsletter"])
_MESSAGE = Field(description="Text of the overlay.", examples=["New boots every month."])
_LABEL = Field(description="Text of the button with `link`.", examples=["Read more"])
_LINK = Field(description="URL that the button opens.", examples=["https://example.com/boots"])
_POSITION = Field(description="Place on the screen.", examples=["bottom-right"])
_COLOR = Field(description="Color of the text, `#RRGGBB`.", examples=["#111111"])
_BACKGROUND = Field(description="Color of the background, `#RRGGBB`.", examples=["#EEEEEE"])
_DELAY = Field(description="Seconds until the overlay appears.", examples=[3])
_BUTTON = Field(description="`contact` and `newsletter`: text of the form's button.", examples=["Subscribe"])
_THANKS = Field(description="`contact` and `newsletter`: text after a submission.", examples=["Thank you."])
_OPTIONS = Field(description="`poll`: the 2 to 10 options; required.", examples=[["Red", "Blue"]])
_CODE = Field(description="`coupon`: the code to copy; required.", examples=["SPRING20"])
_IMAGE = Field(description="`image`: URL of the picture; required.", examples=["https://example.com/boots.jpg"])
_WEBHOOK = Field(
    description="URL that receives each submission as JSON, signed, and again after failures.",
    examples=["https://example.com/hooks/waypost"],
)


_CSV: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "id,date,link,name,email,message,choice\r\n1,2026-11-21 09:30:00,1,,ben@example.com,,\r\n",
            }
        }
    }
}


class OverlayItem(BaseModel):
    """An overlay in a list."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    type: str = _TYPE
    name: str = _NAME
    date: CreatedAt = Field(validation_alias="created")


class OverlayOut(OverlayItem):
    """An overlay with all its fields; those that its type does not have are empty."""

    message: str = _MESSAGE
    label: str = _LABEL
    link: str = _LINK
    position: str = _POSITION
    color: str = _COLOR
    background: str = _BACKGROUND
    delay: int = _DELAY
    button: str = _BUTTON
    thanks: str = _THANKS
    options: list[str] = _OPTIONS
    code: str = _CODE
    image: str = _IMAGE
    webhook: str = _WEBHOOK


class SubmissionOut(BaseModel):
    """A form submission; fields that the overlay type does not have are empty."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    link: int | None = Field(description="Id of the link that the visitor followed; null if deleted.", examples=[1])
    name: str = Field(description="`contact`: name of the visitor.", examples=["Ben"])
    email: str = Field(
        description="`contact` and `newsletter`: e-mail address of the visitor.", examples=["ben@example.com"]
    )
    message: str = Field(description="`contact`: the message.", examples=["Is it available in blue?"])
    choice: str = Field(description="`poll`: the selected option.", examples=["Blue"])
    date: CreatedAt = Field(validation_alias="created")


class OverlayDetails(Success):
    """One overlay."""

    details: OverlayOut = Field(description="The overlay.")


class _Looks(Body):
    message: Annotated[Paragraph | None, _MESSAGE] = None
    label: Annotated[Line | None, _LABEL] = None
    link: Annotated[Url | None, _LINK] = None
    position: Annotated[ops.Position | None, _POSITION] = None
    color: Annotated[Color | None, _COLOR] = None
    background: Annotated[Color | None, _BACKGROUND] = None
    delay: Annotated[Seconds | None, _DELAY] = None
    button: Annotated[Line | None, _BUTTON] = None
    thanks: Annotated[Paragraph | None, _THANKS] = None
    options: Annotated[Options | None, _OPTIONS] = None
    code: Annotated[Line | None, _CODE] = None
    image: Annotated[Url | None, _IMAGE] = None
    webhook: Annotated[Url | None, _WEBHOOK] = None


class NewOverlay(_Looks):
    """A new overlay."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "Newsletter", "type": "newsletter", "button": "Subscribe"}]}
    )

    name: Annotated[Name, _NAME]
    type: Annotated[ops.Type, _TYPE]


class OverlayChange(_Looks):
    """The fields of an overlay. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"message": "New boots every month."}]})

    name: Annotated[Name, _NAME] = ""
    type: Annotated[ops.Type, _TYPE] = "message"


@router.get("/overlay", response_model=pagination.list_model("cta", OverlayItem))
def list_overlays(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List overlays, newest first."""
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("cta", page, OverlayItem.model_validate)


@router.get("/overlay/{id}")
def read_overlay(context: Context, id: PathId) -> OverlayDetails:
    """Read an overlay."""
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return OverlayDetails(details=OverlayOut.model_validate(overlay))


@router.get("/overlay/{id}/submissions", response_model=pagination.list_model("submissions", SubmissionOut))
def list_submissions(context: Context, id: PathId, page_request: pagination.RequestedPage) -> Any:
    """List the form submissions of an overlay, newest first."""
    page = context.read(lambda tx: submissions.list_submissions(tx, context.account, id, page_request))
    return pagination.list_response("submissions", page, SubmissionOut.model_validate)


@router.get("/overlay/{id}/submissions/export", response_class=StreamingResponse, responses=_CSV)
def export_submissions(context: Context, id: PathId) -> StreamingResponse:
    """Export the form submissions of an overlay as CSV, oldest first."""
    overlay = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    headers = {"Content-Disposition": file_names.attachment(overlay.name or f"overlay-{overlay.id}", "csv")}
    lines = submissions.export(context.database, context.account, overlay.id)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/overlay/add")
def create_overlay(context: Context, body: NewOverlay) -> Change[CreatedResponse]:
    """Create an overlay.

    Links with `overlay-` and its id in `type` show it over their destination.
    """
    return Change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda overlay: CreatedResponse(id=overlay.id),
    )


@router.put("/overlay/{id}/update")
def update_overlay(context: Context, id: PathId, body: Partial[OverlayChange]) -> Change[MessageResponse]:
    """Update an overlay.

    Fields that are not sent keep their values; `null` sets the default.
    """
    return Change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Overlay has been updated successfully."),
    )


@router.delete("/overlay/{id}/delete")
def delete_overlay(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete an overlay with its submissions. Its links become direct."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Overlay has been deleted successfully."),
    )
