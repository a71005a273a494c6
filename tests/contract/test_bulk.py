"""Bulk requests: each item has the result of the single request (decision 79)."""

from typing import Any

import pytest
from sqlalchemy import func, select

from tests.conftest import Person
from tests.contract.bulk_requests import bulk
from tests.contract.endpoints import ItemIds
from tests.contract.resource import Resource
from tests.contract.resources import RESOURCES
from waypost.db.schema import accounts, changes, plans

URL = "https://example.com/"
EVERY_RESOURCE = pytest.mark.parametrize("resource", RESOURCES, ids=str)


def _item(resource: Resource, action: str, **fields: Any) -> dict[str, Any]:
    return {"action": action, "noun": resource.path[1:], **fields}


def _total(person: Person, resource: Resource) -> int:
    return int(person.get(resource.list_path)["data"]["result"])


@EVERY_RESOURCE
def test_results_equal_those_of_single_requests(resource: Resource, ana: Person, ben: Person) -> None:
    foreign = ben.call("POST", f"{resource.path}/add", resource.body(50)).json()["id"]
    invalid = {name: value for name, value in resource.body(60).items() if name not in resource.required}
    created, failed = bulk(
        ana,
        _item(resource, "create", fields=resource.body(1)),
        _item(resource, "create", fields={**invalid, **{name: {"x": 1} for name in resource.invalid}}),
    )
    single = ana.call("POST", f"{resource.path}/add", resource.body(2))
    assert (created["status"], created.keys() - {"status"}) == (single.status_code, single.json().keys())
    assert (failed["status"], failed["code"], bool(failed["field"])) == (400, "invalid", True)
    update = {**{name: resource.body(1)[name] for name in resource.required_in_update}, **resource.update}
    unknown = {"error": 1, "status": 404, "code": "not_found"}
    changed, foreign_update, deleted, gone, foreign_delete = bulk(
        ana,
        _item(resource, "update", id=created["id"], fields=update),
        _item(resource, "update", id=foreign, fields=update),
        _item(resource, "delete", id=created["id"]),
        _item(resource, "delete", id=created["id"]),
        _item(resource, "delete", id=foreign),
    )
    assert (changed["status"], changed["error"], deleted["status"], deleted["error"]) == (200, 0, 200, 0)
    for result in (foreign_update, gone, foreign_delete):
        assert {name: result[name] for name in unknown} == unknown
    assert (_total(ana, resource), _total(ben, resource)) == (1, 1)


@EVERY_RESOURCE
def test_atomic_request_with_invalid_item_changes_nothing(resource: Resource, ana: Person) -> None:
    items = [_item(resource, "create", fields=resource.body(1)), _item(resource, "delete", id=999_999)]
    response = ana.call("POST", "/bulk", {"items": items, "atomic": True})
    body = response.json()
    assert (response.status_code, body["error"], body["field"]) == (400, 1, "items")
    assert [result["status"] for result in body["results"]] == [424, 404]
    assert _total(ana, resource) == 0
    assert [result["error"] for result in bulk(ana, items[0], atomic=True)] == [0]
    assert _total(ana, resource) == 1


def test_item_that_fails_late_is_undone_and_not_counted(ana: Person) -> None:
    create = {"action": "create", "noun": "url", "fields": {"url": URL, "custom": "taken"}}
    other = {"action": "create", "noun": "url", "fields": {"url": URL}}
    results = bulk(ana, other, create, create, other, {"action": "delete", "noun": "url", "id": 999_999})
    assert [result["status"] for result in results] == [200, 200, 400, 200, 404]
    assert (results[2]["code"], results[2]["field"]) == ("taken", "custom")
    data = ana.get("/urls")["data"]
    assert (data["result"], len(data["urls"])) == (3, 3)


def test_plan_limit_is_exact_inbulk(ana: Person) -> None:
    ana.write(lambda tx: tx.execute(plans.update().values(item_limit=3)))
    create = {"action": "create", "noun": "pixel", "fields": {"type": "boardpixel", "name": "A", "tag": "1"}}
    assert [result["status"] for result in bulk(ana, *[create] * 5)] == [200, 200, 200, 400, 400]
    assert ana.get("/pixels")["data"]["result"] == 3


def test_files_can_be_changed_and_deleted(ana: Person, item_ids: ItemIds) -> None:
    file = {"noun": "file", "id": item_ids["file"]}
    results = bulk(
        ana,
        {**file, "action": "update", "fields": {"name": "New"}},
        {**file, "action": "delete"},
        {**file, "action": "create"},
    )
    assert [(result["status"], result.get("field")) for result in results] == [
        (200, None),
        (200, None),
        (400, "action"),
    ]
    assert ana.get("/files")["result"] == 0


def test_statistics_can_be_shared(ana: Person, ben: Person, item_ids: ItemIds) -> None:
    fields = {"type": "link", "itemid": item_ids["url"], "password": "tulip"}
    share = {"noun": "share", "id": item_ids["share"]}
    created, changed, deleted, gone = bulk(
        ana,
        {"action": "create", "noun": "share", "fields": fields},
        {**share, "action": "update", "fields": {"days": 7}},
        {**share, "action": "delete"},
        {**share, "action": "delete"},
    )
    assert [result["status"] for result in (created, changed, deleted, gone)] == [200, 200, 200, 404]
    assert (created["haspassword"], changed["days"]) == (True, 7)
    (foreign,) = bulk(ben, {"action": "delete", "noun": "share", "id": created["id"]})
    assert foreign["status"] == 404


