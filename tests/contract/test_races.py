"""Concurrent reads, updates and deletes of the same items are answered with 200 or 404, never with an error.

Two nodes on PostgreSQL, two workers on SQLite. Every operation with the id of an item takes part.
"""

import functools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.contract.resources import RESOURCES
from tests.contract.service import Service, running
from tests.support.server import at_once
from waypost.server.routers import API_ROUTERS, DASHBOARD_PAGES

_NOUNS = (
    "url",
    "file",
    "qr",
    "bio",
    "campaign",
    "channel",
    "pixel",
    "utm",
    "domain",
    "splash",
    "overlay",
    "share",
    "webhook",
)
_UPDATES: Mapping[str, Mapping[str, Any]] = {
    "file": {"name": "Renamed"},
    "share": {"title": "Renamed", "days": 7},
    "webhook": {"title": "Renamed"},
    **{resource.path[1:]: resource.update for resource in RESOURCES},
}
# Path parameters and the noun of their id; `id` is an id of the noun that the path names.
_PARAMETERS = {"campaignid": "campaign", "linkid": "url", "channelid": "channel"}
_ITEM_TYPES = {"links": "url", "bio": "bio", "qr": "qr"}
# Dashboard paths whose noun is called otherwise.
_PAGES = {"links": "url", "files": "file", "qr": "qr", "bios": "bio", "overlays": "overlay"} | {
    f"{noun}s": noun for noun in ("campaign", "channel", "pixel", "domain")
}
_PAGES |= {"splash": "splash", "utm": "utm"}
_ROUNDS = 4
_COPIES = 5
"""Concurrent requests of each operation."""

Operation = tuple[str, str, Mapping[str, Any] | None]
"""Method, path with a placeholder for the id of each noun, and body."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service on each database."""
    with running(request, tmp_path_factory.mktemp("races")) as service:
        yield service


def _operations() -> list[Operation]:
    """Return every operation of the API whose path contains the id of an item."""
    operations: list[Operation] = []
    for route in (route for router in API_ROUTERS for route in router.routes):
        template = f"/api{route.path_format}"  # type: ignore[attr-defined]  # all are APIRoute
        noun = template.split("/")[2]
        if "id}" not in template or noun == "admin":
            continue
        for name, of in {"id": noun, **_PARAMETERS}.items():
            template = template.replace(f"{{{name}}}", f"{{{of}}}")
        types = _ITEM_TYPES.items() if "{itemid}" in template else [("", "")]
        for method in route.methods:  # type: ignore[attr-defined]
            body = dict(_UPDATES[noun]) if method == "PUT" else None
            for name, of in types:
                operations.append((method, template.replace("{type}", name).replace("{itemid}", f"{{{of}}}"), body))
    return operations


def _nouns(operations: Iterable[Operation]) -> set[str]:
    """Return the nouns whose ids are in the paths of the operations."""
    return {noun for _, template, _ in operations for noun in re.findall(r"{(\w+)}", template)}


def _race(service: Service, operations: Sequence[Operation], ids: Mapping[str, int]) -> Counter[tuple[str, int]]:
    """Send all operations at once, in random order; count them by path and status."""

    def send(operation: Operation) -> tuple[str, int]:
        method, template, body = operation
        response = service.call(method, template.format(**ids), body)
        assert response.status_code in (200, 404) or response.json()["code"] == "invalid", response.text
        return f"{method} {template}", response.status_code

    shuffled = random.sample(operations, len(operations))
    return Counter(at_once([functools.partial(send, operation) for operation in shuffled]))


@pytest.mark.parametrize("noun", _NOUNS)
def test_concurrent_operations_on_one_item_return_200_or_404(noun: str, service: Service) -> None:
    operations = [operation for operation in _operations() if f"{{{noun}}}" in operation[1]]
    assert {f"DELETE /api/{noun}/{{{noun}}}/delete", f"PUT /api/{noun}/{{{noun}}}/update"} <= {
        f"{method} {template}" for method, template, _ in operations
    }
    for _ in range(_ROUNDS):
        outcome = _race(service, operations * _COPIES, service.add(_nouns(operations)))
        assert {status for _, status in outcome} <= {200, 404}, outcome
        assert outcome[f"DELETE /api/{noun}/{{{noun}}}/delete", 200] == 1, outcome


def test_concurrent_deletes_of_related_items_return_200_or_404(service: Service) -> None:
    operations = [operation for operation in _operations() if operation[0] in ("DELETE", "POST", "PUT")]
    for _ in range(_ROUNDS):
        outcome = _race(service, operations * 2, service.add(_NOUNS))
        assert {status for _, status in outcome} <= {200, 404}, outcome


def test_update_races_with_delete_of_referenced_items(service: Service) -> None:
    for _ in range(_ROUNDS):
        ids = service.add(["url", "splash"])
        used = {"campaign": ids["campaign"], "channel": [ids["channel"]], "pixels": [ids["pixel"]]}
        bodies = [{**used, "type": name} for name in (str(ids["splash"]), f"overlay-{ids['overlay']}")]
        updates: list[Operation] = [("PUT", "/api/url/{url}/update", body) for body in bodies * 6]
        deletes: list[Operation] = [
            ("DELETE", f"/api/{noun}/{{{noun}}}/delete", None)
            for noun in ("campaign", "channel", "pixel", "splash", "overlay")
        ]
        outcome = _race(service, updates + deletes, ids)  # an id in a body that is gone is 400
        assert {status for path, status in outcome if path.startswith("DELETE")} == {200}, outcome
        details = service.call("GET", f"/api/url/{ids['url']}").json()["details"]
        shown = [details[name] for name in ("campaign", "channel", "pixels", "type")]
        assert shown == [None, [], [], "direct"]


def test_concurrent_changes_of_one_qr_code_all_succeed(service: Service) -> None:
    ids = service.add(["qr"])
    bodies = [{"name": f"Code {n}", "data": f"Text {n}"} for n in range(10)]
    outcome = _race(service, [("PUT", "/api/qr/{qr}/update", body) for body in bodies], ids)
    assert outcome == {("PUT /api/qr/{qr}/update", 200): len(bodies)}
    details = service.call("GET", f"/api/qr/{ids['qr']}").json()["details"]
    assert {"name": details["name"], "data": details["data"]} in bodies


@pytest.mark.parametrize("name", sorted(_PAGES))
def test_concurrent_pages_of_one_item_never_fail(name: str, service: Service) -> None:
    pages = [(route.method, route.path) for route in DASHBOARD_PAGES if route.path.startswith(f"/dashboard/{name}/")]
    pages = [(method, path.replace("{id:int}", "{id}")) for method, path in pages if "{id:int}" in path]
    pages.append(("POST", f"/dashboard/{name}/delete"))
    noun = _PAGES[name]
    for _ in range(_ROUNDS):
        outcome = _open_all(service, pages * 3, service.add([noun])[noun], _UPDATES[noun])
        assert {status for _, status in outcome} <= {200, 303, 400, 404}, outcome


def _open_all(
    service: Service, pages: Sequence[tuple[str, str]], item: int, fields: Mapping[str, Any]
) -> Counter[tuple[str, int]]:
    """Open all pages of an item at once, in random order; count them by path and status."""

    def call(method: str, path: str) -> Callable[[], tuple[str, int]]:
        return lambda: (f"{method} {path}", service.open(method, path.format(id=item), {**fields, "id": str(item)}))

    return Counter(at_once([call(method, path) for method, path in random.sample(pages, len(pages))]))
