"""Arrows and URLs in a language that is written from right to left. The layout is checked in `test_pages.py`."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import HOST, served, window
from tests.support.databases import ON_SQLITE
from tests.support.fake_internet import FakeInternet
from tests.support.files import new_file
from tests.support.layout import faults_by_width
from tests.support.overlays import new_overlay
from tests.support.public_pages import FRAMED
from tests.support.server import free_port
from tests.support.visits import CHROME, new_link
from waypost.core.languages import PSEUDO_LANGUAGE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE
_ARABIC_PAGES = (
    *("/unknown", "/locked", "/prices", "/report", "/dashboard", "/dashboard/links", "/dashboard/links/1"),
    *("/dashboard/links/1/stats", "/dashboard/links/1/trial", "/dashboard/qr/new", "/dashboard/bios/new"),
    *("/dashboard/import/new", "/dashboard/campaigns/new", "/dashboard/account", "/dashboard/account/connections"),
    *("/dashboard/visits", "/dashboard/trash", "/dashboard/admin/health", "/dashboard/admin/plans"),
)


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


def test_arrow_of_the_domain_is_at_the_end_of_its_own_direction(
    ana: Person, chrome: Browser, address: str, context: BrowserContext
) -> None:
    ana.add("domain", domain="https://go.shop.example")
    with window(chrome, context=context) as seen:
        _sign_in(seen.page, address)
        seen.page.goto(f"{address}/dashboard/links/new")
        domain = seen.page.locator("main .address > select").first
        assert domain.evaluate("(select) => getComputedStyle(select).direction") == "ltr"
        assert domain.evaluate("(select) => getComputedStyle(select).backgroundPositionX").startswith("calc(100% - ")


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


def test_pages_in_arabic_fit_phones_and_desktops(ana: Person, chrome: Browser, address: str) -> None:
    new_link(ana, "locked", password="a password", title="A link with a password")
    new_file(ana, "price list.pdf", b"%PDF-1.7", custom="prices", maxdownloads=3)
    context = chrome.new_context(user_agent=CHROME, locale="ar-EG", service_workers="block")
    with window(chrome, context=context) as seen:
        _sign_in(seen.page, address)
        faults = {}
        for path in _ARABIC_PAGES:
            seen.page.goto(f"{address}{path}")
            expect(seen.page.locator("html[lang=ar]")).to_have_attribute("dir", "rtl")
            faults[path] = faults_by_width(seen.page, (390, 1280))
    assert {path: of_page for path, of_page in faults.items() if of_page} == {}


_OVERLAPS = """() => {
  const range = document.createRange()
  range.selectNodeContents(document.querySelector(".message"))
  const button = document.querySelector(".close").getBoundingClientRect()
  return [...range.getClientRects()].some((text) =>
    text.right > button.left && text.left < button.right && text.top < button.bottom && text.bottom > button.top
  )
}"""


def test_close_button_of_an_overlay_leaves_room_for_texts_of_both_directions(
    ana: Person, chrome: Browser, address: str
) -> None:
    for name, message in (("latin", "Free shipping this week. " * 4), ("arabic", "الشحن مجاني هذا الأسبوع. " * 4)):
        new_link(ana, name, url=FRAMED, type=f"overlay-{new_overlay(ana, 'message', message=message)}")
    for locale in ("en", "ar"):
        context = chrome.new_context(user_agent=CHROME, locale=locale, service_workers="block")
        with window(chrome, context=context) as seen:
            for name in ("latin", "arabic"):
                seen.page.goto(f"{address}/{name}")
                assert not seen.page.evaluate(_OVERLAPS), (locale, name)


def _sign_in(page: Page, address: str) -> None:
    """Sign in as Ana on a page whose texts are in the pseudo-language."""
    page.goto(f"{address}/dashboard/signin")
    page.locator("#name").fill("ana")
    page.locator("#password").fill(PASSWORD)
    page.locator("#password").press("Enter")
    page.wait_for_url(f"{address}/dashboard")