def test_items_can_be_assigned(ana: Person, item_ids: ItemIds) -> None:
    channel = {"action": "assign", "noun": "channel", "id": item_ids["channel"]}
    campaign = {"action": "assign", "noun": "campaign", "id": item_ids["campaign"]}
    results = bulk(
        ana,
        {**channel, "type": "bio", "item": item_ids["bio"]},
        {**channel, "type": "qr", "item": item_ids["qr"]},
        {
            "action": "assign",
            "noun": "campaign",
            "id": item_ids["campaign"],
            "item": item_ids["url"],
            "fields": {"weight": 2},
        },
        {**channel, "item": 1},
        {"action": "assign", "noun": "pixel", "id": 1, "item": 1},
        campaign,
    )
    fields = [(result["status"], result.get("field")) for result in results]
    assert fields == [(200, None)] * 3 + [(400, "type"), (400, "noun"), (400, "item")]
    types = [item["type"] for item in ana.get(f"/channel/{item_ids['channel']}")["data"]["items"]]
    assert types == ["qr", "bio", "links"]
    assert ana.details("url", item_ids["url"])["campaign"] == item_ids["campaign"]


def test_invalid_items_get_own_problem(ana: Person) -> None:
    good = {"action": "create", "noun": "url", "fields": {"url": URL}}
    bad: list[Any] = [5, None, [], {}, {"action": "create"}, {**good, "noun": "account"}, {**good, "action": "drop"}]
    bad += [{"action": "delete", "noun": "url"}, {"action": "delete", "noun": "url", "id": "x"}, {**good, "fields": 5}]
    results = bulk(ana, good, *bad, good)
    assert [result["status"] for result in results] == [200, *[400] * len(bad), 200]
    assert ana.get("/urls")["data"]["result"] == 2


@pytest.mark.parametrize(
    "body", [{}, {"items": 5}, {"items": [], "selection": {"action": "delete", "expect": 0}}, {"items": [{}] * 1001}]
)
def test_invalid_request_is_rejected(body: Any, ana: Person) -> None:
    response = ana.call("POST", "/bulk", body)
    assert (response.status_code, response.json()["field"]) == (400, "items")


def test_selection_changes_matching_links(ana: Person, ben: Person, item_ids: ItemIds) -> None:
    ben.add("url", url=f"{URL}spring/0")
    for n in range(3):
        ana.add("url", url=f"{URL}spring/{n}", campaign=item_ids["campaign"], channel=item_ids["channel"])
    ana.add("url", url=f"{URL}autumn", campaign=item_ids["campaign"])
    of_all = {"q": "SPRING", "campaign": item_ids["campaign"], "channel": item_ids["channel"], "status": "public"}
    select_update = {**of_all, "action": "update", "fields": {"status": "disabled"}}
    for expect in (2, 4):
        response = ana.call("POST", "/bulk", {"selection": {**select_update, "expect": expect}})
        assert (response.status_code, response.json()["code"]) == (409, "selection_changed")
    assert len(ana.post("/bulk", {"selection": {**select_update, "expect": 3}})["results"]) == 3
    delete = {"action": "delete", "status": "disabled", "expect": 3}
    assert len(ana.post("/bulk", {"selection": delete})["results"]) == 3
    assert (ana.get("/urls")["data"]["result"], ben.get("/urls")["data"]["result"]) == (2, 1)


@pytest.mark.parametrize("selection", [{"action": "create", "expect": 0}, {"action": "delete", "expect": 1001}])
def test_invalid_selection_is_rejected(selection: Any, ana: Person) -> None:
    response = ana.call("POST", "/bulk", {"selection": selection})
    assert (response.status_code, response.json()["field"]) == (400, "selection")


def test_rate_limit_counts_one_request_for_each_100_items(ana: Person) -> None:
    def left() -> int:
        return int(ana.call("GET", "/account").headers["X-RateLimit-Remaining"])

    for number, cost in ((1, 1), (100, 1), (101, 2), (1000, 10)):
        before = left()
        ana.post("/bulk", {"items": [{}] * number})
        assert before - left() == cost + 1


def test_request_above_rate_limit_changes_nothing(ana: Person) -> None:
    ana.write(lambda tx: tx.execute(accounts.update().values(rate_limit=5)))
    create = {"action": "create", "noun": "url", "fields": {"url": URL}}
    response = ana.call("POST", "/bulk", {"items": [create] * 501})
    assert (response.status_code, response.headers["Retry-After"].isdigit()) == (429, True)
    assert ana.get("/urls")["data"]["result"] == 0


def test_change_log_names_each_alias_once(ana: Person) -> None:
    link = ana.add("url", url=URL)

    def logged() -> int:
        return int(ana.database.read(lambda tx: tx.execute(select(func.count()).select_from(changes)).scalar_one()))

    before = logged()
    bulk(ana, *[{"action": "update", "noun": "url", "id": link, "fields": {"title": str(n)}} for n in range(50)])
    assert logged() == before + 1


def test_repeated_bulk_request_is_executed_once(ana: Person) -> None:
    body = {"items": [{"action": "create", "noun": "url", "fields": {"url": URL}}] * 3}
    first, second = (ana.call("POST", "/bulk", body, headers={"Idempotency-Key": "key"}) for _ in range(2))
    assert (first.content, second.headers["Idempotency-Replayed"]) == (second.content, "true")
    assert ana.get("/urls")["data"]["result"] == 3
