"""Idempotency keys: a repeated request gets the stored response, and nothing is done twice (decision 78)."""

from typing import Any

import pytest
import time_machine
from fastapi.routing import APIRoute
from sqlalchemy import func, select, update

from tests.conftest import Person
from tests.contract.endpoints import DECISIONS, DOCUMENT, ItemIds, Row
from tests.support.imports import await_import, plan, run
from waypost.clicks.ingest import ingester
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.schema import idempotency_keys
from waypost.server.routers import API_ROUTERS

URL = "https://example.com/"
_MORE = (
    Row("POST /qr/bulk", {}, {"codes": [{"type": "text", "data": "One"}, {"type": "none"}]}),
    Row("POST /bulk", {}, {"items": [{"action": "create", "noun": "url", "fields": {"url": URL}}, 5]}),
    Row("POST /qr/preview", {}, {"type": "text", "data": "One"}),
    Row("POST /files/upload", {}, content=b""),
)
_ROWS = [row for row in DOCUMENT + DECISIONS + _MORE if not row.name.startswith("GET ")]
_IMPORTS = {"POST /import/apply", "POST /import/undo", "DELETE /import/delete"}
"""Operations that need an import in a certain state; see below."""
_UNSTORED = {"POST /qr/preview"}
"""Operations that change nothing: a repeated request is executed again."""
_FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="b.txt"\r\n\r\ncontent\r\n--x--\r\n',
    "multipart/form-data; boundary=x",
)


def _send(ana: Person, method: str, path: str, body: Any = None, *, key: str = "key-1", **options: Any) -> Any:
    headers = {"Idempotency-Key": key, **options.pop("headers", {})}
    return ana.call(method, path, body, headers=headers, **options)


def _options(row: Row) -> dict[str, Any]:
    if row.name == "POST /files/upload":
        return {"content": _FORM[0], "headers": {"Content-Type": _FORM[1]}}
    return {} if row.content is None else {"content": row.content}


def _rows(ana: Person) -> dict[str, int]:
    """Return the number of rows of every table that a second execution could change, after an import has ended."""
    ana.client.join_background()
    ignored = {"api_keys", "idempotency_keys", "installation"}  # workers write the last one in checks
    tables = [table for name, table in schema.metadata.tables.items() if name not in ignored]
    return ana.database.read(
        lambda tx: {table.name: tx.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}
    )


