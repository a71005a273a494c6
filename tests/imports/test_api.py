"""The API of imports: the plan is made, applied and undone in the background."""

import threading
from typing import Any, NoReturn

import pytest

from tests.conftest import Person
from tests.support import import_services
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import TOKEN, running
from tests.support.imports import SHOP, await_import, await_response
from tests.support.threads import join
from waypost.core.errors import unavailable
from waypost.transfer.imports import plans

CSV = f"alias,url,clicks\nspring,{SHOP},5\nsummer,{SHOP}/2,0\ntaken,{SHOP}/3,0\nbad name,{SHOP},0"


def _upload(person: Person, content: str) -> int:
    return int(person.call("POST", "/files/upload/links.csv", content=content).json()["id"])


def test_api_plans_applies_and_undoes(ana: Person, service: AsgiClient) -> None:
    file = _upload(ana, CSV)
    ana.add("url", url=SHOP, custom="taken")
    ana.post("/import/add", {"file": file, "conflicts": "suffix"})
    details = await_import(ana)
    assert (details["state"], details["source"], details["rows"]) == ("planned", "csv", 4)
    assert details["fates"] == {"create": 3, "there": 0, "changed": 0, "conflict": 0, "impossible": 1}
    rows = ana.get("/import/rows", fate="impossible")["data"]
    assert (rows["result"], rows["rows"][0]["line"]) == (1, 5)
    assert ana.get("/urls")["data"]["result"] == 1
    ana.post("/import/apply")
    assert await_import(ana)["state"] == "applied"
    await_response(service, "/taken-2", 302)
    assert ana.get("/import/undo")["data"] == {"deleted": 3, "restored": 0, "clicks": 1, "edited": []}
    ana.post("/import/undo")
    assert await_import(ana)["state"] == "undone"
    assert ana.get("/urls")["data"]["result"] == 1
    await_response(service, "/taken-2", 404)


def test_api_reads_a_service(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(import_services.kutt()) as server:
        response = ana.call("POST", "/import/add", {"service": "kutt", "url": server.url, "token": TOKEN})
        assert response.status_code == 200
        details = await_import(ana)
    assert (details["state"], "internal address" in details["error"]) == ("failed", True)
    assert ana.call("POST", "/import/apply").status_code == 409


def test_api_imports_links_without_a_host_to_a_domain(ana: Person) -> None:
    ana.add("domain", domain="https://links.example.com")
    ana.post("/import/add", {"file": _upload(ana, CSV), "hosts": {"": "links.example.com"}})
    assert await_import(ana)["fates"]["create"] == 3
    assert {row["host"] for row in ana.get("/import/rows", fate="create")["data"]["rows"]} == {"links.example.com"}


def test_import_ends_while_the_database_is_down(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()

    def fail(*_: object) -> NoReturn:
        failed.set()
        raise unavailable()

    monkeypatch.setattr(plans, "fail", fail)
    ana.call("POST", "/import/add", {"service": "kutt", "url": "http://127.0.0.1:1", "token": TOKEN})
    assert failed.wait(10)
    for thread in threading.enumerate():
        if thread.name == "import":
            join(thread)  # pytest fails if the thread raised


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "service"),
        ({"service": "dub", "file": 1}, "service"),
        ({"service": "dub"}, "token"),
        ({"service": "shlink", "token": "x"}, "url"),
        ({"service": "other", "token": "x"}, "service"),
        ({"service": "dub", "token": "x", "timezone": "Mars"}, "timezone"),
    ],
)
def test_invalid_request_names_its_field(ana: Person, body: Any, field: str) -> None:
    response = ana.call("POST", "/import/add", body)
    assert (response.status_code, response.json()["field"]) == (400, field)


def test_import_belongs_to_its_account(ana: Person, ben: Person) -> None:
    ana.post("/import/add", {"file": _upload(ana, CSV)})
    await_import(ana)
    for method, path in (
        ("GET", "/import"),
        ("GET", "/import/rows"),
        ("GET", "/import/export"),
        ("GET", "/import/undo"),
        ("POST", "/import/apply"),
        ("POST", "/import/undo"),
        ("DELETE", "/import/delete"),
    ):
        assert ben.call(method, path).status_code == 404, path
    assert ben.call("POST", "/import/add", {"file": _upload(ana, CSV)}).status_code == 404


def test_import_that_was_edited_is_not_undone(ana: Person) -> None:
    ana.post("/import/add", {"file": _upload(ana, CSV)})
    await_import(ana)
    ana.post("/import/apply")
    await_import(ana)
    link = ana.get("/urls")["data"]["urls"][0]
    ana.put(f"/url/{link['id']}/update", {"title": "Mine"})
    response = ana.call("POST", "/import/undo")
    assert (response.status_code, link["alias"] in response.json()["message"]) == (409, True)
    assert ana.get("/urls")["data"]["result"] == 3


def test_rows_are_exported_as_csv(ana: Person) -> None:
    ana.add("url", url=SHOP, custom="taken")
    ana.post("/import/add", {"file": _upload(ana, CSV)})
    await_import(ana)
    lines = ana.call("GET", "/import/export").text.splitlines()
    assert lines[0] == '"line","fate","reason","losses","host","alias","url"'
    assert lines[3].startswith('"4","conflict","The alias is taken."')


def test_plan_can_be_discarded(ana: Person) -> None:
    ana.post("/import/add", {"file": _upload(ana, CSV)})
    await_import(ana)
    assert ana.call("DELETE", "/import/delete").status_code == 200
    assert ana.call("GET", "/import").status_code == 404
