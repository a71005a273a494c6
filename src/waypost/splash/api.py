"""`/splash` and `/splash/…` (API document, section Splash pages; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import lists
from waypost.api.answers import Created, Done, Success
from waypost.api.bodies import Body, JsonRoute
from waypost.api.door import Came
from waypost.api.fields import Line, Name, Paragraph, PathId, Target, Timestamp
from waypost.splash import ops

router = APIRouter(route_class=JsonRoute, tags=["Splash pages"])

Seconds = Annotated[int, Field(ge=0, le=3600)]


class SplashItem(BaseModel):
    """A splash page, as the API document lists it."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    name: str
    date: Timestamp = Field(validation_alias="created")


class SplashOut(SplashItem):
    """A splash page, whole."""

    title: str
    message: str
    counter: int
    skip: int
    link: str
    banner: str
    logo: str


class SplashDetails(Success):
    details: SplashOut


class NewSplash(Body):
    name: Name
    title: Line | None = None
    message: Paragraph | None = None
    counter: Seconds | None = None
    skip: Seconds | None = None
    link: Target | None = None
    banner: Target | None = None
    logo: Target | None = None


class SplashChange(NewSplash):
    name: Name = ""


@router.get("/splash", response_model=lists.envelope("splash", SplashItem))
def list_splash(door: Came, asked: lists.Asked) -> Any:
    page = door.read(lambda tx: ops.page(tx, door.account, asked))
    return lists.answer("splash", page, SplashItem.model_validate)


@router.get("/splash/{id}")
def read_splash(door: Came, id: PathId) -> SplashDetails:
    splash = door.read(lambda tx: ops.own(tx, door.account, id))
    return SplashDetails(details=SplashOut.model_validate(splash))


@router.post("/splash/add")
def add_splash(door: Came, body: NewSplash) -> Created:
    splash = door.write(lambda tx: ops.add(tx, door.account, **body.sent()))
    return Created(id=splash.id)


@router.put("/splash/{id}/update")
def update_splash(door: Came, id: PathId, body: SplashChange) -> Done:
    door.write(lambda tx: ops.change(tx, door.account, id, **body.sent()))
    return Done(message="Splash page has been updated successfully.")


@router.delete("/splash/{id}/delete")
def delete_splash(door: Came, id: PathId) -> Done:
    door.write(lambda tx: ops.remove(tx, door.account, id))
    return Done(message="Splash page has been deleted successfully.")
