"""The budget of a request for slow work: its items share it, however the request is made (decision 79)."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
import pytest
from sqlalchemy import update
from starlette.types import Message

from tests.conftest import Person
from tests.contract.bulk_requests import bulk
from tests.support.bios import picture_url
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import PUBLIC, FakeInternet, empty, ok, server
from tests.support.qr_decoders import png
from waypost.api import context
from waypost.api.context import MAX_FETCHES
from waypost.auth import api_keys
from waypost.core.settings import Settings
from waypost.db.schema import accounts
from waypost.http.safe_client import MAX_OF_ACCOUNT
from waypost.media.pictures import picture_fetch

pytestmark = ON_SQLITE
_HOST = "pictures.example"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings with the check of domains."""
    return settings.model_copy(update={"domain_check": "on"})


@contextmanager
def _pictures(internet: FakeInternet) -> Iterator[list[str]]:
    """Serve a picture at every path of some hosts; the value has the paths that were requested."""
    paths: list[str] = []

    def answer(head: bytes) -> list[bytes]:
        paths.append(head.split()[1].decode())
        return [ok(png(60))]

    for name in (_HOST, *(f"{number}.{_HOST}" for number in range(30))):
        internet.add_host(name, PUBLIC)
    with server(answer) as internet.routes[PUBLIC]:
        yield paths


def _code(number: int) -> dict[str, Any]:
    fields = {"type": "text", "data": "x", "logo": f"http://{_HOST}/logo-{number}.png"}
    return {"action": "create", "noun": "qr", "fields": fields}


def _page(number: int) -> dict[str, Any]:
    fields = {"name": f"Page {number}", "avatar": f"http://{_HOST}/avatar-{number}.png"}
    return {"action": "create", "noun": "bio", "fields": fields}


def _domain(number: int) -> dict[str, Any]:
    return {"action": "create", "noun": "domain", "fields": {"domain": f"http://{number}.{_HOST}"}}


@pytest.mark.parametrize(
    ("item", "field", "most"), [(_code, "logo", 10), (_page, "avatar", 20), (_domain, "domain", 20)]
)
def test_items_of_bulk_request_share_limit_of_request(
    ana: Person, internet: FakeInternet, item: Callable[[int], dict[str, Any]], field: str, most: int
) -> None:
    with _pictures(internet) as paths:
        results = bulk(ana, *map(item, range(30)), {"action": "create", "noun": "channel", "fields": {"name": "A"}})
    assert len(paths) == most
    refused = results[most:-1]
    assert {(result["status"], result["field"]) for result in refused} == {(400, field)}
    assert all("one request" in result["message"] and f"at most {most}" in result["message"] for result in refused)
    assert results[-1]["status"] == 200


def test_items_of_all_kinds_share_requests_to_other_servers(ana: Person, internet: FakeInternet) -> None:
    items = [make(number) for number in range(8) for make in (_code, _page, _domain)]
    with _pictures(internet) as paths:
        results = bulk(ana, *items, *items)
    assert len(paths) == MAX_FETCHES
    assert "at most 20 requests to other servers" in results[MAX_FETCHES]["message"]


def test_picture_of_many_items_is_fetched_once(ana: Person, internet: FakeInternet) -> None:
    with _pictures(internet) as paths:
        results = bulk(ana, *[_code(1)] * 30, *[_page(1)] * 30)
    assert {result["status"] for result in results} == {200}
    assert paths == ["/logo-1.png", "/avatar-1.png"]


def _limited(person: Person, limit: int) -> Person:
    """Return the person with a new key, and a rate limit that is unused."""
    person.write(lambda tx: tx.execute(update(accounts).values(rate_limit=limit)))
    key = person.write(lambda tx: api_keys.add(tx, person.account, name="fresh"))
    return Person(person.account, person.username, key, person.client, person.database)


@pytest.mark.parametrize("path", ["/bulk", "/qr/bulk"])
def test_each_further_request_to_another_server_counts(ana: Person, internet: FakeInternet, path: str) -> None:
    ana = _limited(ana, 100)
    items = [_code(number) for number in range(12)]
    body = {"items": items} if path == "/bulk" else {"codes": [item["fields"] for item in items]}
    with _pictures(internet) as paths:
        response = ana.call("POST", path, body)
    assert (response.status_code, len(paths)) == (200, 10)
    assert response.headers["x-ratelimit-remaining"] == "90"


def test_item_above_rate_limit_fails_and_others_succeed(ana: Person, internet: FakeInternet) -> None:
    ana = _limited(ana, 4)
    plain = {"action": "create", "noun": "channel", "fields": {"name": "A"}}
    with _pictures(internet) as paths:
        results = bulk(ana, *map(_code, range(6)), plain)
    assert [result["status"] for result in results] == [200, 200, 200, 200, 429, 429, 200]
    assert results[4]["code"] == "rate_limited"
    assert len(paths) == 4


