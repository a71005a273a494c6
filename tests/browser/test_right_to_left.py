"""Every page in the pseudo-language, which is written from right to left and has longer texts."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import PASSWORD, Person
from tests.support.browser import HOST, served, window
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.form_pages import form_pages, public_form_pages, signed_out_paths, submit_in_browser
from tests.support.layout import WIDTHS, faults_by_width, mirror_faults
from tests.support.public_pages import ROOT_PAGE, public_pages
from tests.support.server import free_port
from tests.support.visits import CHROME
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.moderation import reports
from waypost.server.app import build

pytestmark = ON_SQLITE
_OPENED = "details.form-section, .chart-table, .breakdown details, .language-switch"


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


def _faults(page: Page) -> dict[object, list[str]]:
    """Return the faults of a page: texts outside their boxes by width, and elements on the wrong side."""
    page.evaluate(f"document.querySelectorAll('{_OPENED}').forEach(details => {{ details.open = true }})")
    faults: dict[object, list[str]] = {}
    for width in WIDTHS:
        faults[width] = faults_by_width(page, [width]).get(width, [])
        if width in (390, 1280):
            faults[width, "sides"] = mirror_faults(page)
    return {key: page_faults for key, page_faults in faults.items() if page_faults}


def test_every_page_of_the_dashboard_fits_from_right_to_left(
    ana: Person, chrome: Browser, address: str, context: BrowserContext, sample: None
) -> None:
    public_pages(ana)
    ana.write(lambda tx: reports.add(tx, host="", alias="x", reason="phishing", comment="Bad", reporter=b"somebody"))
    problems: dict[str, object] = {}
    with window(chrome, context=context) as seen:
        for path in signed_out_paths(ana):
            seen.page.goto(f"{address}{path}")
            problems[path] = _faults(seen.page)
        _sign_in(seen.page, address)
        for path in dashboard_paths():
            response = seen.page.goto(f"{address}{path}")
            assert seen.page.locator("html").get_attribute("dir") == "rtl", path
            problems[path] = _faults(seen.page) if response and response.status < 500 else response
        for form_page in form_pages(ana):
            submit_in_browser(seen.page, address, form_page)
            problems[form_page.name] = _faults(seen.page)
    assert {path: page_faults for path, page_faults in problems.items() if page_faults} == {}


def test_every_public_page_fits_from_right_to_left(
    ana: Person, chrome: Browser, address: str, context: BrowserContext
) -> None:
    problems: dict[str, object] = {}
    with window(chrome, stays=True, context=context) as seen:
        for public_page in (*public_pages(ana), ROOT_PAGE):
            seen.page.goto(f"{address}/{public_page.path}")
            assert seen.page.locator("html").get_attribute("dir") == "rtl", public_page.path
            problems[public_page.path] = _faults(seen.page)
        for form_page in public_form_pages(ana, "before-poll"):
            submit_in_browser(seen.page, address, form_page)
            problems[form_page.name] = _faults(seen.page)
    assert {path: page_faults for path, page_faults in problems.items() if page_faults} == {}


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
