"""Bio page builder in a real browser."""

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.bios import FORM_BLOCKS
from tests.support.browser import window
from tests.support.browser_login import examine, fetched, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


@pytest.mark.parametrize("scripts", [True, False])
def test_builder_creates_page_and_shows_block_clicks(
    ana: Person, chrome: Browser, address: str, ingester: None, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/bios")
        page.get_by_role("main").get_by_role("link", name="New page").first.click()
        page.wait_for_load_state()  # the builder script is active now
        page.get_by_label("Name", exact=True).fill("Ana")
        page.get_by_role("textbox", name="Alias").fill("ana-costa")
        page.get_by_label("Sunset").check(force=True)
        page.get_by_role("textbox", name="Title").fill("Shop")
        page.get_by_role("textbox", name="Destination").fill("https://target.example/shop")
        page.get_by_role("button", name="Profile", exact=True).click()
        page.get_by_label("Network").fill("Mastodon")
        page.get_by_label("Profile URL").fill("https://mastodon.example/@ana")
        page.get_by_role("button", name="Heading", exact=True).click()
        page.locator("[data-block] textarea").fill("Hello")
        up = page.get_by_role("button", name="Move up: Heading 3")
        up.focus()
        page.keyboard.press("Enter")
        expect(page.locator("[data-block] h3").nth(1)).to_have_text("Heading")
        page.get_by_role("button", name="Move up: Heading 2").click()
        expect(page.locator("[data-block] h3").first).to_have_text("Heading")
        if scripts:
            expect(page.get_by_role("button", name="Move down: Heading 1")).to_be_focused()
        page.get_by_role("button", name="Contact", exact=True).click()
        page.get_by_role("button", name="Remove: Contact 4").click()
        expect(page.locator("[data-block] h3")).to_have_text(["Heading", "Link", "Profile"])
        if not scripts:
            page.get_by_role("button", name="Preview").click()
        phone = page.frame_locator("iframe[name=phone]")
        expect(phone.get_by_text("Hello")).to_be_visible()
        expect(phone.get_by_text("Mastodon")).to_be_visible()
        sky = phone.locator("html").evaluate("page => getComputedStyle(page).getPropertyValue('--sky')")
        assert sky.strip() == "#fff0e2"
        page.get_by_role("button", name="Create page").click()
        expect(page.get_by_role("status").first).to_contain_text("Your page is ready.")
        block = ana.get("/bio/1")["blocks"][0]["id"]
        assert fetched(address, f"ana-costa/{block}").headers["location"] == "https://target.example/shop"
        page.reload()
        expect(page.locator("[data-block]", has_text="Link").locator(".tag")).to_have_text("1 click")
        page.get_by_role("button", name="Remove: Profile 3").click()
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
        expect(page.locator("[data-block] h3")).to_have_text(["Heading", "Link"])


def test_block_is_moved_by_dragging_its_handle(ana: Person, chrome: Browser, address: str) -> None:
    ana.post("/bio/add", {"name": "Ana", "blocks": FORM_BLOCKS[:3]})
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/bios/1")
        page.set_viewport_size({"width": 1280, "height": 2400})  # all blocks are in view during the drag
        page.locator("[data-grip]").nth(2).drag_to(
            page.locator("[data-block]").first, target_position={"x": 20, "y": 4}
        )
        expect(page.locator("[data-block] h3")).to_have_text(["Text", "Link", "Heading"])
        expect(page.locator("[data-block][draggable=true]")).to_have_count(0)  # the drag has ended
        page.get_by_role("button", name="Save", exact=True).last.click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert [block["type"] for block in ana.get("/bio/1")["details"]["blocks"]] == ["text", "link", "heading"]


def test_bio_pages_have_no_accessibility_violations(ana: Person, chrome: Browser, address: str) -> None:
    blocks = [block for block in FORM_BLOCKS if block["type"] != "image"]
    ana.post("/bio/add", {"name": "x" * 200, "title": "مرحبا بالعالم", "blocks": blocks, "theme": "mono"})
    with window(chrome) as seen:
        sign_in(seen.page, address)
        for path in ("", "/new", "/1", "/1/stats", "/1/delete"):
            seen.page.goto(f"{address}/dashboard/bios{path}")
            examine(seen.page, path)
        assert seen.foreign_urls == []
