"""Repeated requests that start an import: the stored response belongs to the transaction of the change."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.engine import Engine

from tests.conftest import Person
from tests.support.imports import SHOP, await_import, plan, run
from tests.support.threads import join
from waypost.core.errors import unavailable
from waypost.core.settings import Settings
from waypost.db.schema import import_plans

_CSV = f"alias,url\nspring,{SHOP}"
_ROWS = f"{_CSV}\nsummer,{SHOP}/2"
_OPERATIONS = ["POST /import/add", "POST /import/apply", "POST /import/undo", "DELETE /import/delete"]


@pytest.fixture(params=_OPERATIONS)
def operation(request: pytest.FixtureRequest, ana: Person, settings: Settings) -> tuple[str, str, Any]:
    """Return the method, path and body of a request, for which the account has a plan in the right state."""
    method, path = request.param.split()
    (run if path == "/import/undo" else plan)(ana, settings, _CSV)
    if path != "/import/add":
        return method, path, None
    file = ana.call("POST", "/files/upload/links.csv", content=_ROWS).json()["id"]
    return method, path, {"file": file}


@contextmanager
def _failing_at_the_response() -> Iterator[None]:
    """Fail every transaction at the statement that stores a response, as a kill at this moment would."""

    def fail(_tx: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE idempotency_keys"):
            raise unavailable()

    event.listen(Engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", fail)


def _send(ana: Person, operation: tuple[str, str, Any]) -> Any:
    method, path, body = operation
    return ana.call(method, path, body, headers={"Idempotency-Key": "key-1"})


def _plans(ana: Person) -> tuple[int, int | None]:
    """Return the number of plans, and the id of the newest one."""
    query = select(func.count(), func.max(import_plans.c.id))
    number, newest = ana.database.read(lambda tx: tx.execute(query).one())
    return number, newest


def _work_ends() -> bool:
    """Wait for the threads of imports; return True if there was one."""
    threads = [thread for thread in threading.enumerate() if thread.name == "import"]
    for thread in threads:
        join(thread)
    return bool(threads)


def test_repeated_request_gets_the_response_and_starts_nothing(ana: Person, operation: tuple[str, str, Any]) -> None:
    first = _send(ana, operation)
    assert first.status_code == 200, first.text
    await_import(ana)
    _work_ends()
    before = (_plans(ana), ana.call("GET", "/import").content, ana.get("/urls")["data"]["result"])
    second = _send(ana, operation)
    assert not _work_ends()
    assert (second.content, second.headers["Idempotency-Replayed"]) == (first.content, "true")
    assert (_plans(ana), ana.call("GET", "/import").content, ana.get("/urls")["data"]["result"]) == before


def test_request_that_stores_no_response_starts_nothing(ana: Person, operation: tuple[str, str, Any]) -> None:
    state = ana.get("/import")["details"]["state"]
    links = ana.get("/urls")["data"]["result"]
    with _failing_at_the_response():
        assert _send(ana, operation).status_code == 503
    assert not _work_ends()
    assert ana.get("/urls")["data"]["result"] == links
    left = ana.call("GET", "/import")
    if operation[1] == "/import/add":
        assert left.status_code == 404  # the old plan is deleted first, in batches
    else:
        assert left.json()["details"]["state"] == state


@pytest.mark.parametrize("operation", _OPERATIONS[:3], indirect=True)  # an interrupted deletion lasts for a minute
def test_request_after_a_lost_one_starts_the_import_once(ana: Person, operation: tuple[str, str, Any]) -> None:
    with _failing_at_the_response():
        assert _send(ana, operation).status_code == 503
    first = _send(ana, operation)
    assert (first.status_code, "Idempotency-Replayed" in first.headers) == (200, False), first.text
    details = await_import(ana)
    assert _plans(ana)[0] == 1
    assert (details["state"], details["error"]) == (
        {"/import/add": "planned", "/import/apply": "applied", "/import/undo": "undone"}[operation[1]],
        "",
    )
