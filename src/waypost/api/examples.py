"""Examples of the API reference: requests and responses, and code samples in curl, JavaScript and Python.

Requests and responses are composed from the examples of their fields. Code samples read the base URL and the API key
from the environment. `tests/contract/test_code_samples.py` executes all.
"""

import json
from collections.abc import Iterable
from pprint import pformat
from shlex import quote
from typing import Any, NamedTuple
from urllib.parse import urlencode

Schema = dict[str, Any]
Models = dict[str, Schema]
QUERY = "x-sample-query"
"""The name under which an endpoint gives the query of its samples, for parameters that no schema can require."""
UPLOAD = "report.pdf"
_DOWNLOADS = {"application/zip": "qr-codes.zip", "text/csv": "export.csv"}


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


class _Call(NamedTuple):
    """A request. `upload` is the media type of a file that it sends, `download` the name of a file that it receives."""

    method: str
    path: str
    body: Any
    upload: str
    download: str


def code_samples(method: str, path: str, operation: dict[str, Any], models: Models) -> list[dict[str, str]]:
    """Return the samples of an operation as the extension `x-codeSamples`."""
    call = _call(method, path, operation, models)
    return [
        {"lang": "Shell", "label": "curl", "source": _curl(call)},
        {"lang": "JavaScript", "label": "JavaScript", "source": _javascript(call)},
        {"lang": "Python", "label": "Python", "source": _python(call)},
    ]


def _call(method: str, path: str, operation: dict[str, Any], models: Models) -> _Call:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(example_of(parameter["schema"], models)))
    if query := operation.pop(QUERY, None):
        path += f"?{urlencode(query)}"
    content = operation.get("requestBody", {}).get("content", {})
    body = content["application/json"]["example"] if "application/json" in content else None
    upload = "" if body is not None else next(iter(content), "")
    received = next(answer for status, answer in operation["responses"].items() if status < "300")["content"]
    download = "" if "application/json" in received else _DOWNLOADS[next(iter(received))]
    return _Call(method.upper(), path, body, upload, download)


def _curl(call: _Call) -> str:
    method = "" if call.method == "GET" else f"-X {call.method} "
    lines = [f'curl {method}"$BASE_URL{call.path}"', '-H "Authorization: Bearer $API_KEY"']
    if call.body is not None:
        lines += ['-H "Content-Type: application/json"', f"-d {quote(json.dumps(call.body, ensure_ascii=False))}"]
    if call.upload:
        lines.append(f"-F file=@{UPLOAD}" if _is_form(call) else f"--data-binary @{UPLOAD}")
    if call.download:
        lines.append(f"-o {call.download}")
    return " \\\n  ".join(lines)


def _javascript(call: _Call) -> str:
    imports, before, options = [], [], [f'method: "{call.method}",'] if call.method != "GET" else []
    authorization = "Authorization: `Bearer ${process.env.API_KEY}`"
    if call.body is None:
        options.append(f"headers: {{ {authorization} }},")
    else:
        options.append(f'headers: {{\n    {authorization},\n    "Content-Type": "application/json",\n  }},')
        body = json.dumps(call.body, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        options.append(f"body: JSON.stringify({body}),")
    if call.upload:
        imports.append('import { openAsBlob } from "node:fs";')
        before.append(f'const file = await openAsBlob("{UPLOAD}");')
        options.append("body: form," if _is_form(call) else "body: file,")
    if _is_form(call):
        before += ["const form = new FormData();", f'form.append("file", file, "{UPLOAD}");']
    if call.download:
        imports.append('import { writeFile } from "node:fs/promises";')
    fetch = [f"const response = await fetch(`${{process.env.BASE_URL}}{call.path}`, {{"]
    fetch += [*(f"  {option}" for option in options), "});"]
    shown = f'await writeFile("{call.download}", response.body);' if call.download else _LOG
    return "\n".join([*imports, *([""] if imports else []), *before, *fetch, shown])


def _python(call: _Call) -> str:
    arguments = [f"f\"{{os.environ['BASE_URL']}}{call.path}\"", _PYTHON_HEADERS]
    if call.body is not None:
        body = pformat(call.body, sort_dicts=False, width=100).replace("\n", "\n" + " " * len("    json="))
        arguments.append(f"json={body}")
    if call.upload:
        arguments.append('files={"file": file}' if _is_form(call) else "data=file")
    request = f"response = requests.{call.method.lower()}(\n" + "".join(f"    {line},\n" for line in arguments) + ")"
    if call.upload:
        request = f'with open("{UPLOAD}", "rb") as file:\n' + "\n".join(f"    {line}" for line in request.splitlines())
    imports = ["import os", *(["from pathlib import Path"] if call.download else []), "", "import requests", ""]
    shown = f'Path("{call.download}").write_bytes(response.content)' if call.download else "print(response.json())"
    return "\n".join([*imports, request, shown])


def _is_form(call: _Call) -> bool:
    return call.upload == "multipart/form-data"


_LOG = "console.log(await response.json());"
_PYTHON_HEADERS = 'headers={"Authorization": f"Bearer {os.environ[\'API_KEY\']}"}'
