"""Arrows and URLs in a language that is written from right to left. The layout is checked in `test_pages.py`."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import PASSWORD, Person
from tests.support.browser import HOST, served, window
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.server import free_port
from tests.support.visits import CHROME
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE


@pytest.fixture
def address(settings: Settings, framed_site: FakeInternet) -> Iterator[str]:
    """The service on its own address, with the pseudo-language."""
    port = free_port()
    changes: dict[str, Any] = {"base_url": f"http://{HOST}:{port}", "pixel_consent": "on", "pseudo_language": "on"}
    opened = Settings.model_validate(
        {**settings.model_dump(), **changes, "registration": "on", "root_redirect": "page"}
    )
    with served(build(opened, Database(settings.database)), port) as url:
        yield url


@pytest.fixture
def context(chrome: Browser) -> Iterator[BrowserContext]:
    """A browser in the pseudo-language."""
    opened = chrome.new_context(user_agent=CHROME, locale=PSEUDO_LANGUAGE, service_workers="block")
    yield opened
    opened.close()


def test_arrows_are_mirrored_and_urls_are_not(
    ana: Person, chrome: Browser, address: str, context: BrowserContext
) -> None:
    for n in range(30):
        ana.add("url", url=f"https://target.example/{n}", custom=f"link-{n}")
    with window(chrome, context=context) as seen:
        _sign_in(seen.page, address)
        seen.page.goto(f"{address}/dashboard/links?page=2")
        arrow = seen.page.locator("[rel=prev] .icon")
        assert arrow.evaluate("icon => getComputedStyle(icon).transform") == "matrix(-1, 0, 0, 1, 0, 0)"
        seen.page.goto(f"{address}/dashboard/links/1")
        for field in ("url", "custom", "expiryurl", "metaimage"):
            assert seen.page.locator(f"#{field}").evaluate("field => getComputedStyle(field).direction") == "ltr", field
        assert seen.page.locator("#title").evaluate("field => field.dir") == "auto"


def _sign_in(page: Page, address: str) -> None:
    """Sign in as Ana on a page whose texts are in the pseudo-language."""
    page.goto(f"{address}/dashboard/signin")
    page.locator("#name").fill("ana")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.wait_for_url(f"{address}/dashboard")
