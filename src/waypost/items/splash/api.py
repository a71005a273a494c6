"""`/splash` and `/splash/…` (API document, section Splash pages; decisions 40 and 41)."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from waypost.api import pagination
from waypost.api.context import Change, Context
from waypost.api.request_body import Body, Partial
from waypost.api.responses import CreatedResponse, MessageResponse, Success
from waypost.api.types import CreatedAt, Id, Line, Name, Paragraph, PathId, Url
from waypost.items.splash import ops

router = APIRouter(tags=["Splash pages"])

Seconds = Annotated[int, Field(ge=0, le=3600)]
_NAME = Field(description="Name for yourself.", examples=["Spring"])
_TITLE = Field(description="Heading of the page.", examples=["You are leaving our site"])
_MESSAGE = Field(description="Text of the page, with line breaks.", examples=["The shop opens in a moment."])
_COUNTER = Field(description="Seconds until visitors are redirected.", examples=[10])
_SKIP = Field(description="Seconds until the button to skip appears.", examples=[5])
_LINK = Field(description="URL of your own that the page links to.", examples=["https://example.com/boots"])
_BANNER = Field(description="URL of a picture.", examples=["https://example.com/boots.jpg"])
_LOGO = Field(description="URL of a logo above the heading.", examples=["https://example.com/logo.png"])


class SplashItem(BaseModel):
    """A splash page in a list."""

    model_config = ConfigDict(from_attributes=True)

    id: Id
    name: str = _NAME
    date: CreatedAt = Field(validation_alias="created")


class SplashOut(SplashItem):
    """A splash page with all its fields."""

    title: str = _TITLE
    message: str = _MESSAGE
    counter: int = _COUNTER
    skip: int = _SKIP
    link: str = _LINK
    banner: str = _BANNER
    logo: str = _LOGO


class SplashDetails(Success):
    """One splash page."""

    details: SplashOut = Field(description="The splash page.")


class NewSplash(Body):
    """A new splash page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Spring", "counter": 10, "skip": 5}]})

    name: Annotated[Name, _NAME]
    title: Annotated[Line | None, _TITLE] = None
    message: Annotated[Paragraph | None, _MESSAGE] = None
    counter: Annotated[Seconds | None, _COUNTER] = None
    skip: Annotated[Seconds | None, _SKIP] = None
    link: Annotated[Url | None, _LINK] = None
    banner: Annotated[Url | None, _BANNER] = None
    logo: Annotated[Url | None, _LOGO] = None


class SplashChange(NewSplash):
    """The fields of a splash page. Absent ones keep their values."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "You are leaving our site"}]})

    name: Annotated[Name, _NAME] = ""


@router.get("/splash", response_model=pagination.list_model("splash", SplashItem))
def list_splash_pages(context: Context, page_request: pagination.RequestedPage) -> Any:
    """List splash pages, newest first."""
    page = context.read(lambda tx: ops.page(tx, context.account, page_request))
    return pagination.list_response("splash", page, SplashItem.model_validate)


@router.get("/splash/{id}")
def read_splash_page(context: Context, id: PathId) -> SplashDetails:
    """Read a splash page."""
    splash = context.read(lambda tx: ops.get_owned(tx, context.account, id))
    return SplashDetails(details=SplashOut.model_validate(splash))


@router.post("/splash/add")
def create_splash_page(context: Context, body: NewSplash) -> Change[CreatedResponse]:
    """Create a splash page.

    Links with its id in `type` show it before their destination.
    """
    return Change(
        lambda tx: ops.add(tx, context.account, **body.sent()),
        lambda splash: CreatedResponse(id=splash.id),
    )


@router.put("/splash/{id}/update")
def update_splash_page(context: Context, id: PathId, body: Partial[SplashChange]) -> Change[MessageResponse]:
    """Update a splash page.

    Fields that are not sent keep their values; `null` sets the default.
    """
    return Change(
        lambda tx: ops.change(tx, context.account, id, **body.sent()),
        lambda _: MessageResponse(message="Splash page has been updated successfully."),
    )


@router.delete("/splash/{id}/delete")
def delete_splash_page(context: Context, id: PathId) -> Change[MessageResponse]:
    """Delete a splash page. Its links become direct."""
    return Change(
        lambda tx: ops.remove(tx, context.account, id),
        lambda _: MessageResponse(message="Splash page has been deleted successfully."),
    )
