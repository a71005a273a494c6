"""JSON schemas of tools: short, because agents read all of them in every session."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

_LEFT_OUT = frozenset({"title", "examples"})
_SCHEMAS_BY_NAME = frozenset({"properties", "$defs"})


def schema_of(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """Return the JSON schema of a model without the titles of fields and without examples.

    Also without empty defaults: agents would send them, which resets a setting instead of keeping it.
    """
    schema = _short(model.model_json_schema(mode=mode))
    schema.pop("description", None)
    return schema


def _short(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _short_part(name, part) for name, part in schema.items() if not _is_left_out(name, part)}


def _is_left_out(name: str, part: Any) -> bool:
    return name in _LEFT_OUT or (name == "default" and part in (None, ""))


def _short_part(name: str, part: Any) -> Any:
    if name in _SCHEMAS_BY_NAME:  # a property can have the name of a keyword
        return {key: _short(schema) for key, schema in part.items()}
    if isinstance(part, dict):
        return _short(part) if name not in ("default", "const") else part
    if isinstance(part, list):
        return [_short(item) if isinstance(item, dict) else item for item in part]
    return part
