"""The DNS records of a new domain: they point to the public host of the service, if it has one."""

import re

import pytest

from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_SQLITE
from waypost.app import build
from waypost.db.database import Database
from waypost.settings import Settings


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
    rows = re.findall(r"<td>(?:\s*<span><span>)?([^<]*)", page)
    assert [content.strip() for content in rows] == expected
    assert ("Only this machine can open short URLs" in page) is not bool(expected)
