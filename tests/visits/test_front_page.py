"""The front page of the own host, its redirects, and host names that are not known."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.conftest import BASE
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.visits import ACCEPT_HTML, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

HOME, LOST = "https://www.example.com/", "https://www.example.com/lost?from=links"
Start = Callable[..., AbstractContextManager[AsgiClient]]


@pytest.fixture
def start(tmp_path: Path, database: Database, database_url: str) -> Start:
    """Return a function that starts the service with further settings."""

    @contextmanager
    def start(**options: Any) -> Iterator[AsgiClient]:
        settings = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url, **options)
        with AsgiClient(build(settings, Database(database_url)), address="127.0.0.1") as client:
            yield client

    return start


def test_root_and_unknown_aliases_redirect_on_own_host(start: Start) -> None:
    with start(root_redirect=HOME, not_found_redirect=LOST) as client:
        for _ in range(2):
            assert visit(client, "").headers["location"] == HOME
            for path in ("missing", "no-such-alias"):
                response = visit(client, path)
                assert (response.status_code, response.headers["location"]) == (302, LOST)
        assert visit(client, "missing+").status_code == 404
        assert visit(client, "dashboard").headers["location"] == "/dashboard/signin"
        assert visit(client, "api/account").status_code == 401


@ON_SQLITE
def test_root_without_setting_is_the_dashboard(start: Start) -> None:
    with start() as client:
        assert visit(client, "").headers["location"] == "/dashboard"
        assert visit(client, "missing").status_code == 404


@ON_SQLITE
@pytest.mark.parametrize(("language", "text"), [("en", "Short links and files"), ("de", "Kurzlinks und Dateien")])
def test_root_can_be_a_public_page(start: Start, language: str, text: str) -> None:
    with start(root_redirect="page") as client:
        page = visit(client, "", headers={**ACCEPT_HTML, "Accept-Language": language})
    assert (page.status_code, text in page.text) == (200, True)
    assert f'href="{BASE}/dashboard"' in page.text


@pytest.mark.parametrize("value", ["example.com", "ftp://a.example/", "https://", "javascript:alert(1)", f"{BASE}/x"])
@pytest.mark.parametrize("name", ["root_redirect", "not_found_redirect"])
def test_invalid_redirect_is_refused_at_the_start(name: str, value: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValidationError, match=name):
        Settings(data_dir=tmp_path, base_url=BASE, **options)


@ON_SQLITE
@pytest.mark.parametrize(
    ("address", "is_told"), [("192.168.1.7", True), ("fd00::1", True), ("8.8.8.8", False), ("2001:4860::1", False)]
)
def test_unknown_host_names_the_base_url_in_private_networks(start: Start, address: str, is_told: bool) -> None:  # noqa: FBT001
    with start(trusted_proxies="127.0.0.0/8") as client:
        headers = {"Host": "nas.example:8000", "X-Forwarded-For": address}
        for path in ("", "missing"):
            for accept in ({}, ACCEPT_HTML):
                response = visit(client, path, headers={**headers, **accept})
                assert (response.status_code, BASE in response.text) == (404, is_told)
        assert BASE not in visit(client, "missing", headers={"X-Forwarded-For": address}).text
