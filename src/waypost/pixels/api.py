"""`/pixels` and `/pixel/…` (API document, section Pixels; decisions 38 and 41)."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Context
from waypost.api.request_body import Body
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import Line, Name, PathId, Timestamp
from waypost.pixels import ops

router = APIRouter(tags=["Pixels"])


class PixelOut(BaseModel):
    """A pixel, as the API document shows it."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    type: str = Field(examples=list(ops.TYPES))
    name: str
    tag: str
    date: Timestamp = Field(validation_alias="created")


class PixelDetails(Success):
    details: PixelOut


class NewPixel(Body):
    type: Line
    name: Name
    tag: Line


class PixelChange(Body):
    name: Name = ""
    tag: Line


@router.get("/pixels", response_model=pagination.list_model("pixels", PixelOut))
def list_pixels(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("pixels", page, PixelOut.model_validate)


@router.get("/pixel/{id}")
def read_pixel(context: Context, id: PathId) -> PixelDetails:
    pixel = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return PixelDetails(details=PixelOut.model_validate(pixel))


@router.post("/pixel/add")
def add_pixel(context: Context, body: NewPixel) -> CreatedResponse:
    return context.change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda pixel: CreatedResponse(id=pixel.id),
    )


@router.put("/pixel/{id}/update")
def update_pixel(context: Context, id: PathId, body: PixelChange) -> MessageResponse:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Pixel has been updated successfully."),
    )


@router.delete("/pixel/{id}/delete")
def delete_pixel(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Pixel has been deleted successfully."),
    )
