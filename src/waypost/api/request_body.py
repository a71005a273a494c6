"""Request bodies: strictly parsed JSON objects, regardless of the Content-Type (decision 4)."""

import json
from collections import Counter
from functools import cache
from typing import Annotated, Any, Self, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, create_model, field_validator, model_validator
from starlette.requests import ClientDisconnect

from waypost.api.lenient_input import FORM_TYPE, blank_fields, parse_form, read_fields
from waypost.errors import Kind, Problem, invalid
from waypost.http.body_headers import refuse_partial_or_encoded

B = TypeVar("B", bound="Body")
MAX_BYTES = 8 * 1024 * 1024
_MAX_FORM_BYTES = 1024 * 1024
_MAX_VALUES = 250_000
"""Commas and opening brackets in JSON: while it parses, no other thread runs, so its work is bounded."""


class Body(BaseModel):
    """Base of request models: JSON types as real clients send them (decisions 54 to 57), unknown fields ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _read_leniently(cls, fields: Any) -> Any:
        return read_fields(cls, fields) if isinstance(fields, dict) else fields

    @field_validator("*")
    @classmethod
    def _reject_nul(cls, value: Any) -> Any:
        if isinstance(value, str) and "\0" in value:
            raise ValueError("must not contain NUL characters")
        return value

    def sent(self) -> dict[str, Any]:
        """Return the fields of the body; `None` for null."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    @classmethod
    def validated_change(cls, fields: Any) -> Self:
        """Return the body of a change: `""` leaves a field as it is if it cannot be null (decision 54).

        Raises ValidationError.
        """
        blank = blank_fields(cls, fields)
        if not blank:
            return cls.model_validate(fields)
        required = frozenset(name for name in blank if cls.model_fields[name].is_required())
        body: Self = _without(cls, required).model_validate(
            {name: fields[name] for name in fields if name not in blank}
        )
        return body


class PartialBody:
    """Marks the type of a body in which `""` leaves a field as it is, if it cannot be null (decision 54)."""


Partial = Annotated[B, PartialBody]
"""The body of an update, such as `Partial[ChannelChange]`."""


@cache
def _without(model: type[B], names: frozenset[str]) -> type[B]:
    """Return the model without the need of some fields, which the body does not have."""
    unused: dict[str, Any] = dict.fromkeys(names, (Any, None))
    return create_model(model.__name__, __base__=model, **unused) if names else model


async def read(request: Request, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read the body. Raises INVALID on a header, TOO_LARGE as soon as it exceeds `max_bytes`."""
    refuse_partial_or_encoded(request.headers.items())
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > max_bytes:
        raise _too_large("body", max_bytes)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise _too_large("body", max_bytes)
    except ClientDisconnect as error:
        raise _invalid_json("the connection was closed") from error
    return bytes(body)


def _too_large(name: str, limit: int, unit: str = "bytes") -> Problem:
    return Problem(Kind.TOO_LARGE, f"The {name} is too large: at most {limit} {unit}.")


def parse(body: bytes, content_type: str) -> dict[str, Any]:
    """Parse a body: JSON regardless of its type, or a form that is no JSON."""
    is_form = content_type.lower().startswith(FORM_TYPE)
    return _parse_form(body) if is_form and not body.lstrip().startswith(b"{") else parse_object(body)


def _parse_form(body: bytes) -> dict[str, Any]:
    """Parse a form. Raises TOO_LARGE above _MAX_FORM_BYTES: percent-decoding takes 50 times the memory of the form."""
    if len(body) > _MAX_FORM_BYTES:
        raise _too_large("form", _MAX_FORM_BYTES)
    return parse_form(body)


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object; an empty body is an empty object.

    Raises INVALID_JSON if it is not JSON or not an object, INVALID for a duplicate key, TOO_LARGE above _MAX_VALUES.
    """
    if not body.strip():
        return {}
    value = _load(body)
    if not isinstance(value, dict):
        raise Problem(Kind.INVALID_JSON, "The body must be a JSON object, such as {}.")
    if isinstance(value, _DuplicateKeys):
        raise invalid(value.name, f"{value.name} occurs twice in the body.")
    for name, part in value.items():
        if (duplicate := _first_duplicate(part)) is not None:
            raise invalid(name, f"{duplicate} occurs twice in {name}.")
    return value


def _load(body: bytes) -> Any:
    if body.count(b",") + body.count(b"[") + body.count(b"{") > _MAX_VALUES:
        raise _too_large("body", _MAX_VALUES, "values")
    try:
        return json.loads(
            body.decode("utf-8-sig"), object_pairs_hook=_object_from_pairs, parse_constant=_reject_constant
        )
    except UnicodeDecodeError as error:
        raise _invalid_json(f"it is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise _invalid_json(f"{error.msg.lower()} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise _invalid_json("it is nested too deeply") from error
    except ValueError as error:
        raise _invalid_json("it has a number of too many digits") from error


class _DuplicateKeys(dict[str, Any]):
    """A JSON object with a duplicate key."""

    name: str


def _object_from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    duplicates = _DuplicateKeys(value)
    counts = Counter(name for name, _ in pairs)
    duplicates.name = next(name for name in value if counts[name] > 1)
    return duplicates


def _first_duplicate(value: Any) -> str | None:
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, _DuplicateKeys):
            return part.name
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list):
            stack.extend(part)
    return None


def _reject_constant(name: str) -> None:
    raise _invalid_json(f"{name} is not a JSON value")


def _invalid_json(why: str) -> Problem:
    return Problem(Kind.INVALID_JSON, f"The body is not valid JSON: {why}.")
