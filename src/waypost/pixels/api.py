"""`/pixels` and `/pixel/…` (API document, section Pixels; decisions 38 and 41)."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import lists
from waypost.api.answers import Created, Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came
from waypost.api.fields import Line, Name, PathId, Timestamp
from waypost.pixels import ops

router = APIRouter(route_class=JsonRoute, tags=["Pixels"])


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


@router.get("/pixels", response_model=lists.envelope("pixels", PixelOut))
def list_pixels(door: Came, asked: lists.Asked) -> Any:
    page = door.read(lambda tx: ops.page(tx, door.account, asked))
    return lists.answer("pixels", page, PixelOut.model_validate)


@router.get("/pixel/{id}")
def read_pixel(door: Came, id: PathId) -> PixelDetails:
    pixel = door.read(lambda tx: ops.own(tx, door.account, id))
    return PixelDetails(details=PixelOut.model_validate(pixel))


@router.post("/pixel/add")
def add_pixel(door: Came, body: NewPixel) -> Created:
    pixel = door.write(lambda tx: ops.add(tx, door.account, **body.sent()))
    return Created(id=pixel.id)


@router.put("/pixel/{id}/update")
def update_pixel(door: Came, id: PathId, body: PixelChange) -> Done:
    door.write(lambda tx: ops.change(tx, door.account, id, **body.sent()))
    return Done(message="Pixel has been updated successfully.")


@router.delete("/pixel/{id}/delete")
def delete_pixel(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Pixel has been deleted successfully.")
