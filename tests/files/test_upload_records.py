"""The record of an upload in progress, and the health check of the storage."""

from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from sqlalchemy import select, update
from starlette.types import Message

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import upload
from tests.support.load import until
from waypost.core import clock
from waypost.db.schema import orphan_objects
from waypost.items.files import upload as upload_module

pytestmark = ON_BOTH_DATABASES  # records of uploads that expire


def test_running_upload_extends_its_record(ana: Person, service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_module, "_EXTEND_SECONDS", 0.05)
    statuses: list[int] = []

    def due() -> int | None:
        return ana.database.read(lambda tx: tx.execute(select(orphan_objects.c.due)).scalar_one_or_none())

    def wait_for_extension() -> None:
        ana.write(lambda tx: tx.execute(update(orphan_objects).values(due=clock.now() + 5)))
        until(lambda: (due() or 0) > clock.now() + 200)

    pending = [b"last", b"first"]

    async def receive() -> Message:
        if len(pending) == 1:  # the client is slow
            await anyio.to_thread.run_sync(wait_for_extension)
        body = pending.pop()
        return {"type": "http.request", "body": body, "more_body": bool(pending)}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    path = "/api/files/upload/a.bin"
    headers = [(b"host", b"go.localhost:8000"), (b"authorization", f"Bearer {ana.key}".encode())]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"custom=mine",
    }
    scope |= {"headers": headers, "client": ("127.0.0.1", 1), "scheme": "http", "http_version": "1.1", "state": {}}
    with service._portal_factory() as portal:
        portal.call(service.app, scope, receive, send)
    assert statuses == [200]
    assert service.get("/mine").content == b"firstlast"
    assert due() is None


def test_readiness_shows_fault_of_storage(ana: Person, service: Any, tmp_path: Path) -> None:
    assert service.get("/readyz").json() == {"status": "ok"}
    (tmp_path / "files").touch()
    response = upload(ana, "a.bin")
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert "directory" not in response.text
    ready = service.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "degraded"})  # links work; no details for strangers
    (tmp_path / "files").unlink()
    assert upload(ana, "a.bin").status_code == 200
    assert service.get("/readyz").json()["status"] == "ok"
