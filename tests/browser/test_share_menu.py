"""Sharing of a short URL: by the menu of the device, or by links to services."""

from urllib.parse import quote

from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_WITHOUT_MENU = "Object.defineProperty(Navigator.prototype, 'share', { value: undefined, configurable: true })"


def _create(page: Page, address: str) -> Locator:
    """Create a link on the overview; return the line with its short URL."""
    page.goto(f"{address}/dashboard")
    page.get_by_placeholder("Paste a long URL").fill("https://shop.example/")
    page.get_by_role("button", name="Shorten").click()
    result = page.locator(".quick-result")
    expect(result).to_contain_text("Your link is ready")
    return result


def test_computer_without_share_menu_offers_services(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.add_init_script(_WITHOUT_MENU)
        page.set_viewport_size({"width": 390, "height": 900})
        result = _create(page, address)
        url = ana.get("/urls")["data"]["urls"][0]["shorturl"]
        share = result.get_by_role("link", name="Share")
        share.click()
        expect(share).to_have_attribute("aria-expanded", "true")
        menu = result.locator("[data-services]")
        targets = menu.get_by_role("link").evaluate_all("(links) => links.map((link) => link.href)")
        text = quote(url)
        assert targets == [
            f"https://wa.me/?text={text}",
            f"https://www.linkedin.com/sharing/share-offsite/?url={text}",
            f"https://x.com/intent/post?url={text}",
            f"mailto:?body={text}",
        ]
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            menu.get_by_role("button", name="Copy link").click()
            expect(menu.get_by_role("button", name="Copied")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        examine(page, "services to share a link with")
        share.click()
        expect(menu).to_be_hidden()


def test_share_menu_of_the_device_gets_the_url(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.add_init_script("navigator.share = async ({ url }) => (window.shared = url)")
        result = _create(page, address)
        result.get_by_role("link", name="Share").click()
        assert page.evaluate("window.shared") == ana.get("/urls")["data"]["urls"][0]["shorturl"]
        expect(result.locator("[data-services]")).to_be_hidden()
