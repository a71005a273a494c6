"""Aliases by host: the own host, branded domains and unknown hosts (decisions 39, 49 and 52)."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.load import until
from tests.support.visits import ACCEPT_HTML, DESTINATION, click_totals, clicks, new_link, visit
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_BOTH_DATABASES  # look-ups by host, and changes that reach other processes
BRAND = "https://brand.example"
ROOT, NOT_FOUND = "https://home.example/", "https://home.example/404"


def _brand(person: Person, **fields: str) -> int:
    return person.add("domain", **{"domain": BRAND, **fields})


def test_alias_resolves_per_host(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    own, branded = new_link(ana, "spring"), new_link(ana, "spring", domain=BRAND, url="https://example.com/brand")
    for _ in range(2):
        assert visit(service, "spring").headers["location"] == DESTINATION
        for host in ("http://brand.example", "https://BRAND.example:8443", "http://brand.example."):
            assert visit(service, f"{host}/spring").headers["location"] == "https://example.com/brand"
        for host in ("http://other.example", "http://www.brand.example", "http://brand.example.evil.example"):
            assert visit(service, f"{host}/spring").status_code == 404
    assert (clicks(ana, own)[0], clicks(ana, branded)[0]) == (2, 6)


@ON_SQLITE
@pytest.mark.parametrize(
    "host", ["go.localhost", "GO.LOCALHOST:99", "localhost:1", "127.0.0.1", "[::1]:8000", "8.8.8.8"]
)
def test_own_host_includes_addresses_and_base_url(ana: Person, service: AsgiClient, host: str) -> None:
    new_link(ana, "spring")
    assert visit(service, "spring", headers={"Host": host}).headers["location"] == DESTINATION


@ON_SQLITE
@pytest.mark.parametrize(
    "host", ["unknown.example", "go.localhost.evil.example", "[x", "a b", "x" * 300, "xn--", "é.example", "@", "\x7f"]
)
@pytest.mark.parametrize("headers", [ACCEPT_HTML, {}])
def test_unknown_host_returns_404(ana: Person, service: AsgiClient, host: str, headers: dict[str, Any]) -> None:
    new_link(ana, "spring")
    for path in ("", "spring", "spring+", "missing", "a/b"):
        response = visit(service, path, headers={**headers, "Host": host.encode()})
        assert response.status_code == 404
        assert DESTINATION not in response.text
    assert click_totals(ana, "") == {}


@ON_SQLITE
def test_forwarded_host_header_is_ignored(ana: Person, service: AsgiClient) -> None:
    _brand(ana)
    new_link(ana, "spring", domain=BRAND)
    assert visit(service, "spring", headers={"X-Forwarded-Host": "brand.example"}).status_code == 404


def test_branded_domain_redirects_root_and_unknown_aliases(ana: Person, service: AsgiClient) -> None:
    domain = _brand(ana)
    assert visit(service, f"{BRAND}/", headers=ACCEPT_HTML).status_code == 404
    assert visit(service, f"{BRAND}/missing").status_code == 404
    ana.update("domain", domain, redirectroot=ROOT, redirect404=NOT_FOUND)
    for _ in range(2):
        root, lost = visit(service, f"{BRAND}/"), visit(service, f"{BRAND}/missing")
        assert (root.status_code, root.headers["location"]) == (302, ROOT)
        assert (lost.status_code, lost.headers["location"]) == (302, NOT_FOUND)
        assert lost.headers["cache-control"] == root.headers["cache-control"] == "private, no-store"
    assert visit(service, "missing").status_code == 404
    ana.update("domain", domain, redirectroot=None, redirect404=None)
    assert visit(service, f"{BRAND}/").status_code == visit(service, f"{BRAND}/missing").status_code == 404


def test_avatars_are_served_on_own_host_only(ana: Person, service: AsgiClient) -> None:
    ana.post("/domain/add", {"domain": BRAND})
    assert visit(service, "u/ana/avatar.svg").headers["content-type"] == "image/svg+xml"
    assert visit(service, f"{BRAND}/u/ana/avatar.svg").status_code == 404


def test_unknown_alias_visits_are_shown_to_domain_owner(ana: Person, ben: Person, service: AsgiClient) -> None:
    _brand(ana)
    for path in (f"{BRAND}/missing", f"{BRAND}/nothing", "missing", "http://unknown.example/missing"):
        visit(service, path)
    assert click_totals(ana, "") == {"clicks": 2, "uniqueClicks": 1}
    assert click_totals(ben, "") == {}


def test_links_of_deleted_domain_return_404_until_it_is_added_again(
    ana: Person, ben: Person, service: AsgiClient
) -> None:
    domain = _brand(ana, redirectroot=ROOT)
    new_link(ana, "spring", domain=BRAND)
    assert visit(service, f"{BRAND}/spring").status_code == 302
    ana.remove("domain", domain)
    assert visit(service, f"{BRAND}/spring").status_code == visit(service, f"{BRAND}/").status_code == 404
    foreign = _brand(ben)
    assert (
        visit(service, f"{BRAND}/spring").status_code == 404
    )  # the alias stays with Ana after the domain changed hands
    ben.remove("domain", foreign)
    _brand(ana)
    assert visit(service, f"{BRAND}/spring").headers["location"] == DESTINATION


def test_every_change_applies_to_next_visit(ana: Person, service: AsgiClient) -> None:
    assert visit(service, "spring").status_code == 404
    link = new_link(ana, "spring")
    assert visit(service, "spring").headers["location"] == DESTINATION
    ana.update("url", link, url="https://example.com/summer")
    assert visit(service, "spring").headers["location"] == "https://example.com/summer"
    ana.update("url", link, status="disabled")
    assert visit(service, "spring").status_code == 403
    assert clicks(ana, link) == (2, 1)
    ana.update("url", link, status="public", expiryurl="https://example.com/over", clicklimit=2)
    assert visit(service, "spring").headers["location"] == "https://example.com/over"
    ana.update("url", link, clicklimit=None, custom="summer")
    assert (visit(service, "spring").status_code, visit(service, "summer").status_code) == (404, 302)
    ana.remove("url", link)
    assert visit(service, "summer").status_code == 404
    again = new_link(ana, "summer")
    assert visit(service, "summer").headers["location"] == DESTINATION
    assert clicks(ana, again) == (1, 1)  # counting starts at zero


def test_change_reaches_other_processes(ana: Person, service: AsgiClient, tmp_path: Path, database_url: str) -> None:
    link = new_link(ana, "spring")
    _brand(ana, redirectroot=ROOT)
    settings = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url)
    with AsgiClient(build(settings, Database(database_url))) as other:
        assert visit(other, "spring").headers["location"] == DESTINATION
        assert visit(other, f"{BRAND}/").headers["location"] == ROOT
        assert visit(other, "summer").status_code == 404
        ana.update("url", link, url="https://example.com/new")
        new_link(ana, "summer")
        until(lambda: visit(other, "spring").headers["location"] == "https://example.com/new")
        until(lambda: visit(other, "summer").status_code == 302)
        ana.remove("domain", ana.get("/domains")["data"]["domains"][0]["id"])
        until(lambda: visit(other, f"{BRAND}/").status_code == 404)
