"""The number of statements of each request."""

import threading
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.conftest import Person
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.statements import recorded_statements

pytestmark = ON_BOTH_DATABASES  # each database has its own statements
URL = "https://example.com/"


@pytest.mark.parametrize(
    ("method", "path", "body", "limit"),
    [
        ("GET", "/account", None, 2),
        ("GET", "/url/{link}", None, 5),
        ("GET", "/urls", None, 5),
        ("GET", "/channels", None, 3),
        ("POST", "/url/add", {"url": URL}, 7),
        ("PUT", "/url/{link}/update", {"title": "New"}, 6),
        ("POST", "/channel/add", {"name": "News {n}"}, 5),
    ],
)
def test_request_executes_few_statements(ana: Person, method: str, path: str, body: Any, limit: int) -> None:
    link = ana.post("/url/add", {"url": URL})["id"]
    ana.post("/channel/add", {"name": "First"})
    path = path.format(link=link)
    bodies = [body and {name: value.format(n=n) for name, value in body.items()} for n in (1, 2)]
    ana.call(method, path, bodies[0])  # the first request with a key reads it first
    with recorded_statements() as statements:
        assert ana.call(method, path, bodies[1]).status_code == 200
    assert len(statements) <= limit, "\n".join(statements)


def test_change_that_visitors_do_not_see_reads_no_change_log(ana: Person) -> None:
    channel = ana.post("/channel/add", {"name": "First"})["id"]
    reads: list[str] = []

    def record(_tx: Any, _cursor: Any, statement: str, *_details: Any) -> None:
        if threading.current_thread().name.startswith("api ") and "FROM changes" in statement:
            reads.append(statement)

    event.listen(Engine, "before_cursor_execute", record)
    try:
        ana.put(f"/channel/{channel}/update", {"description": "Posts"})
    finally:
        event.remove(Engine, "before_cursor_execute", record)
    assert not reads
