"""No string with a NUL character or a lone surrogate, and no integer beyond 64 bits, reaches the database or fails."""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.visits import click_totals, new_link, visit
from waypost.core.errors import Problem
from waypost.db.schema import links

_TEXTS = ("\0", "a\0b", "\ud800", "\udfff", "\0\ud800")
_NUMBERS = (2**53, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400)
_METHODS = ("get", "post", "put", "delete")
_DEPTH = 4
Schema = Mapping[str, Any]


def _operations(document: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in _METHODS and operation.get("tags") != ["Account"]:
                yield method.upper(), path.replace("{type}", "links"), operation


def _values(document: Any, schema: Schema, bad: Any, depth: int = 0) -> Iterator[Any]:
    """Yield values of the schema that contain the bad value in one place, or are it."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    yield bad
    if depth == _DEPTH:
        return
    for option in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _values(document, option, bad, depth + 1)
    if "items" in schema:
        yield from ([value] for value in _values(document, schema["items"], bad, depth + 1))
    if schema.get("type") == "object":
        yield {bad: "x"} if isinstance(bad, str) else {"x": bad}
        yield {"x": {"y": [bad]}}
    for name, part in schema.get("properties", {}).items():
        yield from ({name: value} for value in _values(document, part, bad, depth + 1))


def _valid_body(document: Any, schema: Schema) -> dict[str, Any]:
    """Return the required fields of a body, as far as the schema tells them."""
    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    known: dict[str, Any] = {"name": "Name", "url": "https://example.com/", "tag": "G-1", "data": "Hello", "itemid": 1}
    known["domain"] = "https://go.brand.example"
    types = schema["properties"].get("type", {}).get("enum", ["text"])
    known["type"] = "text" if "text" in types else types[0]
    return {name: known.get(name) for name in schema.get("required", ())}


def _bodies(document: Any, operation: Schema) -> Iterator[tuple[str, Any]]:
    """Yield (name of the bad field, body), with each field bad once, in each way. Parts of a schema can be equal."""
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return
    schema = content["application/json"]["schema"]
    while "anyOf" in schema:
        schema = schema["anyOf"][0]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    body = _valid_body(document, schema)
    for name, part in schema["properties"].items():
        values = (value for bad in (*_TEXTS, *_NUMBERS) for value in _values(document, part, bad))
        different = {json.dumps(value): value for value in values}
        yield from ((name, {**copy.deepcopy(body), name: value}) for value in different.values())


def _check(response: Any, *context: Any) -> None:
    assert response.status_code in (200, 201, 400, 404), (response.status_code, response.text, context)


def test_unstorable_values_of_every_operation_are_rejected(ana: Person) -> None:
    document = ana.client.get("/api/openapi.json").json()
    tried = 0
    for method, path, operation in _operations(document):
        for name, body in _bodies(document, operation):
            content = json.dumps(body).encode()
            response = ana.call(method, _with_ids(path)[4:], content=content)
            _check(response, method, path, name, content)
            if body[name] in _TEXTS:
                assert response.status_code in (400, 404), (method, path, body)
                assert response.status_code == 404 or response.json()["field"] == name, (response.text, body)
            tried += 1
    assert tried > 3000
    _no_row_has_nul(ana)


def _with_ids(path: str) -> str:
    return "/".join("1" if part.startswith("{") and part.endswith("id}") else part for part in path.split("/"))


@pytest.mark.parametrize("bad", ["%00", "a%00b", "%ED%A0%80", "%ff"])
def test_unstorable_query_and_path_values_are_rejected(bad: str, ana: Person) -> None:
    for method, path, operation in _operations(ana.client.get("/api/openapi.json").json()):
        parameters = operation.get("parameters", ())
        for parameter in parameters:
            name, where = parameter["name"], parameter["in"]
            target = _with_ids(path)[4:].replace("{filename}", "a.bin")
            if where == "query":
                response = ana.call(method, f"{target}?{name}={bad}", content=b"x" if "upload" in path else b"")
                assert (response.status_code, response.json()["field"]) == (400, name)
            elif where == "path":
                response = ana.call(method, path[4:].replace(f"{{{name}}}", bad))
                assert response.status_code in (400, 404, 405), (method, path, response.text)


def test_unstorable_header_is_no_error(ana: Person) -> None:
    new_link(ana, "spring")
    for name in ("User-Agent", "Referer", "Accept-Language", "X-Forwarded-For", "Cookie", "Accept", "If-None-Match"):
        for value in (b"a\0b", b"https://a\0b.example/", b"\xed\xa0\x80", b"\xff"):
            headers = {name.encode(): value}
            assert visit(ana.client, "spring", headers=headers).status_code == 302
            _check(ana.call("GET", "/urls", headers=headers))
    assert click_totals(ana, "")["clicks"] > 0


@pytest.mark.parametrize("path", ["%00", "a%00b", "%00/qr", "qr/%00", "r/%00", "u/%00/list-1", "u/ana/%00", "ab%00+"])
def test_visit_of_unstorable_path_is_not_found(path: str, ana: Person) -> None:
    for method in ("GET", "HEAD", "POST"):
        assert ana.client.request(method, f"/{path}").status_code in (404, 405)


def test_form_with_nul_is_rejected(dashboard: Browser, ana: Person) -> None:
    response = dashboard.submit("/links/new", url="https://example.com/", title="a\0b")
    assert (response.status_code, "title must not contain NUL characters." in response.text) == (400, True)
    for path in ("/links?q=%00", "/files?q=a%00b", "/qr?q=%00", "/admin/accounts?q=%00", "/campaigns/1/add?q=%00"):
        assert dashboard.client.get(f"/dashboard{path}").status_code in (200, 404)
    assert ana.get("/urls")["data"]["result"] == 0


@pytest.mark.parametrize("value", ["a\0b", "\ud800", 2**63, -(2**63) - 1, ["\0"]])
def test_statement_with_unstorable_parameter_is_rejected(value: Any, ana: Person) -> None:
    column = links.c.clicks if isinstance(value, int) else links.c.title
    condition = column.in_(value) if isinstance(value, list) else column == value
    with pytest.raises(Problem, match="must"):
        ana.database.read(lambda tx: tx.execute(select(links.c.id).where(condition)))


def test_unstorable_json_is_rejected(ana: Person) -> None:
    new_link(ana, "spring")
    for value in ({"apple": "a\0"}, {"a\0": "x"}, {"apple": ["\ud800"]}):
        with pytest.raises(Problem, match="must"):
            ana.write(lambda tx, value=value: tx.execute(links.update().values(deeplink=value)))  # type: ignore[misc]


def _no_row_has_nul(ana: Person) -> None:
    for table in links.metadata.sorted_tables:
        rows = ana.database.read(lambda tx, table=table: tx.execute(select(table)).all())  # type: ignore[misc]
        assert "\\x00" not in str([value for row in rows for value in row if isinstance(value, str | list | dict)])
