"""The interactive documentation of the API: code samples, without violations of its policy."""

from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def test_operation_shows_code_samples(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        seen.page.goto(f"{address}/api/docs#/Links/create_link")
        samples = seen.page.locator("#operations-Links-create_link details")
        expect(samples).to_have_count(3, timeout=30_000)  # the page draws all operations first
        for language, words in (("curl", "curl -X POST"), ("JavaScript", "await fetch("), ("Python", "requests.post(")):
            seen.page.get_by_text(language, exact=True).click()
            expect(samples.filter(has_text=language).get_by_text(words)).to_be_visible()
