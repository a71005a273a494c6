"""`/pixels` and `/pixel/…` (API document, section Pixels; decisions 38 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import CreatedAt, Id, Line, Name, PathId
from waypost.items.pixels import ops

router = APIRouter(tags=["Pixels"])
_TYPE = Field(
    description="Provider: " + ", ".join(f"`{name}` (or `{other}`)" for name, other in ops.TYPES.items()) + ".",
    examples=["analyticspixel"],
)
_NAME = Field(description="Name for yourself.", examples=["Shop"])
_TAG = Field(description="Id at the provider: 1 to 64 characters of `A-Z a-z 0-9 _ . / -`.", examples=["G-AB12CD34EF"])


class PixelOut(BaseModel):
    """A tracking pixel."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    type: str = _TYPE
    name: str = _NAME
    tag: str = _TAG
    date: CreatedAt = Field(validation_alias="created")


class PixelDetails(Success):
    """One tracking pixel."""

    details: PixelOut = Field(description="The pixel.")


class NewPixel(Body):
    """A new tracking pixel."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"type": "analyticspixel", "name": "Shop", "tag": "G-AB12CD34EF"}]}
    )

    type: Annotated[Line, _TYPE]
    name: Annotated[Name, _NAME]
    tag: Annotated[Line, _TAG]


class PixelChange(Body):
    """The fields of a pixel."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tag": "G-AB12CD34EF"}]})

    name: Annotated[Name, _NAME] = ""
    tag: Annotated[Line, _TAG]


@router.get("/pixels", response_model=pagination.list_model("pixels", PixelOut))
def list_pixels(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List tracking pixels, newest first."""
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("pixels", page, PixelOut.model_validate)


@router.get("/pixel/{id}")
def read_pixel(context: Context, id: PathId) -> PixelDetails:
    """Read a tracking pixel."""
    pixel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return PixelDetails(details=PixelOut.model_validate(pixel))


@router.post("/pixel/add")
def create_pixel(context: Context, body: NewPixel) -> Change[CreatedResponse]:
    """Create a tracking pixel.

    It starts before the destination of links that name it in `pixels`.
    """
    return Change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda pixel: CreatedResponse(id=pixel.id),
    )


@router.put("/pixel/{id}/update")
def update_pixel(context: Context, id: PathId, body: Partial[PixelChange]) -> Change[MessageResponse]:
    """Update the name or the tag of a tracking pixel."""
    return Change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Pixel has been updated successfully."),
    )


@router.delete("/pixel/{id}/delete")
def delete_pixel(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a tracking pixel. Links no longer start it."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Pixel has been deleted successfully."),
    )