def test_single_request_with_one_fetch_counts_once(ana: Person, internet: FakeInternet) -> None:
    ana = _limited(ana, 100)
    with _pictures(internet):
        response = ana.call("POST", "/qr/add", _code(1)["fields"])
    assert (response.status_code, response.headers["x-ratelimit-remaining"]) == (200, "99")


@pytest.mark.parametrize("path", ["/bulk", "/qr/bulk"])
def test_drawn_codes_of_request_are_limited(ana: Person, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(context, "_MAX_CODES", 3)
    codes = [{"type": "text", "data": str(number)} for number in range(5)]
    items = [{"action": "create", "noun": "qr", "fields": code} for code in codes]
    results = ana.post(path, {"items": items} if path == "/bulk" else {"codes": codes})["results"]
    assert [result["error"] for result in results] == [0, 0, 0, 1, 1]
    assert "at most 3 QR codes" in results[3]["message"]


def test_copies_of_pictures_of_request_are_limited(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = picture_url(size=(300, 300))
    monkeypatch.setattr(context, "_MAX_COPIED_BYTES", 3 * len(picture))
    pages = [{"name": f"Page {number}", "avatar": picture} for number in range(40)]
    results = bulk(ana, *({"action": "create", "noun": "bio", "fields": page} for page in pages))
    statuses = [result["status"] for result in results]
    assert statuses == sorted(statuses)
    assert (statuses[0], statuses[-1], results[-1]["field"]) == (200, 400, "avatar")


@pytest.mark.parametrize("path", ["/bulk", "/qr/bulk"])
def test_request_that_takes_too_long_refuses_further_items(
    ana: Person, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(context, "_MAX_ITEM_SECONDS", -1)
    code = {"type": "text", "data": "x"}
    item = {"action": "create", "noun": "qr", "fields": code}
    (result,) = ana.post(path, {"items": [item]} if path == "/bulk" else {"codes": [code]})["results"]
    assert (result["error"], result["code"]) == (1, "unavailable")


def _call_and_disconnect(
    person: Person, items: list[Any], *, is_requested: threading.Event, is_gone: threading.Event
) -> None:
    """Send a bulk request, and disconnect when `is_requested` is set. Then `is_gone` is set."""
    messages = [{"type": "http.request", "body": json.dumps({"items": items}).encode()}]
    sent: list[Message] = []

    async def receive() -> Message:
        if messages:
            return messages.pop()
        await anyio.to_thread.run_sync(is_requested.wait)
        asyncio.get_running_loop().call_soon(is_gone.set)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [
        (b"host", b"go.localhost:8000"),
        (b"authorization", person.key.encode()),
        (b"content-type", b"application/json"),
    ]
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/bulk",
    }
    scope |= {"raw_path": b"/api/bulk", "root_path": "", "query_string": b"", "headers": headers, "state": {}}
    with person.client._portal_factory() as portal:
        portal.call(person.client.app, {**scope, "client": ("testclient", 5)}, receive, send)


def test_request_ends_when_client_disconnects(ana: Person, internet: FakeInternet) -> None:
    """The client disconnects while the first of many pictures is fetched."""
    is_requested, is_gone = threading.Event(), threading.Event()

    def answer(_head: bytes) -> list[bytes]:
        is_requested.set()
        is_gone.wait(30)
        return [empty(404)]

    internet.add_host(_HOST, PUBLIC)
    with server(answer) as internet.routes[PUBLIC]:
        _call_and_disconnect(ana, [*map(_code, range(5)), _page(1)], is_requested=is_requested, is_gone=is_gone)
    assert len(internet.connections) == 1
    assert ana.get("/qr")["data"]["result"] == ana.get("/bios")["data"]["result"] == 0


def test_slow_server_holds_few_threads_of_its_account(
    ana: Person, ben: Person, internet: FakeInternet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_fetch, "_SECONDS", 120)
    is_over, waiting = threading.Event(), threading.Semaphore(0)

    def answer(_head: bytes) -> list[bytes]:
        waiting.release()
        is_over.wait(60)
        return [empty(404)]

    def create(person: Person, number: int) -> int:
        return int(person.call("POST", "/qr/add", _code(number)["fields"]).status_code)

    internet.add_host(_HOST, PUBLIC)
    with server(answer) as internet.routes[PUBLIC], ThreadPoolExecutor(MAX_OF_ACCOUNT + 1) as threads:
        try:
            slow = [threads.submit(create, ana, number) for number in range(MAX_OF_ACCOUNT)]
            assert all(waiting.acquire(timeout=30) for _ in slow)
            assert create(ana, MAX_OF_ACCOUNT) == 429
            other = threads.submit(create, ben, 0)
            assert waiting.acquire(timeout=30)
        finally:
            is_over.set()
        assert {future.result() for future in (*slow, other)} == {400}
        assert create(ana, 0) == 400, "the slots are free again"
