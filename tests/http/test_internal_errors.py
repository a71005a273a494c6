"""Internal errors of every application: counted, logged with the id that the client gets, and timed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment
from sqlalchemy import text as sql
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from tests.conftest import PASSWORD, Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from tests.support.mcp_agent import agent_of
from tests.support.visits import ACCEPT_HTML
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.dashboard.forms import MAX_PUBLIC_BYTES
from waypost.db.database import Database
from waypost.http import bare_pages
from waypost.http.middleware import InternalErrors
from waypost.server.app import build


@pytest.fixture
def damaged(settings: Settings, database: Database) -> Iterator[Person]:
    """An administrator of a service whose table of links cannot be read."""
    changed = settings.model_copy(update={"mcp": "on", "metrics_networks": "127.0.0.1"})
    with AsgiClient(build(changed, database), address="127.0.0.1", raises=False) as client:
        person = create_person(client, database, "ana")
        person.add("url", url="https://example.com/", custom="spring")
        person.add("bio", name="Ana", alias="ana-costa")
        assert Browser(client).sign_in("ana", PASSWORD).status_code == 303
        person.write(lambda tx: tx.execute(sql("ALTER TABLE links RENAME TO lost")))
        person.write(lambda tx: tx.execute(sql("ALTER TABLE bios RENAME TO lost_bios")))
        yield person


def _metric(person: Person, name: str) -> float:
    match = re.search(rf"^{name} (\S+)$", person.client.get("/metrics").text, re.MULTILINE)
    assert match is not None, name
    return float(match[1])


@ON_SQLITE
@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/api/urls", {}),
        ("POST", "/api/url/add", {}),
        ("GET", "/dashboard/links", {}),
        ("GET", "/dashboard/links", ACCEPT_HTML),
        ("GET", "/spring", {"Host": "go.localhost"}),
        ("GET", "/spring", {"Host": "go.localhost", **ACCEPT_HTML}),
        ("GET", "/spring/qr", {"Host": "go.localhost"}),
        ("GET", "/ana-costa", {"Host": "go.localhost"}),
    ],
)
def test_internal_error_is_counted_and_logged_with_its_request_id(
    damaged: Person, method: str, path: str, headers: dict[str, str]
) -> None:
    before = _metric(damaged, "waypost_errors_total")
    key = {"Authorization": f"Bearer {damaged.key}"} if path.startswith("/api") else {}
    body: dict[str, Any] = {"json": {"url": "https://example.com/2"}} if method == "POST" else {}
    with capture_logs() as logged:
        response = damaged.client.request(method, path, headers={**headers, **key}, **body)
    assert response.status_code == 500
    failures = [entry for entry in logged if entry["event"] == "request failed"]
    assert [entry["request_id"] for entry in failures] == [response.headers["x-request-id"]]
    assert failures[0]["error"] == "OperationalError"
    assert _metric(damaged, "waypost_errors_total") == before + 1


@ON_SQLITE
def test_time_of_failed_visit_is_measured(damaged: Person) -> None:
    before = _metric(damaged, "waypost_visit_seconds_count")
    assert damaged.client.get("/spring", headers={"Host": "go.localhost"}).status_code == 500
    assert _metric(damaged, "waypost_visit_seconds_count") == before + 1


@ON_SQLITE
def test_failed_tool_is_counted_and_logged(damaged: Person) -> None:
    before = _metric(damaged, "waypost_errors_total")
    with capture_logs() as logged:
        problem = agent_of(damaged).problem("find_links", q="boots")
    request_id = next(entry["request_id"] for entry in logged if entry["event"] == "request failed")
    assert request_id in problem
    assert _metric(damaged, "waypost_errors_total") == before + 1


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "headers", "links"),
    [("/dashboard/links", {}, ["", "/dashboard"]), ("/ana-costa", {"Host": "go.localhost"}, [""])],
)
def test_internal_error_is_page_in_language_of_browser(
    damaged: Person, monkeypatch: pytest.MonkeyPatch, path: str, headers: dict[str, str], links: list[str]
) -> None:
    monkeypatch.setattr(Environment, "get_template", _fails)
    for language, title in (("de-CH,en;q=0.5", "Etwas ist schiefgegangen"), ("ar", "حدث خطأ ما"), ("it", None)):
        response = damaged.client.get(path, headers={**headers, **ACCEPT_HTML, "Accept-Language": language})
        assert response.status_code == 500
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert "unsafe" not in response.headers["content-security-policy"]
        assert f"<h1>{title or 'Something went wrong'}</h1>" in response.text
        assert f"<code>{response.headers['x-request-id']}</code>" in response.text
        assert re.findall(r'<a .*?href="(.*?)"', response.text) == links
    assert 'dir="ltr"' in response.text


@ON_SQLITE
def test_internal_error_without_catalog_is_page_in_english(damaged: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare_pages, "translations", _fails)
    response = damaged.client.get("/dashboard/links", headers={**ACCEPT_HTML, "Accept-Language": "de"})
    assert (response.status_code, "<h1>Something went wrong</h1>" in response.text) == (500, True)


@ON_SQLITE
def test_problem_before_the_session_is_read_is_page_in_language_of_browser(damaged: Person) -> None:
    headers = {**ACCEPT_HTML, "Accept-Language": "de", "Content-Type": "application/x-www-form-urlencoded"}
    response = damaged.client.post("/dashboard/signin", content=b"x" * (MAX_PUBLIC_BYTES + 1), headers=headers)
    assert (response.status_code, response.headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert "<h1>Die Anfrage konnte nicht ausgeführt werden</h1>" in response.text


def _fails(*_values: object) -> None:
    raise RuntimeError


def test_error_outside_of_the_applications_is_counted_and_logged(tmp_path: Path) -> None:
    async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise KeyError("secret")

    meter = Meter(tmp_path)
    client = AsgiClient(InternalErrors(fails, meter), raises=False)
    page = client.get("/spring", headers=ACCEPT_HTML)
    assert f"<code>{page.headers['x-request-id']}</code>" in page.text
    with capture_logs() as logged:
        response = client.get("/metrics")
    assert (response.status_code, response.headers["content-type"]) == (500, "text/plain; charset=utf-8")
    assert response.headers["x-request-id"] in response.text
    assert "secret" not in response.text
    failures = [(entry["request_id"], entry["error"]) for entry in logged if entry["event"] == "request failed"]
    assert failures == [(response.headers["x-request-id"], "KeyError")]
    assert meter.counts()["errors:"] == 2
