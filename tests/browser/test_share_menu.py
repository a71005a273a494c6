"""Sharing of a short URL: by the menu of the device, or by links to services."""

from urllib.parse import quote

from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_WITHOUT_MENU = "Object.defineProperty(Navigator.prototype, 'share', { value: undefined, configurable: true })"


def _create(page: Page, address: str) -> Locator:
    """Create a link on the overview; return the card with its short URL."""
    page.goto(f"{address}/dashboard")
    page.get_by_placeholder("Paste a long URL").fill("https://shop.example/")
    page.get_by_role("button", name="Shorten").click()
    result = page.locator(".quick-result")
    expect(result).to_contain_text("Your link is ready")
    return result


def _services(url: str) -> list[str]:
    text = quote(url)
    return [
        f"https://wa.me/?text={text}",
        f"mailto:?body={text}",
        f"https://www.linkedin.com/sharing/share-offsite/?url={text}",
        f"https://x.com/intent/post?url={text}",
        f"https://www.facebook.com/sharer/sharer.php?u={text}",
        f"https://teams.microsoft.com/share?href={text}",
    ]


def _targets(links: Locator) -> list[str]:
    targets: list[str] = links.evaluate_all("(links) => links.map((link) => link.href)")
    return targets


def test_new_link_offers_services_on_a_computer_without_share_menu(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.add_init_script(_WITHOUT_MENU)
        result = _create(page, address)
        expect(result.get_by_role("link", name="Share")).to_be_hidden()
        url = ana.get("/urls")["data"]["urls"][0]["shorturl"]
        services = result.locator(".result-actions", has_text="WhatsApp").get_by_role("link")
        assert _targets(services) == _services(url)
        examine(page, "new link")


def test_editor_without_share_menu_lists_services(ana: Person, chrome: Browser, address: str) -> None:
    link = ana.add("url", url="https://shop.example/")
    url = ana.get("/urls")["data"]["urls"][0]["shorturl"]
    with signed_in_page(chrome, address) as page:
        page.add_init_script(_WITHOUT_MENU)
        page.goto(f"{address}/dashboard/links/{link}")
        share = page.get_by_role("link", name="Share")
        share.click()
        expect(share).to_have_attribute("aria-expanded", "true")
        menu = page.locator("[data-services]")
        assert _targets(menu.get_by_role("link")) == _services(url)
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            if width == 390:
                page.locator(".view-tabs").get_by_text("Preview").click()
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
