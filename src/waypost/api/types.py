"""Annotated field types of API models, with their rules and error messages."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import CoreSchema, core_schema

from waypost.clicks.stats.reports import MAX_POINTS, Interval, Span
from waypost.core import clock
from waypost.core.errors import invalid

MAX_INTEGER = 2**53 - 1  # the largest integer that every JSON client represents exactly
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")
_CONTROL_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_DIGITS = re.compile(r"[0-9]{1,15}\Z")
_HEX = re.compile(r"#[0-9A-Fa-f]{6}\Z")
_DAYS = 30
_POINTS_A_DAY = {"hour": 24.0, "day": 1.0, "week": 1 / 7, "month": 1 / 28}
_FIRST = "First day, `YYYY-MM-DD`; 29 days before the last one by default."
_LAST = "Last day, `YYYY-MM-DD`; today in `timezone` by default."


@dataclass(frozen=True)
class OneOf:
    """Marks a text that is one of `values`, as `Literal` does for values that are written in the type."""

    values: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.values))


def _line(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("must not have control characters or line breaks")
    return value


def _text(value: str) -> str:
    if _CONTROL_IN_TEXT.search(value):
        raise ValueError("must not have control characters")
    return value


def _trimmed(value: str) -> str:
    trimmed = value.strip()
    if not trimmed:
        raise ValueError("must not be empty")
    return trimmed


def _color(value: str) -> str:
    if not _HEX.match(value):
        raise ValueError("must be a color of the form #RRGGBB")
    return value


def _moment(value: str) -> str:
    try:
        clock.last_second(value)
    except ValueError:
        raise ValueError(
            "must be a date, YYYY-MM-DD, or YYYY-MM-DD HH:MM:SS in UTC or with an offset such as +02:00"
        ) from None
    return value


def _expiry(value: str) -> str:
    end = clock.last_second(_moment(value))
    if end < clock.now() and clock.is_day(value):
        raise ValueError(
            "must not be in the past. A date alone ends at 23:59:59 UTC; for another end, add a time and an offset,"
            " such as 18:00:00-10:00"
        )
    if end < clock.now():
        raise ValueError("must not be in the past")
    return value


def whole_number(value: Any) -> Any:
    """Validate a number in a path or query: digits only."""
    if isinstance(value, str) and not _DIGITS.match(value):
        raise ValueError("must be a whole number from 1")
    return value


def one_message(words: str) -> WrapValidator:
    """Validator for union types: one message instead of one error per member."""

    def check(value: Any, accept: ValidatorFunctionWrapHandler) -> Any:
        try:
            return accept(value)
        except ValidationError:
            raise ValueError(words) from None

    return WrapValidator(check)


Line = Annotated[str, Field(max_length=255), AfterValidator(_line)]
"""One line of text; can be empty."""
Name = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_line), AfterValidator(_trimmed)]
"""A name: one line, trimmed, not empty."""
MultilineText = Annotated[str, AfterValidator(_text)]
"""Text of any length; can have line breaks and be empty."""
Paragraph = Annotated[str, Field(max_length=5000), AfterValidator(_text)]
"""Text with line breaks; can be empty."""
Url = Annotated[str, Field(max_length=8192)]
"""A URL; waypost.urls.validation checks it."""
Color = Annotated[str, AfterValidator(_color), Field(json_schema_extra={"pattern": "^#[0-9A-Fa-f]{6}$"})]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Positive = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
ItemId = Annotated[int, Field(ge=1, le=MAX_INTEGER)]


class IdInPath:
    """Marks the type of an id in a path: other text than digits is another path, and an unknown number is 404."""


PathId = Annotated[
    int, Field(ge=1, description="Id of the item.", examples=[1]), BeforeValidator(whole_number), IdInPath
]
"""An id in a path; anything but a number is treated like an unknown id."""
Timestamp = Annotated[
    str,
    BeforeValidator(lambda second: clock.text(second) if isinstance(second, int) else second),
    WithJsonSchema({"type": "string", "examples": ["2026-11-21 09:30:00"]}),
]
"""`YYYY-MM-DD HH:MM:SS`, UTC (decision 5)."""

# Fields that several models share: each has its description and example here.
Id = Annotated[int, Field(description="Id of the item in paths and in other requests.", examples=[1])]
CreatedAt = Annotated[Timestamp, Field(description="Time of creation, in UTC.")]
Alias = Annotated[str, Field(description="The part of the short URL after the host.", examples=["spring"])]
ShortUrl = Annotated[str, Field(description="Short URL.", examples=["https://go.example.com/spring"])]
HasPassword = Annotated[bool, Field(description="True if visitors must enter a password.", examples=[False])]
ExpiryText = Annotated[
    str,
    Field(
        description="Last second before the item expires, in UTC; empty if it does not expire.",
        examples=["2099-12-31 23:59:59"],
    ),
]
NewAlias = Annotated[
    Line,
    Field(min_length=1, description="Alias instead of a random one, unique on its host.", examples=["summer"]),
]
NewDomain = Annotated[
    Line,
    Field(
        min_length=1,
        description="One of your branded domains; the service's own host by default.",
        examples=["https://go.brand.example"],
    ),
]
NewPassword = Annotated[
    Line,
    Field(
        min_length=1,
        max_length=128,
        description="Password that visitors must enter. `null` removes it.",
        examples=["correct horse"],
    ),
]
Expiry = Annotated[
    str,
    AfterValidator(_expiry),
    Field(
        max_length=64,
        description="Last day in UTC, `YYYY-MM-DD`, or last second, `YYYY-MM-DD HH:MM:SS` in UTC or with an offset such"
        " as `+02:00`. `null` removes the expiry.",
        examples=["2099-12-31"],
    ),
]
"""A date or timestamp that is not in the past; `clock.last_second` parses it."""
Moment = Annotated[str, AfterValidator(_moment), Field(max_length=64)]
"""A date or timestamp; `clock.last_second` parses it."""


def date_range(
    first: Annotated[str | None, Query(alias="from", description=_FIRST, examples=["2026-11-01"])] = None,
    last: Annotated[str | None, Query(alias="to", description=_LAST, examples=["2026-11-30"])] = None,
    interval: Annotated[Interval, Query(description="Length of the points over time.", examples=["day"])] = "day",
    timezone: Annotated[str, Query(max_length=64, description="Name of a time zone.", examples=["Europe/Berlin"])] = (
        "UTC"
    ),
) -> Span:
    """Return the date range, 30 days by default. Raises INVALID on the invalid field."""
    zone = clock.zone(timezone)
    if zone is None:
        raise invalid("timezone", "timezone must be the name of a time zone, such as Europe/Berlin or UTC.")
    end = _day("to", last) if last is not None else clock.local(clock.now(), zone).date()
    start = _day("from", first) if first is not None else end - timedelta(days=_DAYS - 1)
    if start > end:
        raise invalid("from", "from must not be after to.")
    if ((end - start).days + 1) * _POINTS_A_DAY[interval] > MAX_POINTS:
        raise invalid("interval", f"interval is too short for this span: at most {MAX_POINTS} points at once.")
    return Span(start, end, interval, zone)


def _day(field: str, value: str) -> date:
    if (day := clock.parse_day(value)) is None:
        raise invalid(field, f"{field} must be a day, YYYY-MM-DD.")
    return day


RequestedSpan = Annotated[Span, Depends(date_range)]
"""The requested date range."""
