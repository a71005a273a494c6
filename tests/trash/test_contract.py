"""An item in the trash is in no response, and its restoration brings back every row, on both databases."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.resources import RESOURCES
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.trash import (
    LIST_PAGES,
    NOUNS,
    delete_in_dashboard,
    entries,
    move,
    new_items,
    restore,
    state,
    visit_items,
)
from tests.support.visits import visit
from waypost.db import schema
from waypost.db.database import Database
from waypost.server.routers import API_ROUTERS, DASHBOARD_PAGES
from waypost.trash.snapshots import KINDS, references_of

_LISTS = {
    "url": ("/urls", "urls"),
    "qr": ("/qr", "qrs"),
    "bio": ("/bios", "bios"),
    "campaign": ("/campaigns", "campaigns"),
    "channel": ("/channels", "channels"),
    "splash": ("/splash", "splash"),
    "overlay": ("/overlay", "cta"),
    "pixel": ("/pixels", "pixels"),
    "utm": ("/utms", "utms"),
    "domain": ("/domains", "domains"),
}
_UPDATES: Mapping[str, Mapping[str, Any]] = {
    "file": {"name": "Renamed"},
    **{resource.path[1:]: resource.update for resource in RESOURCES},
}


def _listed(person: Person, noun: str) -> list[int]:
    if noun == "file":
        return [item["id"] for item in person.get("/files")["list"]]
    path, key = _LISTS[noun]
    return [item["id"] for item in person.get(path)["data"][key]]


def _api_operations(noun: str, ids: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the method and path of every operation of the API on the item."""
    nouns = {"campaignid": "campaign", "linkid": "url", "channelid": "channel"}
    item_type = {"url": "links", "bio": "bio", "qr": "qr"}.get(noun)
    for route in (route for router in API_ROUTERS for route in router.routes):
        template = route.path_format  # type: ignore[attr-defined]  # all are APIRoute
        names = {name for name, of in nouns.items() if of == noun}
        names |= {"id"} if template.startswith(f"/{noun}/") else set()
        names |= {"itemid"} if item_type else set()
        if not any(f"{{{name}}}" in template for name in names):
            continue
        values = {name: ids[of] for name, of in nouns.items()} | {"id": ids[noun], "type": item_type or "links"}
        path = template.format(**values, itemid=ids[noun if item_type else "url"])
        yield from ((method, path) for method in route.methods)  # type: ignore[attr-defined]


@pytest.mark.parametrize("noun", NOUNS)
def test_item_in_trash_is_invisible_and_comes_back_exactly(
    noun: str, ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    ids = new_items(ana)
    visit_items(ana, service, ids)
    before, item = state(database), ids[noun]
    assert item in _listed(ana, noun)
    operations = list(_api_operations(noun, ids))
    assert ("DELETE", f"/{noun}/{item}/delete") in operations
    assert delete_in_dashboard(dashboard, noun, item).status_code == 303
    assert item not in _listed(ana, noun)
    for method, path in operations:
        response = ana.call(method, path, dict(_UPDATES[noun]) if method == "PUT" else None)
        assert response.status_code == 404, (method, path, response.text)
    table = KINDS[NOUNS[noun]].table.name
    for route in DASHBOARD_PAGES:
        if route.method == "GET" and route.path.startswith(f"/dashboard/{LIST_PAGES[noun]}/{{id:int}}"):
            assert service.get(route.path.replace("{id:int}", str(item))).status_code == 404, route.path
    assert f"/dashboard/{LIST_PAGES[noun]}/{item}" not in dashboard.get(f"/{LIST_PAGES[noun]}").text
    assert not [row for row in state(database)[table] if f"'id': {item}," in row]
    assert dashboard.submit(f"/trash/{entries(database, ana)[0]}/restore", at="/trash").status_code == 303
    assert state(database) == before
    assert entries(database, ana) == []


def test_items_are_restored_exactly_in_every_order(ana: Person, service: AsgiClient, database: Database) -> None:
    ids = new_items(ana)
    visit_items(ana, service, ids)
    before = state(database)
    for first, second in itertools.permutations(NOUNS, 2):
        for order in (1, -1):
            for noun in (first, second):
                move(database, ana, noun, ids[noun])
            for entry in entries(database, ana)[::order]:
                restore(database, ana, [entry])
            assert state(database) == before, (first, second, order)
    for noun in NOUNS:
        move(database, ana, noun, ids[noun])
    restore(database, ana, entries(database, ana))
    assert state(database) == before


def test_alias_of_item_in_trash_answers_as_that_of_deleted_link(
    ana: Person, service: AsgiClient, dashboard: Browser
) -> None:
    item, deleted = (ana.add("url", url="https://example.com/", custom=name) for name in ("in-trash", "deleted"))
    for name in ("in-trash", "deleted"):
        assert visit(service, name).status_code == 302
    ana.remove("url", deleted)
    delete_in_dashboard(dashboard, "url", item)
    for path in ("{}", "{}+", "{}/qr", "qr/{}"):
        answers = [visit(service, path.format(name)) for name in ("in-trash", "deleted")]
        assert answers[0].status_code == answers[1].status_code == 404, path
        assert answers[0].text.replace("in-trash", "deleted") == answers[1].text


def test_every_noun_is_in_trash() -> None:
    assert {resource.path[1:] for resource in RESOURCES} == NOUNS.keys() - {"file"}
    assert {*NOUNS.values()} == KINDS.keys()


def test_parts_of_items_have_no_parts() -> None:
    """A snapshot contains the rows of an item and of its parts."""
    tables = schema.metadata.sorted_tables
    parts = {reference.table for table in tables for reference in references_of(table) if reference.is_part}
    assert schema.channel_items in parts
    for table in tables:
        parents = {key.column.table for key in table.foreign_keys}
        assert not parents & parts, table
