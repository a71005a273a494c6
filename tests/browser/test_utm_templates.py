"""UTM templates in a real browser: created, and applied in the editor and in quick create, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_QUERY = "utm_source=news&utm_medium=e-mail"


def _create_template(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard/utm")
    page.get_by_role("link", name="New UTM template").first.click()
    page.get_by_label("Name", exact=True).fill("Newsletter")
    page.get_by_label("Source").fill("news")
    page.get_by_label("Medium").fill("e-mail")
    page.get_by_role("button", name="Create UTM template").click()
    expect(page.get_by_role("status").first).to_contain_text("Your UTM template is ready.")


@pytest.mark.parametrize("scripts", [True, False])
def test_template_is_created_and_applied_in_editor(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        _create_template(page, address)
        page.goto(f"{address}/dashboard/links/new")
        page.get_by_label("Destination URL").first.fill("shop.example/a?utm_source=old")
        page.locator("summary", has_text="UTM parameters").click()
        page.get_by_label("UTM template").locator("visible=true").select_option(label="Newsletter")
        if scripts:
            expect(page.get_by_label("Destination URL").first).to_have_value(f"shop.example/a?{_QUERY}")
            page.get_by_label("Term utm_term").fill("boots")
            href = page.get_by_role("link", name="Save these values as a template").get_attribute("href")
            assert str(href).endswith(f"/dashboard/utm/new?{_QUERY}&utm_term=boots")
            page.get_by_label("Term utm_term").fill("")
            examine(page, "UTM templates in the editor")
        page.get_by_role("button", name="Create link").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready.")
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == f"https://shop.example/a?{_QUERY}"
