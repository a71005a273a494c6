"""The API reference explains every operation, parameter, field and problem, with valid examples."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from waypost.api.examples import example_of
from waypost.core.errors import Kind
from waypost.core.settings import Settings
from waypost.server.routers import api_document

VERBS = {
    "apply",
    "assign",
    "cancel",
    "change",
    "create",
    "delete",
    "download",
    "export",
    "list",
    "preview",
    "put",
    "read",
    "replay",
    "rotate",
    "test",
}
VERBS |= {"undo", "update", "upload"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return api_document(Settings(base_url="http://go.localhost:8000"))


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def _fields(schema: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each field of each object in a part of the document, with its place."""
    if isinstance(schema, list):
        for item in schema:
            yield from _fields(item, place)
    elif isinstance(schema, dict):
        for name, field in schema.get("properties", {}).items():
            yield f"{place}.{name}", field
        for key, part in schema.items():
            if key not in ("example", "examples"):
                yield from _fields(part, f"{place}.{key}")


def _messages(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON body of a request or response."""
    for name, operation in _operations(document):
        responses = (
            document["components"]["responses"][status] if "$ref" in response else response
            for status, response in operation["responses"].items()
        )
        for message in (operation.get("requestBody", {"content": {}}), *responses):
            if content := message["content"].get("application/json"):
                yield name, content


def _problems(document: dict[str, Any], schema: dict[str, Any], value: Any) -> list[str]:
    from jsonschema import Draft202012Validator  # noqa: PLC0415  # takes more than a second, in each process

    validator = Draft202012Validator({**schema, "components": document["components"]})
    return [error.message for error in validator.iter_errors(value)]


def test_every_field_has_description_and_valid_example(document: dict[str, Any]) -> None:
    fields = list(_fields(document, ""))
    assert len(fields) > 600
    for place, field in fields:
        assert re.match(r".{4,}\.$", field.get("description", ""), re.DOTALL), place
        if field.get("format") != "binary":
            example = example_of(field, document["components"]["schemas"])
            assert _problems(document, field, example) == [], place
        for example in field.get("examples", ()):
            assert _problems(document, field, example) == [], place


def test_every_model_has_description(document: dict[str, Any]) -> None:
    models = document["components"]["schemas"]
    assert [name for name, model in models.items() if not model.get("description", "").endswith(".")] == []
    assert [name for name in models if name.startswith("_")] == []


def test_every_parameter_has_description_and_valid_example(document: dict[str, Any]) -> None:
    for name, operation in _operations(document):
        for parameter in operation.get("parameters", ()):
            place = f"{name} {parameter['name']}"
            assert parameter.get("description", "").endswith("."), place
            assert parameter["schema"]["examples"], place
            assert not {"ge", "le", "gt", "lt"} & set(re.findall(r"'(\w+)':", str(parameter["schema"]))), place
            for example in parameter["schema"]["examples"]:
                assert _problems(document, parameter["schema"], example) == [], place


def test_every_json_body_has_valid_example(document: dict[str, Any]) -> None:
    bodies = list(_messages(document))
    assert len(bodies) > 600
    for name, content in bodies:
        assert _problems(document, content["schema"], content["example"]) == [], name


def test_every_operation_has_readable_id_summary_and_samples(document: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, operation in _operations(document)]
    assert len(ids) == len(set(ids))
    assert {"create_link", "list_links", "read_link", "update_link", "delete_link", "create_qr_code"} <= set(ids)
    for name, operation in _operations(document):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"]), name
        assert operation["operationId"].split("_")[0] in VERBS, name
        assert re.fullmatch(r"[A-Z][^.\n]+", operation["summary"]), name
        assert operation["summary"].casefold() != operation["operationId"].replace("_", " "), (
            f"{name}: write a docstring"
        )
        assert operation.get("description", ".").endswith("."), name
        assert [sample["label"] for sample in operation["x-codeSamples"]] == ["curl", "JavaScript", "Python"], name


def test_every_problem_is_listed_with_cause(document: dict[str, Any]) -> None:
    assert {kind.code for kind in Kind} == set(
        document["components"]["schemas"]["Failure"]["properties"]["code"]["examples"]
    )
    listed = "\n".join(response["description"] for response in document["components"]["responses"].values())
    for kind in Kind:
        assert kind.cause.endswith("."), kind
        is_listed = f"`{kind.code}`: {kind.cause}" in listed
        assert is_listed == (kind not in (Kind.METHOD_NOT_ALLOWED, Kind.ROLLED_BACK)), kind
