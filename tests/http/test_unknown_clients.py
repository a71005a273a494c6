"""Clients whose address a trusted proxy does not tell are in no network, and share attempts with each other only."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import CONTENT, download, downloads_left, new_file
from tests.support.unreadable_addresses import UNREADABLE
from tests.support.visits import new_link, visit
from waypost.auth.attempt_limits import REPORTS_PER_HOUR
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
KNOWN, UNKNOWN = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "unknown"}
_FACTOR = 5
_ALIASES = ("locked", "spring", "summer")
_reported = itertools.cycle(_ALIASES)
Guess = Callable[[AsgiClient, dict[str, str]], int]


@pytest.fixture
def behind_proxy(settings: Settings, database: Database, ana: Person) -> Iterator[AsgiClient]:
    changed = Settings(**{**settings.model_dump(), "trusted_proxies": "127.0.0.1", "metrics_networks": "127.0.0.1,::1"})
    with AsgiClient(build(changed, database), address="127.0.0.1") as client:
        yield client


def test_unreadable_address_is_no_monitor_and_no_private_address(behind_proxy: AsgiClient) -> None:
    for values in [[], *UNREADABLE]:
        headers = [(b"X-Forwarded-For", value.encode()) for value in values]
        assert behind_proxy.get("/metrics", headers=headers).status_code == 404, values
        assert behind_proxy.get("/readyz", headers=headers).json() == {"status": "ok"}, values
        for path in ("/", "/missing"):
            stranger = behind_proxy.get(path, headers=[(b"Host", b"nas.example"), *headers])
            assert (stranger.status_code, BASE in stranger.text) == (404, False), values
    assert behind_proxy.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 200


def _bad_key(client: AsgiClient, headers: dict[str, str]) -> int:
    return client.get("/api/account", headers={"Authorization": "wp_wrong", **headers}).status_code


def _link_password(client: AsgiClient, headers: dict[str, str]) -> int:
    return int(visit(client, "locked", auth=("", "wrong"), headers=headers).status_code)


def _report(client: AsgiClient, headers: dict[str, str]) -> int:
    alias = next(_reported)  # several, because further reports of one are not stored
    form = {"url": f"{BASE}/{alias}", "reason": "spam"}
    return int(visit(client, "report", "POST", data=form, headers=headers).status_code)


@pytest.mark.parametrize(
    ("guess", "attempts"),
    [(_bad_key, 30), (_link_password, 10), (_report, REPORTS_PER_HOUR)],
    ids=["API key", "password of a link", "report"],
)
def test_unknown_clients_cannot_use_up_attempts_of_known_ones(
    ana: Person, behind_proxy: AsgiClient, guess: Guess, attempts: int
) -> None:
    for alias in _ALIASES:
        new_link(ana, alias, password="right")
    accepted = guess(behind_proxy, UNKNOWN)
    assert {guess(behind_proxy, UNKNOWN) for _ in range(_FACTOR * attempts - 1)} == {accepted} != {429}
    others: list[dict[str, str]] = [{}, {"X-Forwarded-For": "203.0.113.9, _hidden"}]
    for headers in (UNKNOWN, *others):
        assert guess(behind_proxy, headers) == 429
    for headers in (KNOWN, {"X-Forwarded-For": "127.0.0.1"}):
        assert guess(behind_proxy, headers) == accepted


def test_known_clients_cannot_use_up_attempts_of_unknown_ones(behind_proxy: AsgiClient) -> None:
    for headers in (KNOWN, {"X-Forwarded-For": "127.0.0.1"}):
        assert [_bad_key(behind_proxy, headers) for _ in range(31)] == [401] * 30 + [429]
    assert _bad_key(behind_proxy, UNKNOWN) == 401


def test_program_with_unknown_address_resumes_its_own_download_only(ana: Person, behind_proxy: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=3)
    first = download(behind_proxy, **UNKNOWN)
    cookie = first.headers["set-cookie"].partition(";")[0]
    behind_proxy.cookies.clear()
    assert download(behind_proxy, Range="bytes=5000-", Cookie=cookie, **UNKNOWN).status_code == 206
    assert downloads_left(ana, file) == 2
    other: Any = download(behind_proxy, Range="bytes=5000-", **UNKNOWN)
    assert (other.status_code, downloads_left(ana, file)) == (206, 1)
