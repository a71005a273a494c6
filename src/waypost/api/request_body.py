"""Request bodies: strictly parsed JSON objects, regardless of the Content-Type (decision 4), or forms.

Their fields are read leniently, as real clients send null, numbers, booleans and enumerations (decisions 54 and 56). An
empty string means null in an optional field. Exact digits are read as a number, and `"true"`, `"false"`, `"1"` and
`"0"` as a boolean. Enumerations ignore case. A field that accepts text gets text unchanged.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ConfigDict, create_model, field_validator, model_validator
from starlette.requests import ClientDisconnect

from waypost.core.errors import Kind, Problem, invalid
from waypost.http.body_headers import refuse_partial_or_encoded

B = TypeVar("B", bound="Body")
MAX_BYTES = 8 * 1024 * 1024
_MAX_FORM_BYTES = 1024 * 1024
_MAX_VALUES = 250_000
"""Commas and opening brackets in JSON: while it parses, no other thread runs, so its work is bounded."""
_FORM_TYPE = "application/x-www-form-urlencoded"
_JSON_TYPE = "application/json"
_LONGEST_TYPE = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAX_FIELDS = 1000
_MAX_ITEMS = 10_000
"""Longer lists are left for validation, which rejects them."""
_FORM_FIELD = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<key>[^\[\]]*)\])?\Z")
_INTEGER = re.compile(r"-?[0-9]{1,16}\Z")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


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
        blank = _blank_fields(cls, fields)
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
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in ("", _JSON_TYPE) or body.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] in (b"{", b"[", b""):
        return parse_object(body)
    if media_type == _FORM_TYPE:
        return _parse_form(body)
    message = f"The body must be JSON, not {media_type[:_LONGEST_TYPE]}. Send it with Content-Type: {_JSON_TYPE}."
    raise Problem(Kind.INVALID_JSON, message)


def _parse_form(body: bytes) -> dict[str, Any]:
    """Return a form as an object: `name=value`, lists as `name[]=a&name[]=b`, objects as `data[phone]=123`.

    Raises INVALID for a field that occurs twice or in two forms, too many fields, or text that is not UTF-8, and
    TOO_LARGE above _MAX_FORM_BYTES: percent-decoding takes 50 times the memory of the form.
    """
    if len(body) > _MAX_FORM_BYTES:
        raise _too_large("form", _MAX_FORM_BYTES)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except ValueError as error:
        message = f"The form must be UTF-8, percent-encoded, with at most {_MAX_FIELDS} fields."
        raise Problem(Kind.INVALID, message) from error
    fields: dict[str, Any] = {}
    for spelling, value in pairs:
        match = _FORM_FIELD.match(spelling)
        name, key = (match["name"], match["key"]) if match else (spelling, None)
        if not _add(fields, name, key, value):
            raise invalid(name, f"{name} occurs twice in the form.")
    return fields


def _add(fields: dict[str, Any], name: str, key: str | None, value: str) -> bool:
    """Add a value of a form. Return False if its place is taken."""
    if key == "":
        values = fields.setdefault(name, [])
        if isinstance(values, list):
            values.append(value)
        return isinstance(values, list)
    target = fields if key is None else fields.setdefault(name, {})
    place = name if key is None else key
    if not isinstance(target, dict) or place in target:
        return False
    target[place] = value
    return True


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


def read_fields(model: type[BaseModel], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body in the types of the model. Values that fit no rule are left for validation."""
    types = _field_types(model)
    return {**fields, **{name: _read(types[name], fields[name]) for name in types if name in fields}}


def _blank_fields(model: type[BaseModel], fields: Any) -> Collection[str]:
    """Return the names of the fields of a body that are `""` and cannot be null."""
    if not isinstance(fields, dict) or "" not in fields.values():
        return ()
    return [name for name, types in _field_types(model).items() if fields.get(name) == "" and NoneType not in types]


@cache
def _field_types(model: type[BaseModel]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(_members(field.annotation)) for name, field in model.model_fields.items()}


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, without their annotations."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _read(types: tuple[Any, ...], value: Any) -> Any:
    if not types:
        return value  # a list without item types, which can be nested to any depth
    if isinstance(value, list):
        return [_read(_item_types(types), item) for item in value] if len(value) <= _MAX_ITEMS else value
    if isinstance(value, dict):
        return _with_known_type(types, value)
    return _read_text(types, value) if isinstance(value, str) else value


def _read_text(types: tuple[Any, ...], text: str) -> Any:
    if not text and NoneType in types:
        return None
    if str in types:
        return text
    if int in types and _INTEGER.match(text):
        return int(text)
    if bool in types:
        return _BOOLEANS.get(text.lower(), text)
    return _canonical(types, text)


def _canonical(types: tuple[Any, ...], text: str) -> str:
    """Return the spelling of an enumeration's option."""
    options = [option for member in types if get_origin(member) is Literal for option in get_args(member)]
    return next((option for option in options if option.casefold() == text.casefold()), text)


@cache
def _item_types(types: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(item for member in types if get_origin(member) is list for item in _members(get_args(member)[0]))


def _with_known_type(types: tuple[Any, ...], value: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a union of models with the spelling of its `type` that selects the model."""
    models = [member for member in types if isinstance(member, type) and issubclass(member, BaseModel)]
    kinds = tuple(kind for model in models for kind in _field_types(model).get("type", ()))
    if not isinstance(value.get("type"), str):
        return value
    return {**value, "type": _canonical(kinds, value["type"])}
