"""`/splash` and `/splash/…` (API document, section Splash pages; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Context
from waypost.api.request_body import Body
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import Line, Name, Paragraph, PathId, Timestamp, Url
from waypost.splash import ops

router = APIRouter(tags=["Splash pages"])

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
    link: Url | None = None
    banner: Url | None = None
    logo: Url | None = None


class SplashChange(NewSplash):
    name: Name = ""


@router.get("/splash", response_model=pagination.list_model("splash", SplashItem))
def list_splash(context: Context, page_request: pagination.RequestedPage) -> Any:
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("splash", page, SplashItem.model_validate)


@router.get("/splash/{id}")
def read_splash(context: Context, id: PathId) -> SplashDetails:
    splash = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return SplashDetails(details=SplashOut.model_validate(splash))


@router.post("/splash/add")
def add_splash(context: Context, body: NewSplash) -> CreatedResponse:
    return context.change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda splash: CreatedResponse(id=splash.id),
    )


@router.put("/splash/{id}/update")
def update_splash(context: Context, id: PathId, body: SplashChange) -> MessageResponse:
    return context.change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Splash page has been updated successfully."),
    )


@router.delete("/splash/{id}/delete")
def delete_splash(context: Context, id: PathId) -> MessageResponse:
    return context.change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Splash page has been deleted successfully."),
    )
