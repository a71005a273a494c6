"""The bodies that make and change a code."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError, model_validator

from waypost.api.request_body import Body
from waypost.api.responses import validation_problem
from waypost.api.types import Line, one_message
from waypost.errors import invalid
from waypost.qrcode.payloads import Type
from waypost.qrcode.render import Format
from waypost.qrcode.styles import (
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

_MOST_AT_ONCE = 500
_LONGEST_LOGO = 3 * 2 * 1024 * 1024 + 100  # the largest logo as a data: URL, every byte of it percent-encoded

_Data = Annotated[
    str | dict[str, Any],
    one_message("must be a string, or an object with the parts of its type"),
    Field(description="The content: a string, or an object with the parts of its type.", examples=["Hello"]),
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


_Color = Annotated[Line, Field(description="rgb(r,g,b) or #RRGGBB.", examples=["rgb(0,0,0)"])]


class GradientIn(Body):
    """A gradient from the foreground to this color."""

    color: _Color
    type: Shading = "linear"
    angle: Annotated[int, Field(ge=0, le=360, description="Degrees clockwise from rightwards.")] = 45


class CodeChange(Body):
    _canonical = model_validator(mode="before")(_canonical)

    data: _Data
    type: Type = "text"
    name: Line | None = None
    dynamic: Annotated[bool | None, Field(description="true: scans are redirected by the service and counted.")] = None
    foreground: _Color | None = None
    background: _Color | None = None
    gradient: GradientIn | None = None
    modules: Modules | None = None
    eyes: Eyes | None = None
    level: Annotated[Level | None, Field(description="Error correction; auto: what the logo needs.")] = None
    margin: Annotated[int | None, Field(ge=LEAST_MARGIN, le=MOST_MARGIN, description="In modules.")] = None
    caption: Annotated[Line | None, Field(max_length=LONGEST_CAPTION, description="Draws a frame with it.")] = None
    logo: Annotated[
        str | None,
        Field(
            max_length=_LONGEST_LOGO,
            description="A PNG or JPEG: its URL, a data: URL, or the short URL or alias of a file of yours.",
        ),
    ] = None

    def sent(self) -> dict[str, Any]:
        """Return the fields that the body contains; the gradient as a dict."""
        fields = super().sent()
        if self.gradient is not None:
            fields["gradient"] = self.gradient.model_dump()
        return fields


class NewCode(CodeChange):
    type: Type
    custom: Annotated[Line, Field(min_length=1, description="An alias instead of a random one.")] | None = None


class PreviewCode(NewCode):
    format: Format = "png"
    size: Annotated[int, Field(ge=LEAST_SIZE, le=MOST_SIZE)] = 512

    def sent(self) -> dict[str, Any]:
        """The fields of the code alone."""
        return {name: value for name, value in super().sent().items() if name not in ("format", "size")}


class NewCodes(Body):
    codes: Annotated[list[Any], Field(min_length=1, max_length=_MOST_AT_ONCE, description="Each as for /qr/add.")]


def parsed(item: Any) -> NewCode:
    """One of many bodies. Raises INVALID on the field at fault, as a body of its own would."""
    if not isinstance(item, dict):
        raise invalid("codes", "codes must be a list of objects.")
    try:
        return NewCode.model_validate(item)
    except ValidationError as error:
        items = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise validation_problem(RequestValidationError(items)) from error
