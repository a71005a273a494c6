"""UTM templates in a real browser: created, and applied in the editor and in quick create, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
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
            expect(page.locator("summary", has_text="UTM parameters").locator(".tag")).to_have_text("news, e-mail")
            page.get_by_label("Term utm_term").fill("boots")
            href = page.get_by_role("link", name="Save these values as a template").get_attribute("href")
            assert str(href).endswith(f"/dashboard/utm/new?{_QUERY}&utm_term=boots")
            page.get_by_label("Term utm_term").fill("")
            examine(page, "UTM templates in the editor")
        page.get_by_role("button", name="Create link").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready")
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == f"https://shop.example/a?{_QUERY}"


@pytest.mark.parametrize("scripts", [True, False])
def test_fields_are_applied_to_new_and_stored_destination_once(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/new")
        page.get_by_label("Destination URL").first.fill("shop.example/a?size=9&utm_source=old#top")
        page.locator("summary", has_text="UTM parameters").click()
        page.get_by_label("Source utm_source").fill("my blog")
        page.get_by_label("Campaign name utm_campaign").fill("50%25 off")
        page.get_by_role("button", name="Create link").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready")
        link = ana.get("/urls")["data"]["urls"][0]
        tagged = "https://shop.example/a?size=9&utm_source=my%20blog&utm_campaign=50%2525%20off#top"
        assert link["longurl"] == tagged
        page.goto(f"{address}/dashboard/links/{link['id']}")
        page.locator("summary", has_text="UTM parameters").click()
        expect(page.get_by_label("Campaign name utm_campaign")).to_have_value("50%25 off")
        page.get_by_label("Campaign name utm_campaign").fill("")
        page.get_by_label("Medium utm_medium").fill("mail")
        page.get_by_role("button", name="Save").locator("visible=true").last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        page.locator("summary", has_text="UTM parameters").click()
        expect(page.get_by_label("Medium utm_medium")).to_have_value("mail")
        page.goto(f"{address}/dashboard")  # no question about unsaved changes
        page.wait_for_url(f"{address}/dashboard")
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == (
        "https://shop.example/a?size=9&utm_source=my%20blog&utm_medium=mail#top"
    )


def test_quick_create_applies_template_and_offers_copy_code_and_share(
    ana: Person, chrome: Browser, address: str
) -> None:
    ana.add("utm", name="Newsletter", utm_source="news", utm_medium="e-mail")
    ana.add("domain", domain="https://go.brand.example")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard")
        page.evaluate("() => { navigator.share = async (content) => { window.shared = content.url; }; }")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            page.keyboard.press("c")
            dialog = page.get_by_role("dialog", name="New link")
            dialog.get_by_label("Destination URL").fill("shop.example/b")
            dialog.get_by_label("Domain").select_option("go.brand.example")
            dialog.get_by_label("Alias").fill(f"wide-{width}")
            dialog.get_by_label("UTM template").select_option(label="Newsletter")
            dialog.get_by_role("button", name="Create link").click()
            result = dialog.locator(".quick-result")
            expect(result).to_contain_text(f"go.brand.example/wide-{width}")
            expect(result.get_by_role("button").first).to_be_focused()
            expect(result.get_by_alt_text("QR code of this link")).to_be_visible()
            result.get_by_role("link", name="Share").click()
            assert page.evaluate("window.shared") == f"https://go.brand.example/wide-{width}"
            if width == 1280:
                examine(page, "new link in the dialog")
            page.keyboard.press("Escape")
    assert {link["longurl"] for link in ana.get("/urls")["data"]["urls"]} == {f"https://shop.example/b?{_QUERY}"}
