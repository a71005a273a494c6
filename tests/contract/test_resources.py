"""The contract that every noun keeps, tried on each of them as two people, on both databases."""

import json
import re
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.resource import Family
from tests.contract.resources import FAMILIES
from tests.contract.shapes import differs

pytestmark = pytest.mark.parametrize("family", FAMILIES, ids=str)


def _make(person: Person, family: Family, number: int = 1) -> int:
    response = person.call("POST", f"{family.one}/add", family.body(number))
    assert response.status_code == family.created_status, response.json()
    return int(response.json()["id"])


def _items(person: Person, family: Family, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = person.get(family.list, **params)["data"][family.collection]
    return items


def _details(person: Person, family: Family, item: int) -> dict[str, Any]:
    """The item in full: from its own endpoint, or from the list where the document has none."""
    if family.reads_one:
        details: dict[str, Any] = person.get(f"{family.one}/{item}")["details"]
        return details
    return next(entry for entry in _items(person, family, limit=1000) if entry["id"] == item)


def _is_problem(response: Any, status: int, field: str | None = None) -> None:
    body = response.json()
    assert response.status_code == status, body
    assert body["error"] == 1
    assert isinstance(body["error"], int)
    assert body["message"]
    assert re.fullmatch(r"[a-z0-9_]+", body["code"])
    assert body.get("field") == field, body


def test_empty_list_has_documented_shape(family: Family, ana: Person) -> None:
    body = ana.get(family.list)
    paging = {"result": 0, "perpage": 15, "currentpage": 1, "nextpage": None, "maxpage": 1}
    assert body == {"error": 0, "data": {**paging, family.collection: []}}


def test_created_item_is_listed_with_documented_fields(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    (shown,) = _items(ana, family)
    assert shown["id"] == item
    assert not differs(shown, family.item)


def test_created_item_can_be_read(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    shown = _details(ana, family, item)
    renamed = {"url": "longurl", "custom": "alias"}
    for name, value in family.body().items():
        if name != "slug":
            assert shown[renamed.get(name, name)] == value, name


def test_list_is_newest_first_in_complete_pages(family: Family, ana: Person, ben: Person) -> None:
    made = [_make(ana, family, number) for number in range(1, 6)]
    _make(ben, family, 99)
    pages = [ana.get(family.list, limit=2, page=page)["data"] for page in (1, 2, 3, 4)]
    shown = [[item["id"] for item in page[family.collection]] for page in pages]
    assert shown == [made[:2:-1], made[2:0:-1], made[:1], []]
    assert [page["nextpage"] for page in pages] == [2, 3, None, None]
    assert {(page["result"], page["perpage"], page["maxpage"]) for page in pages} == {(5, 2, 3)}


def test_invalid_page_number_is_rejected(family: Family, ana: Person) -> None:
    for name in ("limit", "page"):
        for value in ("0", "-1", "x", "1.5", "", "1e3", "+1", " 1", "٣", "9" * 40):
            _is_problem(ana.call("GET", family.list, params={name: value}), 400, name)


def test_page_has_at_most_1000_items(family: Family, ana: Person) -> None:
    assert ana.get(family.list, limit=5000)["data"]["perpage"] == 1000


def test_update_sets_only_sent_fields(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    before = _details(ana, family, item)
    ana.put(f"{family.one}/{item}/update", dict(family.change))
    after = _details(ana, family, item)
    renamed = {"url": ("longurl",), "name": ("name", "domain", "campaign") if family.noun == "campaign" else ("name",)}
    changed = {key for name in family.change for key in renamed.get(name, (name,))}
    assert {name for name in before if before[name] != after[name]} - {"version"} <= changed
    for name, value in family.change.items():
        assert after[renamed.get(name, (name,))[0]] == value


def test_null_clears_optional_field(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    for name, empty in family.cleared.items():
        needed = {need: family.body()[need] for need in family.change_needs}
        ana.put(f"{family.one}/{item}/update", {**needed, name: None})
        shown = _details(ana, family, item)
        if name == "slug":
            assert shown["rotator"] is False
        else:
            assert shown[name] == empty, name


def test_null_equals_absent_on_create(family: Family, ana: Person) -> None:
    body = {name: value for name, value in family.body().items() if name in family.needed}
    made = ana.post(
        f"{family.one}/add", {**body, **dict.fromkeys(family.cleared)} if family.noun != "overlay" else family.body()
    )
    assert made["id"]


def test_missing_required_field_is_rejected(family: Family, ana: Person) -> None:
    for name in family.needed:
        body = family.body()
        del body[name]
        _is_problem(ana.call("POST", f"{family.one}/add", body), 400, name)
    assert _items(ana, family) == []


def test_invalid_value_is_rejected_without_change(family: Family, ana: Person) -> None:
    item = _make(ana, family, 7)
    before = _details(ana, family, item)
    needed = {need: family.body()[need] for need in family.change_needs}
    for name, values in family.wrong.items():
        for value in values:
            sent = json.dumps({**family.body(), name: value}).encode()
            _is_problem(ana.call("POST", f"{family.one}/add", content=sent), 400, name)
            if name in ("domain", "type") and family.noun in ("domain", "pixel"):
                continue  # cannot be changed
            if family.noun == "campaign" and name == "slug" and value == "":
                continue  # takes the rotator away
            sent = json.dumps({**needed, name: value}).encode()
            _is_problem(ana.call("PUT", f"{family.one}/{item}/update", content=sent), 400, name)
    assert _details(ana, family, item) == before
    assert len(_items(ana, family)) == 1


def test_sql_and_html_text_is_stored_unchanged(family: Family, ana: Person) -> None:
    name = "title" if family.noun == "link" else "name"
    if name not in family.new:
        return  # a domain has no words of its own
    for number, words in enumerate(
        ("'; DROP TABLE links; --", "<script>alert(1)</script>", "%_\\\"'", "🦊 ünï", "NULL")
    ):
        item = int(ana.call("POST", f"{family.one}/add", {**family.body(number), name: words}).json()["id"])
        assert _details(ana, family, item)[name] == words


def test_unknown_fields_are_ignored(family: Family, ana: Person) -> None:
    ana.post(f"{family.one}/add", {**family.body(), "no_such_field": {"a": [1]}, "id": 77, "account": 5})
    assert _items(ana, family)[0]["id"] != 77


def test_deleted_item_returns_404(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    assert ana.delete(f"{family.one}/{item}/delete")["message"]
    assert _items(ana, family) == []
    _is_problem(ana.call("DELETE", f"{family.one}/{item}/delete"), 404)


def test_item_of_other_account_returns_404(family: Family, ana: Person, ben: Person) -> None:
    item = _make(ana, family)
    before = _details(ana, family, item)
    change = dict(family.change)
    absent = ben.call("PUT", f"{family.one}/999999/update", change).json()
    foreign = ben.call("PUT", f"{family.one}/{item}/update", change)
    _is_problem(foreign, 404)
    assert foreign.json() == absent
    for method, path in (("GET", f"{family.one}/{item}"), ("DELETE", f"{family.one}/{item}/delete")):
        _is_problem(ben.call(method, path), 404)
    assert _items(ben, family) == []
    assert _details(ana, family, item) == before


def test_malformed_id_returns_404(family: Family, ana: Person) -> None:
    for item in ("0", "-1", "x", "1.5", "99999999999999999999999", "1_0", "%00", "+1", "1%20", "é"):
        for method, path in (("GET", ""), ("PUT", "/update"), ("DELETE", "/delete")):
            _is_problem(ana.call(method, f"{family.one}/{item}{path}", dict(family.change)), 404)


def test_request_without_key_returns_401(family: Family, ana: Person) -> None:
    item = _make(ana, family)
    for method, path in (
        ("GET", family.list),
        ("POST", f"{family.one}/add"),
        ("GET", f"{family.one}/{item}"),
        ("PUT", f"{family.one}/{item}/update"),
        ("DELETE", f"{family.one}/{item}/delete"),
    ):
        response = ana.client.request(method, f"/api{path}", json=family.body() if method != "GET" else None)
        _is_problem(response, 401)
        assert response.headers["www-authenticate"] == "Bearer"
    assert len(_items(ana, family)) == 1
