"""The DNS records of a new domain: they point to the public host of the service, if it has one."""

import re

import pytest

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build


@ON_SQLITE
@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("http://s.waypost.dev", ["CNAME", "go.brand.example", "s.waypost.dev"]),
        ("http://203.0.113.9", ["A", "go.brand.example", "203.0.113.9"]),
        ("http://[2001:db8::7]:8000", ["AAAA", "go.brand.example", "2001:db8::7"]),
        ("http://localhost:8000", []),
        ("http://127.0.0.9", []),
        ("http://[::1]:8000", []),
    ],
)
@pytest.mark.usefixtures("ana")
def test_records_point_to_the_public_host(
    settings: Settings, database: Database, base: str, expected: list[str]
) -> None:
    changed = Settings(**{**settings.model_dump(exclude_unset=True), "base_url": base})
    with AsgiClient(build(changed, database), base) as client:
        browser = Browser(client)
        browser.sign_in("ana")
        page = browser.get("/domains/new?domain=go.brand.example").text
    assert _cells(page) == expected
    assert ("Only this machine can open short URLs" in page) is not bool(expected)


@ON_SQLITE
def test_each_host_of_a_domain_has_its_records(ana: Person, settings: Settings, database: Database) -> None:
    domain = ana.add("domain", domain="https://brand.example", alsowww=True)
    base = "http://s.waypost.dev"
    changed = Settings(**{**settings.model_dump(exclude_unset=True), "base_url": base})
    with AsgiClient(build(changed, database), base) as client:
        browser = Browser(client)
        browser.sign_in("ana")
        page = browser.get(f"/domains/{domain}").text
    assert _cells(page) == [
        *("CNAME", "brand.example", "s.waypost.dev"),
        *("CNAME", "www.brand.example", "s.waypost.dev"),
    ]
    assert "A domain such as example.com cannot have a CNAME" in page


def _cells(page: str) -> list[str]:
    """Return the texts of the table of records."""
    return [content.strip() for content in re.findall(r"<td>(?:\s*<span><span>)?([^<]*)", page)]
