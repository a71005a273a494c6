"""The menu: four groups that fit a small laptop, one of them folded until it is used, and the same on a phone."""

from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_GROUPS = ["Create", "Measure", "Organize", "Before the redirect"]


def _sidebar(page: Page, address: str, path: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{address}/dashboard{path}")


def test_menu_fits_a_small_laptop(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        for path in ("/links", "/splash"):
            _sidebar(page, address, path)
            sidebar = page.locator(".sidebar")
            expect(sidebar.locator(":is(.nav-group > p, .nav-group > summary)")).to_have_text(_GROUPS)
            for entry in sidebar.locator(":is(nav a, button):visible").all():
                expect(entry).to_be_in_viewport(ratio=1)
            expect(sidebar.get_by_role("button", name="Sign out")).to_be_visible()
            menu = sidebar.get_by_role("navigation", name="Main")
            assert menu.evaluate("menu => menu.scrollHeight <= menu.clientHeight")
        examine(page, "/dashboard/splash")


def test_group_is_folded_until_it_is_used(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        _sidebar(page, address, "/links")
        pixels = page.locator(".sidebar").get_by_role("link", name="Pixels")
        expect(pixels).to_be_hidden()
        page.locator(".sidebar summary", has_text=_GROUPS[-1]).press("Enter")
        pixels.click()
        page.wait_for_url("**/dashboard/pixels")
        _sidebar(page, address, "/links")
        expect(pixels).to_be_visible()
        page.locator(".sidebar summary", has_text=_GROUPS[-1]).click()
        expect(pixels).to_be_hidden()
        page.wait_for_function("!document.cookie.includes('waypost_menu=open')")
        page.reload()
        expect(pixels).to_be_hidden()


def test_phone_has_the_same_groups(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard/campaigns")
        bar = page.locator(".bottom-nav")
        bar.get_by_text("More").click()
        expect(bar.locator(".nav-group > p")).to_have_text(_GROUPS)
        expect(bar.get_by_role("link", name="Campaigns")).to_have_attribute("aria-current", "page")
        expect(bar.get_by_role("button", name="Sign out")).to_be_in_viewport()
