"""Write client/openapi.json, and the parts of the client that its build generates from it.

usage: .venv/bin/python -m scripts.generate_client        (or: make docs)

The document has what the client needs: operations, fields and their descriptions; no samples, errors and headers.
"""

import json
import re
from typing import Any

from client.generator.files import DOCUMENT, write_files
from waypost.core.settings import Settings
from waypost.server.routers import api_document

_WIDTH = 120
_LEFT_OUT = ("example", "examples", "headers", "x-codeSamples")


def main() -> None:
    """Write the document and the generated files."""
    DOCUMENT.write_text(client_document(), "utf-8")
    write_files()


def client_document() -> str:
    """Return the part of the OpenAPI document that the client is generated from. Short values are on one line."""
    document = _without_samples(api_document(Settings(base_url="http://localhost:8000")))
    for methods in document["paths"].values():
        for operation in methods.values():
            responses = operation["responses"].items()
            operation["responses"] = {status: response for status, response in responses if status.startswith("2")}
            parameters = operation.pop("parameters", [])
            operation["parameters"] = [each for each in parameters if each["in"] != "header"]
    schemas = _reached(document["paths"], document["components"]["schemas"])
    parts = {"openapi": document["openapi"], "paths": document["paths"], "components": {"schemas": schemas}}
    return f"{_lines(parts)}\n"


def _reached(paths: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas that operations refer to, directly or through others."""
    reached: set[str] = set()
    pending = _references(paths)
    while pending:
        reached |= pending
        pending = {inner for name in pending for inner in _references(schemas[name])} - reached
    return {name: schema for name, schema in schemas.items() if name in reached}


def _references(value: Any) -> set[str]:
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(value)))


def _without_samples(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_samples(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_samples(item) for key, item in value.items() if not _is_left_out(key, item)}


def _is_left_out(key: str, value: Any) -> bool:
    """Return whether a key is no part of the types. A field of an object can have the same name."""
    is_schema = isinstance(value, dict) and value.keys() & {"type", "anyOf", "$ref"}
    return (key in _LEFT_OUT and not is_schema) or (key == "title" and isinstance(value, str))


def _lines(value: Any, depth: int = 0) -> str:
    text = json.dumps(value, ensure_ascii=False)
    is_plain = isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)
    if not isinstance(value, dict | list) or is_plain or len(text) + depth <= _WIDTH:
        return text
    margin = " " * (depth + 1)
    if isinstance(value, list):
        items = [_lines(item, depth + 1) for item in value]
    else:
        items = [f"{json.dumps(key)}: {_lines(item, depth + 1)}" for key, item in value.items()]
    first, last = ("[", "]") if isinstance(value, list) else ("{", "}")
    return f"{first}\n{margin}" + f",\n{margin}".join(items) + f"\n{' ' * depth}{last}"


if __name__ == "__main__":
    main()
