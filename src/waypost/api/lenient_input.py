"""Lenient reading of request bodies: null, numbers, booleans and enumerations of real clients (decisions 54 and 56).

An empty string means null in an optional field. Exact digits are read as a number, and `"true"`, `"false"`, `"1"` and
`"0"` as a boolean. Enumerations ignore case. A field that accepts text gets text unchanged.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel

from waypost.errors import Kind, Problem, invalid

FORM_TYPE = "application/x-www-form-urlencoded"
_MAX_FIELDS = 1000
_MAX_ITEMS = 10_000
"""Longer lists are left for validation, which rejects them."""
_FORM_FIELD = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<key>[^\[\]]*)\])?\Z")
_INTEGER = re.compile(r"-?[0-9]{1,16}\Z")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def parse_form(body: bytes) -> dict[str, Any]:
    """Return a form as an object: `name=value`, lists as `name[]=a&name[]=b`, objects as `data[phone]=123`.

    Raises INVALID for a field that occurs twice or in two forms, too many fields, or text that is not UTF-8.
    """
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


def read_fields(model: type[BaseModel], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a body in the types of the model. Values that fit no rule are left for validation."""
    types = _field_types(model)
    return {**fields, **{name: _read(types[name], fields[name]) for name in types if name in fields}}


def blank_fields(model: type[BaseModel], fields: Any) -> Collection[str]:
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
