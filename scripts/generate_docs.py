"""Generate docs/settings.md, docs/commands.md and docs/api.md from the code, and the lines about the publication.

usage: .venv/bin/python -m scripts.generate_docs        (or: make docs)

tests/docs/test_docs.py fails when a generated document is outdated.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import typer

from scripts import publication, settings_reference
from scripts.markdown import either, table, whole
from waypost.cli.lazy_command import LazyCommand
from waypost.cli.main import app
from waypost.routers import api_document
from waypost.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
_WRITTEN = "<!-- Written by `make docs`. Do not edit: change the code and run it again. -->\n"
_COMMANDS = """\
# Commands

{written}
In the folder of the source, after `make run` or `make install`, the command is `.venv/bin/waypost`.
It reads the same [settings](settings.md) as the service, and works on the same data folder, also while
the service runs. Start the service first: only `serve` and `restore` create an installation, and other
commands exit with code 2 without one. Errors are reported in one sentence, with an exit code other than 0;
`waypost --debug` before the command prints the traceback too.
"""
_METHODS = ("get", "post", "put", "delete")


def main() -> None:
    """Write every document that has changed."""
    for path, text in documents().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"{path.relative_to(ROOT)} is new")


def documents() -> dict[Path, str]:
    """Return the content of each generated file."""
    return {
        **publication.files(ROOT, publication.read(ROOT)),
        ROOT / "docs" / "settings.md": settings_reference.page(_WRITTEN),
        ROOT / "docs" / "commands.md": _commands(),
        ROOT / "docs" / "api.md": _api(api_document(Settings(base_url="http://localhost:8000"))),
    }


# Commands


def _commands() -> str:
    lines = [_COMMANDS.format(written=_WRITTEN)]
    for name, command in commands():
        usage = " ".join([name, *_usage(command.params)])
        lines += [f"## `{name}`", "", str(command.help), "", "```", usage, "```", ""]
        rows = [(_param_label(p), _param_values(p), _param_default(p), p.help) for p in command.params]
        if rows:
            lines += [table(("", "Values", "Default", "Meaning"), rows)]
    return "\n".join(lines).rstrip() + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every visible command with its full name, such as `waypost account add`."""
    pending = [("waypost", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop(0)
        if name == "waypost remote":  # see docs/remote.md
            continue
        command = command.load() if isinstance(command, LazyCommand) else command
        subcommands = getattr(command, "commands", None)
        if subcommands is None:
            yield name, command
        else:
            pending[:0] = [(f"{name} {word}", sub) for word, sub in subcommands.items() if not sub.hidden]


def _usage(params: list[Any]) -> Iterator[str]:
    for param in params:
        value = "" if param.type_descriptor.annotation is bool else f" {_metavar(param)}"
        usage = _metavar(param) if _is_argument(param) else f"{param.opts[0]}{value}"
        yield usage if param.required else f"[{usage}]"


def _metavar(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _param_label(param: Any) -> str:
    return f"`{_metavar(param) if _is_argument(param) else param.opts[0]}`"


def _is_argument(param: Any) -> bool:
    return not param.opts[0].startswith("-")


def _param_values(param: Any) -> str:
    kind = param.type_descriptor.annotation
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    if kind is bool:
        return ""
    if int in (kind, *get_args(kind)):
        return whole(param.min, param.max)
    if choices:
        return either(choices)
    return "a path" if kind is Path else "text"


def _param_default(param: Any) -> str:
    if param.required:
        return "needed"
    return "none" if param.default in (None, False, "") else f"`{param.default}`"


# API


def _api(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    operations = [(m, path, o[m]) for path, o in document["paths"].items() for m in _METHODS if m in o]
    lines = ["# API", "", _WRITTEN, str(document["info"]["description"]), "A running service shows the same at"]
    lines += ["`/api/docs`, to try out, and at `/api/openapi.json`, for programs.", "", "## Failures", ""]
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
    tag = ""
    for method, path, operation in operations:
        if operation["tags"][0] != tag:
            tag = operation["tags"][0]
            lines += [f"## {tag}", ""]
        lines += [*_operation(method, path, operation, schemas), ""]
    return "\n".join(lines).rstrip() + "\n"


def _operation(method: str, path: str, operation: dict[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f"### `{method.upper()} {path}`"
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
    yield from ("", "```sh", operation["x-codeSamples"][0]["source"], "```")
    status, answer = next((code, message) for code, message in operation["responses"].items() if code < "300")
    schema = next((content["schema"] for content in answer.get("content", {}).values() if "schema" in content), None)
    if schema is not None:
        yield from ("", f"Answers {status}:", "", "```", *_shape(schema, schemas), "```")


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


# Words


if __name__ == "__main__":
    main()
