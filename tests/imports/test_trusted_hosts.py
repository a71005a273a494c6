"""Imports by the API from a service in the own network that an administrator allows, from the plan to the redirect."""

import logging
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import structlog

from tests.conftest import Person
from tests.support import import_services
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import TOKEN, running
from tests.support.imports import SHOP, await_import, await_response
from waypost.db.schema import metadata
from waypost.imports.sources.chhoto import ChhotoSource
from waypost.observability.logging import configure
from waypost.settings import Settings

CALLS = (
    *(("GET", "/import"), ("GET", "/import/rows"), ("GET", "/import/export"), ("POST", "/import/apply")),
    *(("GET", "/import"), ("GET", "/import/undo")),
)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings that let accounts import from this machine."""
    return settings.model_copy(update={"import_hosts": "shlink.internal, 127.0.0.1", "log_level": "debug"})


@pytest.fixture
def logged(settings: Settings, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """A function that returns the log lines so far, in the format of the service."""
    handlers, level = logging.root.handlers[:], logging.root.level
    configure(settings)
    yield lambda: capsys.readouterr().err
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    structlog.reset_defaults()


def _start(person: Person, url: str) -> str:
    body = {"service": "chhoto", "url": url, "token": TOKEN, "hosts": {"127.0.0.1": ""}}
    response = person.call("POST", "/import/add", body)
    assert response.status_code == 200, response.text
    return str(response.text)


def test_api_imports_a_service_and_tells_its_token_nowhere(
    ana: Person, service: AsgiClient, logged: Callable[[], str]
) -> None:
    with running(import_services.chhoto()) as server:
        texts = [_start(ana, server.url)]
        details = await_import(ana)
    assert (details["state"], details["source"], details["fates"]["create"]) == ("planned", "chhoto", 2)
    for method, path in CALLS:
        response = ana.call(method, path)
        assert response.status_code == 200, path
        texts.append(response.text)
        await_import(ana)
    await_response(service, "/b", 302, SHOP)
    assert {link["clicks"] for link in ana.get("/urls")["data"]["urls"]} <= {3, 4}
    assert all(TOKEN not in path for path in server.requests)
    assert all(TOKEN not in text for text in texts)
    assert TOKEN not in logged()
    for table in metadata.tables.values():
        rows = ana.database.read(lambda tx, table=table: tx.execute(table.select()).all())  # type: ignore[misc]
        assert TOKEN not in repr(rows), table.name


def test_failed_import_logs_the_error_without_the_token(
    ana: Person, logged: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: ChhotoSource) -> NoReturn:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(ChhotoSource, "__iter__", fail)
    with running(import_services.chhoto()) as server:
        _start(ana, server.url)
        details = await_import(ana)
    assert (details["state"], "unexpected error" in details["error"]) == ("failed", True)
    lines = logged()
    assert "import failed" in lines
    assert TOKEN not in lines


def test_refused_token_is_explained_without_it(ana: Person, logged: Callable[[], str]) -> None:
    service = import_services.chhoto()
    service.statuses = [(401, {})]
    with running(service):
        _start(ana, service.url)
        details = await_import(ana)
    assert (details["state"], "the service refuses it" in details["error"]) == ("failed", True)
    assert TOKEN not in details["error"] + logged()
