"""Imports by the API from a service in the own network that an administrator allows, from the plan to the redirect."""

import logging
from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
import structlog
from pydantic import ValidationError

from tests.conftest import Person
from tests.support import import_services
from tests.support.asgi_client import AsgiClient
from tests.support.import_services import TOKEN, Service, running
from tests.support.imports import SHOP, await_import, await_response
from waypost.core.logging import configure
from waypost.core.settings import Settings
from waypost.db.schema import metadata
from waypost.transfer.imports.sources import registry
from waypost.transfer.imports.sources.self_hosted_services import ChhotoSource

CALLS = (
    *(("GET", "/import"), ("GET", "/import/rows"), ("GET", "/import/export"), ("POST", "/import/apply")),
    *(("GET", "/import"), ("GET", "/import/undo")),
)


@pytest.fixture
def server() -> Iterator[Service]:
    """A service of the own network."""
    with running(import_services.chhoto()) as service:
        yield service


@pytest.fixture
def settings(settings: Settings, server: Service) -> Settings:
    """Settings that let accounts import from that service."""
    hosts = f"shlink.internal, {server.url.removeprefix('http://')}"
    return settings.model_copy(update={"import_hosts": hosts, "log_level": "debug"})


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
    ana: Person, service: AsgiClient, server: Service, logged: Callable[[], str]
) -> None:
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
    ana: Person, server: Service, logged: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: ChhotoSource) -> NoReturn:
        raise RuntimeError("unexpected")

    monkeypatch.setattr(ChhotoSource, "__iter__", fail)
    _start(ana, server.url)
    details = await_import(ana)
    assert (details["state"], "unexpected error" in details["error"]) == ("failed", True)
    lines = logged()
    assert "import failed" in lines
    assert TOKEN not in lines


def test_refused_token_is_explained_without_it(ana: Person, server: Service, logged: Callable[[], str]) -> None:
    server.statuses = [(401, {})]
    _start(ana, server.url)
    details = await_import(ana)
    assert (details["state"], "the service refuses it" in details["error"]) == ("failed", True)
    assert TOKEN not in details["error"] + logged()


def test_other_port_of_a_trusted_host_is_refused(ana: Person) -> None:
    with running(import_services.chhoto()) as other:
        _start(ana, other.url)
        details = await_import(ana)
    assert (details["state"], "internal address" in details["error"], other.requests) == ("failed", True, [])


@pytest.mark.parametrize("tail", ["?x=", "#x", "/?"])
def test_address_with_a_query_or_fragment_is_refused(ana: Person, server: Service, tail: str) -> None:
    _require_refusal(ana, server.url + tail)
    assert server.requests == []


def test_address_with_a_user_name_is_refused(ana: Person, server: Service) -> None:
    for user in ("user@", "user:password@", "@"):
        _require_refusal(ana, server.url.replace("http://", f"http://{user}"))
    assert server.requests == []


def _require_refusal(person: Person, url: str) -> None:
    response = person.call("POST", "/import/add", {"service": "chhoto", "url": url, "token": TOKEN})
    assert (response.status_code, response.json()["field"]) == (400, "url"), response.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("Shlink.internal", {("shlink.internal", 80), ("shlink.internal", 443)}),
        ("10.0.0.7:8080, a.internal:9", {("10.0.0.7", 8080), ("a.internal", 9)}),
        ("::1, [::1]:8080", {("::1", 80), ("::1", 443), ("::1", 8080)}),
    ],
)
def test_setting_lists_hosts_with_ports(text: str, expected: set[tuple[str, int]]) -> None:
    assert registry.trusted_hosts(Settings(import_hosts=text)) == expected


@pytest.mark.parametrize("text", ["http://a.internal", "a.internal/x", "a:0", "a:99999", "a:b", "u@a.internal", "a b"])
def test_setting_with_more_than_hosts_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="import_hosts"):
        Settings(import_hosts=text)
