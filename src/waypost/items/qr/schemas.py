"""The bodies of requests and responses for QR codes."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from waypost.api.request_body import Body
from waypost.api.responses import Failure, MessageResponse, Success, validation_problem
from waypost.api.types import Alias, CreatedAt, Id, Line, NewAlias, one_message
from waypost.clicks.stats.reports import StatisticsBlock
from waypost.core.errors import invalid
from waypost.media.qrcode.payloads import Type
from waypost.media.qrcode.render import Format
from waypost.media.qrcode.styles import (
    LEAST_MARGIN,
    LEAST_SIZE,
    LONGEST_CAPTION,
    MOST_MARGIN,
    MOST_SIZE,
    Eyes,
    Level,
    Modules,
    Shading,
)

FORMAT = Field(description="Format of the images.", examples=["png"])
SIZE = Field(description="Width and height of PNG images, in pixels.", examples=[512])
_MOST_AT_ONCE = 500
_LONGEST_LOGO = 3 * 2 * 1024 * 1024 + 100  # the largest logo as a data: URL, every byte of it percent-encoded

_DATA = Field(
    description="The content: a string, or an object with the parts of its type, such as `phone` and `message`.",
    examples=["https://example.com/spring-sale"],
)
_TYPE = Field(description="Kind of the content.", examples=["link"])
_NAME = Field(description="Name for yourself.", examples=["Poster"])
_DYNAMIC = Field(
    description="True if the image contains a short URL: scans are counted, and the content can change. By default the"
    " type decides.",
    examples=[True],
)
_FOREGROUND = Field(
    description="Color of the modules, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`.", examples=["#000000"]
)
_BACKGROUND = Field(
    description="Color of the background, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`.",
    examples=["#ffffff"],
)
_GRADIENT = "Gradient from the foreground to a second color; null without one."
_MODULES = Field(description="Shape of the modules.", examples=["square"])
_EYES = Field(description="Shape of the three corners.", examples=["square"])
_LEVEL = Field(description="Error correction; `auto`: what the logo needs.", examples=["auto"])
_MARGIN = Field(description="Width of the margin, in modules.", examples=[4])
_CAPTION = Field(description="Text below the code, in a frame; empty for neither.", examples=["Scan me"])
_IMAGE = Field(description="URL of the image.", examples=["https://go.example.com/qr/spring"])

_Data = Annotated[
    str | dict[str, Any],
    one_message("must be a string, or an object with the parts of its type"),
    _DATA,
]
_TYPE_ALIASES: Mapping[str, tuple[Type, bool | None]] = {
    "smsonly": ("sms", False),
    "staticvcard": ("vcard", False),
    "application": ("app", None),
}
"""Type and `dynamic` of the types' other names (decision 59)."""


def _canonical(body: Any) -> Any:
    """Replace another name of a type. Raises INVALID if `dynamic` contradicts it."""
    if not isinstance(body, dict) or not isinstance(body.get("type"), str):
        return body
    sent = body["type"].strip().lower()
    if sent not in _TYPE_ALIASES:
        return body
    canonical, dynamic = _TYPE_ALIASES[sent]
    if dynamic is None:
        return {**body, "type": canonical}
    if body.get("dynamic") not in (None, "", False, 0, "0", "false"):
        raise invalid("dynamic", f"dynamic must be false for the type {sent}.")
    return {**body, "type": canonical, "dynamic": dynamic}


class GradientIn(Body):
    """A gradient from the foreground to this color."""

    color: Annotated[
        Line,
        Field(
            description="Second color, `#RRGGBB`, `#RGB`, `rgb(r,g,b)` or a name such as `navy`.",
            examples=["rgb(0,0,90)"],
        ),
    ]
    type: Annotated[Shading, Field(description="Form of the gradient.", examples=["linear"])] = "linear"
    angle: Annotated[
        int, Field(ge=0, le=360, description="Degrees clockwise from rightwards, if linear.", examples=[45])
    ] = 45


