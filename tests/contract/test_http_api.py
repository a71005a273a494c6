"""The API follows the HTTP contract: every endpoint, defaults and failures."""

from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import BASE, Person
from tests.contract.endpoints import DECISIONS, DOCUMENT, ItemIds, Row
from tests.contract.shapes import CAMPAIGN, FAILURE, ITEM, Shape, differs
from tests.support.databases import ON_POSTGRESQL, ON_SQLITE
from tests.support.visits import DESTINATION
from waypost.core import clock
from waypost.db.schema import accounts


def _check_response(row: Row, ana: Person, item_ids: ItemIds) -> None:
    options = {} if row.content is None else {"content": row.content}
    response = ana.call(row.name.split()[0], row.path(item_ids), row.body, **options)
    assert response.status_code == row.status, f"{row}: {response.text}"
    assert response.headers["content-type"] == "application/json"
    assert not differs(response.json(), {"error": 0, **row.answer}, row.name)


@ON_SQLITE
@pytest.mark.parametrize("row", DOCUMENT + DECISIONS, ids=str)
def test_endpoint_matches_documented_response(row: Row, ana: Person, item_ids: ItemIds) -> None:
    _check_response(row, ana, item_ids)


@ON_POSTGRESQL
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
def test_endpoint_matches_documented_response_on_postgresql(method: str, ana: Person, item_ids: ItemIds) -> None:
    for row in DOCUMENT + DECISIONS:
        if row.name.startswith(method):
            _check_response(row, ana, item_ids)


@ON_SQLITE
def test_every_endpoint_row_is_in_openapi_document(ana: Person) -> None:
    documented = {
        f"{method.upper()} {path.removeprefix('/api').replace('{', ':').replace('}', '')}"
        for path, operations in ana.client.get("/api/openapi.json").json()["paths"].items()
        for method in operations
    }
    assert {row.name for row in DOCUMENT + DECISIONS} <= documented


DEFAULTS: tuple[tuple[str, Any, Shape], ...] = (
    ("/campaign/add", None, {"public": False, "rotator": False}),
    ("/campaign/add", {"slug": "abc"}, {"rotator": f"{BASE}/r/abc", "list": f"{BASE}/u/ana/abc-2"}),
    ("/campaign/add", {"name": "A"}, {"name": "A", "domain": "A", "campaign": "A", "list": f"{BASE}/u/ana/list-3"}),
    ("/channel/add", {"name": "A"}, {"name": "A", "description": "", "color": "#000000", "starred": False}),
    ("/url/add", {"url": DESTINATION, "custom": "abc"}, {"shorturl": f"{BASE}/abc", "short": f"{BASE}/abc"}),
    ("/bio/add", {"name": "A", "alias": "def"}, {"shorturl": f"{BASE}/def"}),
)


def test_omitted_field_has_documented_default(ana: Person) -> None:
    for path, body, expected in DEFAULTS:
        created = ana.post(path, body)
        assert {name: created[name] for name in expected} == expected, (path, body)


def test_unnamed_campaign_is_named_by_id(ana: Person) -> None:
    created = ana.post("/campaign/add")
    assert created["name"] == created["domain"] == created["campaign"] == f"Campaign {created['id']}"


def test_deleting_channel_unassigns_items(ana: Person, item_ids: ItemIds) -> None:
    assert ana.details("url", item_ids["url"])["channel"] == [item_ids["channel"]]
    ana.remove("channel", item_ids["channel"])
    assert ana.details("url", item_ids["url"])["channel"] == []
    assert ana.call("GET", f"/channel/{item_ids['channel']}").status_code == 404


def test_every_item_type_can_be_assigned_to_channel(ana: Person, item_ids: ItemIds) -> None:
    ana.post(f"/channel/{item_ids['channel']}/assign/bio/{item_ids['bio']}")
    items = ana.get(f"/channel/{item_ids['channel']}")["data"]["items"]
    assert not differs(items, [ITEM])
    assert [(item["type"], item["id"]) for item in items] == [("bio", item_ids["bio"]), ("links", item_ids["url"])]


def test_list_has_pagination_fields(ana: Person) -> None:
    for _ in range(5):
        ana.post("/campaign/add")
    pages = [ana.get("/campaigns", limit=2, page=page)["data"] for page in (1, 2, 3)]
    assert [(page["currentpage"], page["nextpage"], len(page["campaigns"])) for page in pages] == [
        (1, 2, 2),
        (2, 3, 2),
        (3, None, 1),
    ]
    for page in pages:
        assert (page["result"], page["perpage"], page["maxpage"]) == (5, 2, 3)
        assert not differs(page["campaigns"], [CAMPAIGN])


ERRORS = (
    ("no such path", "GET", "/nothing/here", None, 404, "not_found", None),
    ("an unknown id", "PUT", "/channel/999999/update", {"name": "A"}, 404, "not_found", None),
    ("assigning to a campaign that is not there", "POST", "/campaign/999999/assign/1", None, 404, "not_found", None),
    ("assigning a link that is not there", "POST", "/campaign/1/assign/999999", None, 404, "not_found", None),
    ("an unknown item type", "POST", "/channel/1/assign/links1/1", None, 400, "invalid", "type"),
    ("an item that is not there", "POST", "/channel/1/assign/qr/999999", None, 404, "not_found", None),
    ("a required field left out", "PUT", "/campaign/1/update", {"slug": "abc"}, 400, "invalid", "name"),
    ("a value of the wrong type", "POST", "/channel/add", {"name": "A", "starred": "yes"}, 400, "invalid", "starred"),
    ("an id in the body that is not there", "PUT", "/url/1/update", {"campaign": 999_999}, 400, "invalid", "campaign"),
    ("a page that is none", "GET", "/pixels?page=0", None, 400, "invalid", "page"),
    ("another method", "PATCH", "/account", None, 405, "method_not_allowed", None),
)


def test_failure_has_documented_body(ana: Person, item_ids: ItemIds) -> None:
    for name, method, path, body, status, code, field in ERRORS:
        response = ana.call(method, path, body)
        assert response.status_code == status, name
        assert not differs(response.json(), {**FAILURE, "code": code, **({"field": field} if field else {})}, name)


TAKEN: tuple[tuple[str, Shape, str, str], ...] = (
    ("/channel/add", {"name": "Friends"}, "name", "You already have a channel with this name."),
    ("/campaign/add", {"name": "Spring"}, "name", "You already have a campaign with that name."),
    ("/url/add", {"url": DESTINATION, "custom": "a-link"}, "custom", "That alias is taken. Please choose another one."),
    ("/bio/add", {"name": "B", "alias": "a-link"}, "alias", "That alias is taken. Please choose another one."),
)


def test_taken_name_has_documented_message(ana: Person, item_ids: ItemIds) -> None:
    for path, body, field, message in TAKEN:
        response = ana.call("POST", path, body)
        assert response.status_code == 400, path
        assert response.json() == {"error": 1, "message": message, "code": "taken", "field": field}


def test_remaining_requests_decrease_with_each_response(ana: Person) -> None:
    ana.write(lambda tx: tx.execute(update(accounts).values(rate_limit=None)))  # as the plan has it
    began = clock.now()
    answers = [ana.call("GET", "/account") for _ in range(3)]
    rates = [
        [int(response.headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset")]
        for response in answers
    ]
    assert [(limit, remaining) for limit, remaining, _ in rates] == [(30, 29), (30, 28), (30, 27)]
    assert len({reset for _, _, reset in rates}) == 1
    assert began + 60 <= rates[0][2] <= clock.now() + 61
