"""The interactive documentation of the API: code samples, accessibility, without violations of its policy."""

from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.accessibility import faults
from tests.support.browser import window
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def test_page_shows_samples_opens_operations_by_keyboard_and_has_no_violation(
    ana: Person, chrome: Browser, address: str
) -> None:
    with window(chrome) as seen:
        page = seen.page
        page.goto(f"{address}/api/docs")
        operation = page.locator("#operations-Account-read_account")
        expect(operation).to_be_visible(timeout=30_000)  # the page draws all operations first
        expect(page.get_by_role("main").get_by_role("heading", level=1)).to_have_count(1)
        expect(page).to_have_title("API documentation · waypost")
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert faults(page) == [], width
        page.set_viewport_size({"width": 1280, "height": 800})
        operation.get_by_role("button", name="/api/account").press("Enter", timeout=30_000)
        expect(operation.get_by_text("curl", exact=True)).to_be_visible()
        expect(page).to_have_url(f"{address}/api/docs#/Account/read_account")
        page.goto("about:blank")  # the address of an operation opens it
        page.goto(f"{address}/api/docs#/Links/create_link")
        samples = page.locator("#operations-Links-create_link details")
        expect(samples).to_have_count(3, timeout=30_000)
        for language, words in (("curl", "curl -X POST"), ("JavaScript", "await fetch("), ("Python", "requests.post(")):
            page.get_by_text(language, exact=True).click()
            expect(samples.filter(has_text=language).get_by_text(words)).to_be_visible()


def test_page_without_scripts_names_the_document(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{address}/api/docs")
        main = seen.page.get_by_role("main")
        expect(main.get_by_role("heading", name="waypost API", level=1)).to_be_visible()
        expect(main.locator("noscript code")).to_be_visible()
