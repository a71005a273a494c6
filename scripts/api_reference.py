"""The pages docs/api.md and docs/api: what all calls have in common, and a page for each resource."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.markdown import either, table, whole

_METHODS = ("get", "post", "put", "delete")
_CONVENTIONS = """\
## Pages of lists

Lists have pages of 15 items, newest first. `limit` sets another length, and `page` the number of the page, from 1.
The response has `result` (items in all), `perpage`, `currentpage`, `nextpage` (`null` on the last page) and `maxpage`.
To read all items, request pages until `nextpage` is `null`. New items move others to the next page, so an item can
appear twice.

## Times

All times are in UTC, as `YYYY-MM-DD HH:MM:SS`. A request can have an offset instead, such as
`2026-12-24 18:00:00+01:00`. A day without a time means its last second where it ends something, such as an expiry.

## Changes

The resources and fields here stay in all versions 1.x. New fields can appear in responses at any time, so ignore
unknown ones. The [changelog](../CHANGELOG.md) lists additions.

"""


def files(folder: Path, written: str, document: dict[str, Any]) -> dict[Path, str]:
    """Return the content of each page; `written` is the remark that it is generated."""
    schemas = document["components"]["schemas"]
    pages: dict[str, list[str]] = {}
    operations = [(m, path, o[m]) for path, o in document["paths"].items() for m in _METHODS if m in o]
    for method, path, operation in operations:
        tag = operation["tags"][0]
        lines = pages.setdefault(tag, [f"# API: {tag}", "", written, "[All calls](../api.md) have the same rules.", ""])
        lines += [*_operation(method, path, operation, schemas), ""]
    texts = {folder / "api" / f"{_slug(tag)}.md": "\n".join(lines).rstrip() + "\n" for tag, lines in pages.items()}
    return {folder / "api.md": _overview(written, document, operations), **texts}


def _slug(tag: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")


def _overview(written: str, document: dict[str, Any], operations: list[tuple[str, str, dict[str, Any]]]) -> str:
    schemas = document["components"]["schemas"]
    lines = ["# API", "", written, str(document["info"]["description"]), "A running service shows the same at"]
    lines += ["`/api/docs`, to try out, and at `/api/openapi.json`, for programs.", "", "## Resources", ""]
    calls: dict[str, list[str]] = {}
    for method, path, operation in operations:
        page = f"api/{_slug(operation['tags'][0])}.md"
        link = f"[{method.upper()} {path.removeprefix('/api')}]({page}#{_anchor(method, path)})"
        calls.setdefault(f"[{operation['tags'][0]}]({page})", []).append(link)
    lines += [table(("Resource", "Calls"), ((tag, " · ".join(links)) for tag, links in calls.items())), _CONVENTIONS]
    lines += ["## Failures", ""]
    failure = _shape({"$ref": "#/components/schemas/Failure"}, schemas)
    lines += ["The body of every failure:", "", "```", *failure, "```", ""]
    shared = sorted(document["components"]["responses"].items())
    rows = ((status, " ".join(response["description"].split())) for status, response in shared)
    lines += [table(("Status", "When"), rows)]
    sent = {
        p["name"]: p for *_, operation in operations for p in operation.get("parameters", ()) if p["in"] == "header"
    }
    lines += ["## Repeated requests", "", "Every POST, PUT and DELETE can have this header:", ""]
    lines += [table(("Header", "Meaning"), ((f"`{name}`", header["description"]) for name, header in sent.items()))]
    lines += ["## Rate limit", "", "Every response to a known key has these headers:", ""]
    headers = operations[0][2]["responses"]["200"]["headers"].items()
    lines += [table(("Header", "Meaning"), ((f"`{name}`", message["description"]) for name, message in headers))]
    return "\n".join(lines).rstrip() + "\n"


def _anchor(method: str, path: str) -> str:
    """Return the anchor of the heading of a call."""
    return f"{method} {re.sub(r'[^a-z0-9_ -]', '', path.lower())}".replace(" ", "-")


def _operation(method: str, path: str, operation: dict[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f"## `{method.upper()} {path}`"
    yield ""
    yield " ".join([f"{operation['summary']}.", *operation.get("description", "").split()])
    if parameters := [p for p in operation.get("parameters", ()) if p["in"] == "query"]:
        rows = [(f"`{p['name']}`", _type(p["schema"], schemas), p.get("description", "")) for p in parameters]
        yield from ("", table(("Query", "Values", "Meaning"), rows).rstrip())
    if "requestBody" in operation:
        body = _resolved(next(iter(operation["requestBody"]["content"].values()))["schema"], schemas)
        needed = body.get("required", ())
        fields = [
            (f"`{name}`", "needed" if name in needed else "", _type(field, schemas), field.get("description", ""))
            for name, field in body.get("properties", {}).items()
        ] or [("the bytes of the file", "needed", "", "")]
        yield from ("", table(("Body", "", "Values", "Meaning"), fields).rstrip())
    yield from ("", *_samples(operation["x-codeSamples"]))
    status, response = next((code, message) for code, message in operation["responses"].items() if code < "300")
    contents = response.get("content", {})
    shown = next((content for content in contents.values() if "example" in content), None)
    if shown is not None:
        example, is_text = shown["example"], isinstance(shown["example"], str)
        answer = "\n".join(example.splitlines()) if is_text else json.dumps(example, indent=2, ensure_ascii=False)
        yield from ("", f"Answers {status}, such as:", "", "```" if is_text else "```json", answer, "```")
        if not is_text:
            yield from ("", "Its fields:", "", "```", *_shape(shown["schema"], schemas), "```")
    elif contents:
        yield from ("", f"Answers {status} with a file: {either(contents)}.")


def _samples(samples: list[dict[str, str]]) -> Iterator[str]:
    """Yield a request with curl, and the same folded in other languages."""
    first, *others = samples
    yield from ("```sh", first["source"], "```")
    for sample in others:
        yield from ("", f"<details markdown><summary>{sample['lang']}</summary>", "")
        yield from (f"```{sample['lang'].lower()}", sample["source"], "```", "", "</details>")


def _resolved(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    return schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """Describe the allowed values of a field."""
    schema = _resolved(schema, schemas)
    kinds = schema.get("anyOf") or schema.get("oneOf")
    if kinds:
        words = list(dict.fromkeys(_type(kind, schemas) for kind in kinds))
        text = " or ".join(words)
    elif "enum" in schema or "const" in schema:
        text = either(schema.get("enum") or [schema["const"]])
    elif schema.get("type") == "object":
        fields = (f"`{name}` {_type(field, schemas)}" for name, field in schema.get("properties", {}).items())
        text = f"{{{', '.join(fields)}}}"
    elif schema.get("type") == "array":
        most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
        text = f"list of {_type(schema['items'], schemas)}{most}"
    else:
        text = _simple(schema)
    default = schema.get("default")
    return f"{text}, by default `{json.dumps(default)}`" if default not in (None, "") else text


def _simple(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "anything")
    if kind == "integer":
        least = schema.get("minimum", schema.get("ge"))
        most = schema.get("maximum", schema.get("le"))
        return whole(None if least is None else int(least), None if most is None else int(most))
    limit = f" of at most {schema['maxLength']} characters" if "maxLength" in schema else ""
    form = f" like `{schema['pattern']}`" if "pattern" in schema else ""
    return {"boolean": "true or false"}.get(kind, f"{kind}{limit}{form}")


def _shape(schema: Mapping[str, Any], schemas: Mapping[str, Any], *, indent: str = "", name: str = "") -> Iterator[str]:
    """Yield the lines of a response, one line per field."""
    schema = _resolved(schema, schemas)
    label = f"{name}: " if name else ""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    if len(kinds) > 1 and not name:
        for number, kind in enumerate(kinds):
            yield from () if number == 0 else (f"{indent}or",)
            yield from _shape(kind, schemas, indent=indent)
    elif "properties" in schema:
        yield f"{indent}{label}{{"
        for field, inner in schema["properties"].items():
            yield from _shape(inner, schemas, indent=f"{indent}  ", name=field)
        yield f"{indent}}}"
    elif schema.get("type") == "array" and "properties" in _resolved(schema["items"], schemas):
        first, *rest = _shape(schema["items"], schemas, indent=indent)
        yield f"{indent}{label}[{first.strip()}"
        yield from rest[:-1]
        yield f"{rest[-1]}, …]"
    else:
        yield f"{indent}{label}{re.sub('`', '', _type({**schema, 'default': None}, schemas))}"
