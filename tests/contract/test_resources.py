"""The contract of every resource of the API, with two accounts, on both databases; refusals without SQL on SQLite."""

import json
import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.resource import Resource
from tests.contract.resources import RESOURCES
from tests.contract.shapes import differs
from tests.support.databases import ON_SQLITE

pytestmark = pytest.mark.parametrize("resource", RESOURCES, ids=str)


def _create(person: Person, resource: Resource, number: int = 1) -> int:
    response = person.call("POST", f"{resource.path}/add", resource.body(number))
    assert response.status_code == resource.created_status, response.json()
    return int(response.json()["id"])


def _items(person: Person, resource: Resource, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = person.get(resource.list_path, **params)["data"][resource.collection]
    return items


def _details(person: Person, resource: Resource, item: int) -> dict[str, Any]:
    """Return all fields of an item: from its own endpoint, or from the list if the document defines none."""
    if resource.reads_one:
        details: dict[str, Any] = person.get(f"{resource.path}/{item}")["details"]
        return details
    return next(listed for listed in _items(person, resource, limit=1000) if listed["id"] == item)


def _assert_problem(response: Any, status: int, field: str | None = None) -> None:
    body = response.json()
    assert response.status_code == status, body
    assert body["error"] == 1
    assert isinstance(body["error"], int)
    assert body["message"]
    assert re.fullmatch(r"[a-z0-9_]+", body["code"])
    assert body.get("field") == field, body


def test_empty_list_has_documented_shape(resource: Resource, ana: Person) -> None:
    body = ana.get(resource.list_path)
    paging = {"result": 0, "perpage": 15, "currentpage": 1, "nextpage": None, "maxpage": 1}
    assert body == {"error": 0, "data": {**paging, resource.collection: []}}


def test_created_item_is_listed_with_documented_fields(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    (listed,) = _items(ana, resource)
    assert listed["id"] == item
    assert not differs(listed, resource.item)


def test_created_item_can_be_read(resource: Resource, ana: Person) -> None:
    details = _details(ana, resource, _create(ana, resource))
    for name in resource.new.keys() - set(resource.write_only):
        assert details[resource.responses_of(name)[0]] == resource.body()[name], name


def test_list_is_newest_first_in_complete_pages(resource: Resource, ana: Person, ben: Person) -> None:
    created = [_create(ana, resource, number) for number in range(1, 6)]
    _create(ben, resource, 99)
    pages = [ana.get(resource.list_path, limit=2, page=page)["data"] for page in (1, 2, 3, 4)]
    ids_by_page = [[item["id"] for item in page[resource.collection]] for page in pages]
    assert ids_by_page == [created[:2:-1], created[2:0:-1], created[:1], []]
    assert [page["nextpage"] for page in pages] == [2, 3, None, None]
    assert {(page["result"], page["perpage"], page["maxpage"]) for page in pages} == {(5, 2, 3)}


@ON_SQLITE
def test_invalid_page_number_is_rejected(resource: Resource, ana: Person) -> None:
    for name in ("limit", "page"):
        for value in ("0", "-1", "x", "1.5", "", "1e3", "+1", " 1", "٣", "9" * 40):
            _assert_problem(ana.call("GET", resource.list_path, params={name: value}), 400, name)


def test_page_has_at_most_1000_items(resource: Resource, ana: Person) -> None:
    assert ana.get(resource.list_path, limit=5000)["data"]["perpage"] == 1000


def test_update_sets_only_sent_fields(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    before = _details(ana, resource, item)
    ana.put(f"{resource.path}/{item}/update", dict(resource.update))
    after = _details(ana, resource, item)
    updated_names = {name for field in resource.update for name in resource.responses_of(field)}
    assert {name for name in before if before[name] != after[name]} - {"version"} <= updated_names
    for name, value in resource.update.items():
        assert after[resource.responses_of(name)[0]] == value


def test_null_clears_optional_field(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    for name, default in resource.cleared.items():
        required = {field: resource.body()[field] for field in resource.required_in_update}
        ana.put(f"{resource.path}/{item}/update", {**required, name: None})
        cleared = _details(ana, resource, item)[resource.responses_of(name)[0]]
        assert (cleared, type(cleared)) == (default, type(default)), name


def test_blank_field_of_a_change_is_left_as_it_is_unless_it_can_be_cleared(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    before = _details(ana, resource, item)
    never_blank = {*resource.immutable, *resource.cleared, *resource.required_for_type}
    names = {*resource.invalid, *resource.update, *resource.required_in_update} - never_blank
    ana.put(f"{resource.path}/{item}/update", dict.fromkeys(names, ""))
    after = _details(ana, resource, item)
    assert {name for name in before if before[name] != after[name]} <= {"version"}
    for name in names:
        others = {field: value for field, value in resource.update.items() if field != name}
        body = {**dict.fromkeys(resource.required_in_update, ""), **others, name: ""}
        ana.put(f"{resource.path}/{item}/update", body)
        after = _details(ana, resource, item)
        for field, value in others.items():
            assert after[resource.responses_of(field)[0]] == value, (name, field)


@ON_SQLITE
def test_blank_required_field_is_rejected_on_create(resource: Resource, ana: Person) -> None:
    for name in resource.required:
        _assert_problem(ana.call("POST", f"{resource.path}/add", {**resource.body(), name: ""}), 400, name)
    assert _items(ana, resource) == []


def test_null_equals_absent_on_create(resource: Resource, ana: Person) -> None:
    required = {name: resource.body()[name] for name in resource.required + resource.required_for_type}
    assert ana.post(f"{resource.path}/add", {**required, **dict.fromkeys(resource.cleared)})["id"]


@ON_SQLITE
def test_missing_required_field_is_rejected(resource: Resource, ana: Person) -> None:
    for name in resource.required:
        body = resource.body()
        del body[name]
        _assert_problem(ana.call("POST", f"{resource.path}/add", body), 400, name)
    assert _items(ana, resource) == []


@ON_SQLITE
def test_invalid_value_is_rejected_without_change(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource, 7)
    before = _details(ana, resource, item)
    required = {name: resource.body()[name] for name in resource.required_in_update}
    for name, invalid_values in resource.invalid.items():
        for value in invalid_values:
            body = json.dumps({**resource.body(), name: value}).encode()
            _assert_problem(ana.call("POST", f"{resource.path}/add", content=body), 400, name)
            if name not in resource.immutable and value != "":
                body = json.dumps({**required, name: value}).encode()
                _assert_problem(ana.call("PUT", f"{resource.path}/{item}/update", content=body), 400, name)
    assert _details(ana, resource, item) == before
    assert len(_items(ana, resource)) == 1


def test_sql_and_html_text_is_stored_unchanged(resource: Resource, ana: Person) -> None:
    if resource.text_field is None:
        return
    for number, text in enumerate(
        ("'; DROP TABLE links; --", "<script>alert(1)</script>", "%_\\\"'", "🦊 ünï", "NULL")
    ):
        body = {**resource.body(number), resource.text_field: text}
        item = int(ana.call("POST", f"{resource.path}/add", body).json()["id"])
        assert _details(ana, resource, item)[resource.text_field] == text


def test_unknown_fields_are_ignored(resource: Resource, ana: Person) -> None:
    ana.post(f"{resource.path}/add", {**resource.body(), "no_such_field": {"a": [1]}, "id": 77, "account": 5})
    assert _items(ana, resource)[0]["id"] != 77


def test_deleted_item_returns_404(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    assert ana.delete(f"{resource.path}/{item}/delete")["message"]
    assert _items(ana, resource) == []
    _assert_problem(ana.call("DELETE", f"{resource.path}/{item}/delete"), 404)


def test_item_of_other_account_returns_404(resource: Resource, ana: Person, ben: Person) -> None:
    item = _create(ana, resource)
    before = _details(ana, resource, item)
    change = dict(resource.update)
    absent = ben.call("PUT", f"{resource.path}/999999/update", change).json()
    foreign = ben.call("PUT", f"{resource.path}/{item}/update", change)
    _assert_problem(foreign, 404)
    assert foreign.json() == absent
    for method, path in (("GET", f"{resource.path}/{item}"), ("DELETE", f"{resource.path}/{item}/delete")):
        _assert_problem(ben.call(method, path), 404)
    assert _items(ben, resource) == []
    assert _details(ana, resource, item) == before


def test_malformed_id_returns_404(resource: Resource, ana: Person) -> None:
    for item in ("0", "-1", "x", "1.5", "99999999999999999999999", "1_0", "%00", "+1", "1%20", "é"):
        for method, path in (("GET", ""), ("PUT", "/update"), ("DELETE", "/delete")):
            _assert_problem(ana.call(method, f"{resource.path}/{item}{path}", dict(resource.update)), 404)


@ON_SQLITE
def test_request_without_key_returns_401(resource: Resource, ana: Person) -> None:
    item = _create(ana, resource)
    for method, path in (
        ("GET", resource.list_path),
        ("POST", f"{resource.path}/add"),
        ("GET", f"{resource.path}/{item}"),
        ("PUT", f"{resource.path}/{item}/update"),
        ("DELETE", f"{resource.path}/{item}/delete"),
    ):
        response = ana.client.request(method, f"/api{path}", json=resource.body() if method != "GET" else None)
        _assert_problem(response, 401)
        assert response.headers["www-authenticate"] == "Bearer"
    assert len(_items(ana, resource)) == 1