class CodeChange(Body):
    """The fields of a QR code. Absent ones keep their values; the content is required."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"data": "https://example.com/summer"}]})

    _canonical = model_validator(mode="before")(_canonical)

    data: _Data
    type: Annotated[Type, _TYPE] = "text"
    name: Annotated[Line | None, _NAME] = None
    dynamic: Annotated[bool | None, _DYNAMIC] = None
    foreground: Annotated[Line | None, _FOREGROUND] = None
    background: Annotated[Line | None, _BACKGROUND] = None
    gradient: Annotated[GradientIn | None, Field(description=_GRADIENT)] = None
    modules: Annotated[Modules | None, _MODULES] = None
    eyes: Annotated[Eyes | None, _EYES] = None
    level: Annotated[Level | None, _LEVEL] = None
    margin: Annotated[int | None, Field(ge=LEAST_MARGIN, le=MOST_MARGIN), _MARGIN] = None
    caption: Annotated[Line | None, Field(max_length=LONGEST_CAPTION), _CAPTION] = None
    logo: Annotated[
        str | None,
        Field(
            max_length=_LONGEST_LOGO,
            description="A PNG or JPEG: its URL, a data: URL, or the short URL or alias of a file of yours.",
            examples=["https://example.com/logo.png"],
        ),
    ] = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains; the gradient as a dict."""
        fields = super().sent()
        if self.gradient is not None:
            fields["gradient"] = self.gradient.model_dump()
        return fields


class NewCode(CodeChange):
    """A new QR code."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"type": "link", "data": "https://example.com/spring-sale", "name": "Poster"}]}
    )

    type: Annotated[Type, _TYPE]
    custom: NewAlias | None = None


class PreviewCode(NewCode):
    """A QR code that is drawn, but not saved."""

    format: Annotated[Format, FORMAT] = "png"
    size: Annotated[int, Field(ge=LEAST_SIZE, le=MOST_SIZE), SIZE] = 512

    def sent(self) -> dict[str, Any]:
        """The fields of the code alone."""
        return {name: value for name, value in super().sent().items() if name not in ("format", "size")}


class NewCodes(Body):
    """Several new QR codes."""

    codes: Annotated[
        list[Any],
        Field(
            min_length=1,
            max_length=_MOST_AT_ONCE,
            description="Bodies as for `POST /qr/add`.",
            examples=[[{"type": "text", "data": "Table 1"}, {"type": "text", "data": "Table 2"}]],
        ),
    ]


class CodeOut(BaseModel):
    """A QR code in a list."""

    id: Id
    link: str = _IMAGE
    scans: int = Field(description="Scans, if the code is tracked.", examples=[128])
    name: str = _NAME
    date: CreatedAt


class CodeDetails(CodeOut):
    """A QR code with all its fields."""

    alias: Alias
    shorturl: str = Field(
        description="URL that the image of a tracked code contains.", examples=["https://go.example.com/spring"]
    )
    type: Type = _TYPE
    data: str | dict[str, Any] = _DATA
    dynamic: bool = _DYNAMIC
    foreground: str = _FOREGROUND
    background: str = _BACKGROUND
    gradient: dict[str, Any] | None = Field(description=_GRADIENT, examples=[None])
    modules: str = _MODULES
    eyes: str = _EYES
    level: str = _LEVEL
    margin: int = _MARGIN
    caption: str = _CAPTION
    logo: bool = Field(description="True if the code has a logo.", examples=[False])
    version: int = Field(description="Counts changes; an image with `?v=` can be cached for ever.", examples=[1])


class CodeAnswer(Success):
    """A QR code with the statistics of its scans."""

    details: CodeDetails = Field(description="The QR code.")
    data: StatisticsBlock = Field(description="The statistics of its scans.")


class CodeDone(Success):
    """The response to a create request."""

    id: Id
    link: str = _IMAGE


class Preview(Success):
    """A QR code that was drawn."""

    image: str = Field(description="The image as a `data:` URL.", examples=["data:image/png;base64,iVBORw0KGgo…"])
    content: str = Field(description="The text in the image.", examples=["https://go.example.com/x7Kp2"])
    level: str = Field(description="Level of error correction that was used.", examples=["M"])
    modules: int = Field(description="Modules along each side, without the margin.", examples=[25])


class CodesDone(MessageResponse):
    """The response to several new QR codes."""

    results: list[CodeDone | Failure] = Field(description="The response of `POST /qr/add` for each code, in order.")


def parsed(item: Any) -> NewCode:
    """One of many bodies. Raises INVALID on the field at fault, as a body of its own would."""
    if not isinstance(item, dict):
        raise invalid("codes", "codes must be a list of objects.")
    try:
        return NewCode.model_validate(item)
    except ValidationError as error:
        items = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise validation_problem(RequestValidationError(items)) from error
