"""Examples of requests and responses, composed from the examples of their fields."""

from collections.abc import Iterable
from typing import Any

Schema = dict[str, Any]
Models = dict[str, Schema]


def example_of(schema: Schema, models: Models) -> Any:
    """Return an example of a schema. Raises KeyError if a field has none."""
    if "$ref" in schema:
        return example_of(resolved(schema, models), models)
    if values := schema.get("examples") or schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return _in_order(values[0], schema)
    if options := present_options(schema):
        return example_of(options[0], models)
    if schema.get("type") == "array":
        return [example_of(schema["items"], models)]
    return {name: example_of(field, models) for name, field in schema["properties"].items()}


def _in_order(example: Any, schema: Schema) -> Any:
    """Return an example of a model with its fields in the order of the model; pydantic sorts them."""
    if "properties" not in schema:
        return example
    return {name: example[name] for name in schema["properties"] if name in example}


def resolved(schema: Schema, models: Models) -> Schema:
    """Return the model that a reference names; any other schema unchanged."""
    return models[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def present_options(schema: Schema) -> list[Schema]:
    """Return the alternatives of a schema without null."""
    options = schema.get("anyOf") or schema.get("oneOf") or ()
    return [option for option in options if option.get("type") != "null"]


def move_meaning_to_field(field: Schema) -> None:
    """Give a field the description and the examples of its type: for `Expiry | None`, those of `Expiry`."""
    options = present_options(field)
    if len(options) == 1:
        for key in options[0].keys() & {"description", "examples"}:
            field.setdefault(key, options[0].pop(key))


def fields_of(models: Iterable[Schema]) -> list[Schema]:
    """Return the fields of all models."""
    return [field for model in models for field in model.get("properties", {}).values()]