def test_every_writing_endpoint_is_tested() -> None:
    routes = [route for router in API_ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    written = {
        f"{method} {route.path_format.replace('{', ':').replace('}', '')}"
        for route in routes
        for method in (route.methods or set()) - {"GET"}
    }
    assert written == {row.name for row in _ROWS} | _IMPORTS


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_repeated_request_gets_first_response_and_changes_nothing(method: str, ana: Person, item_ids: ItemIds) -> None:
    for row in (row for row in _ROWS if row.name.startswith(method)):
        path = row.path(item_ids)
        first = _send(ana, method, path, row.body, key=row.name, **_options(row))
        assert (first.status_code, "Idempotency-Replayed" in first.headers) == (row.status, False), first.text
        before = _rows(ana)
        second = _send(ana, method, path, row.body, key=row.name, **_options(row))
        assert (second.status_code, second.content) == (first.status_code, first.content), row
        assert second.headers["content-type"] == "application/json"
        if row.name not in _UNSTORED:
            assert {name: n for name, n in _rows(ana).items() if n != before[name]} == {}, row
            assert second.headers.get("Idempotency-Replayed") == "true", row


@pytest.mark.parametrize("operation", sorted(_IMPORTS))
def test_repeated_change_of_an_import_gets_first_response(operation: str, ana: Person, settings: Settings) -> None:
    make = run if operation == "POST /import/undo" else plan
    make(ana, settings, f"alias,url\none,{URL}")
    method, path = operation.split()
    first = _send(ana, method, path)
    assert (first.status_code, "Idempotency-Replayed" in first.headers) == (200, False), first.text
    second = _send(ana, method, path)
    assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")
    await_import(ana)


def test_upload_with_malformed_key_is_answered_before_the_end_of_its_body(ana: Person) -> None:
    response = _send(ana, "POST", "/files/upload/a.txt", None, key="x" * 256, content=b"content")
    assert (response.status_code, response.json()["field"]) == (400, "Idempotency-Key")
    assert response.headers["Connection"] == "close"  # after the rest of the body, so that the response arrives


def test_key_of_another_request_is_rejected(ana: Person) -> None:
    assert _send(ana, "POST", "/url/add", {"url": URL}).status_code == 200
    others = (
        ("POST", "/url/add", {"url": f"{URL}other"}),
        ("POST", "/url/add?x=1", {"url": URL}),
        ("POST", "/channel/add", {"url": URL}),
        ("PUT", "/url/1/update", {"url": URL}),
    )
    for method, path, body in others:
        response = _send(ana, method, path, body)
        assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_reused"), path
        assert response.json()["field"] == "Idempotency-Key"
    assert ana.get("/urls")["data"]["result"] == 1


def test_upload_of_another_size_is_rejected(ana: Person) -> None:
    assert _send(ana, "POST", "/files/upload/a.bin", content=b"content").status_code == 200
    assert _send(ana, "POST", "/files/upload/a.bin", content=b"contents").status_code == 422
    assert ana.get("/files")["result"] == 1


def test_key_belongs_to_account(ana: Person, ben: Person) -> None:
    for person in (ana, ben):
        response = _send(person, "POST", "/url/add", {"url": URL})
        assert (response.status_code, response.headers.get("Idempotency-Replayed")) == (200, None)


def test_failed_request_is_executed_again(ana: Person) -> None:
    ana.add("url", url=URL, custom="taken")
    body = {"url": URL, "custom": "taken"}
    assert _send(ana, "POST", "/url/add", body).status_code == 400
    ana.write(lambda tx: tx.execute(update(schema.links).values(alias="moved")))
    ana.write(lambda tx: tx.execute(schema.aliases.delete()))
    response = _send(ana, "POST", "/url/add", body)
    assert (response.status_code, response.headers.get("Idempotency-Replayed")) == (200, None)


def test_request_while_first_is_running_gets_409(ana: Person) -> None:
    _claim(ana, until=clock.now() + 10)
    response = _send(ana, "POST", "/url/add", {"url": URL})
    assert (response.status_code, response.json()["code"], response.headers["Retry-After"]) == (
        409,
        "request_running",
        "1",
    )
    assert ana.get("/urls")["data"]["result"] == 0


def test_claim_of_killed_request_ends_by_time(ana: Person) -> None:
    _claim(ana, until=clock.now())
    assert _send(ana, "POST", "/url/add", {"url": URL}).status_code == 200


def test_response_is_forgotten_after_24_hours_and_deleted(ana: Person) -> None:
    _send(ana, "POST", "/url/add", {"url": URL})
    with time_machine.travel(clock.now() + 24 * 3600 - 60):
        assert _send(ana, "POST", "/url/add", {"url": URL}).headers["Idempotency-Replayed"] == "true"
    with time_machine.travel(later := clock.now() + 24 * 3600 + 60):
        ana.write(lambda tx: ingester.delete_expired(tx, int(later), first_kept_day=0, events_days=90, audit_days=365))
        assert ana.database.read(lambda tx: tx.execute(select(idempotency_keys)).all()) == []
        assert "Idempotency-Replayed" not in _send(ana, "POST", "/url/add", {"url": URL}).headers
    assert ana.get("/urls")["data"]["result"] == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "ключ".encode(), "a\tb"])
def test_invalid_key_is_rejected(key: Any, ana: Person) -> None:
    response = _send(ana, "POST", "/url/add", {"url": URL}, key=key)
    assert (response.status_code, response.json()["field"]) == (400, "Idempotency-Key")


def test_key_of_read_request_is_ignored(ana: Person) -> None:
    for _ in range(2):
        assert "Idempotency-Replayed" not in _send(ana, "GET", "/urls").headers


def _claim(ana: Person, *, until: int) -> None:
    """Claim `key-1` for the request that creates a link, as a process that is still running or was killed."""
    _send(ana, "POST", "/url/add", {"url": URL})
    values = {"claim": b"another", "until": until, "status": None, "body": None}
    ana.write(lambda tx: tx.execute(update(idempotency_keys).values(values)))
    ana.remove("url", ana.get("/urls")["data"]["urls"][0]["id"])
