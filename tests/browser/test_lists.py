"""Lists in a real browser: search, paging, selections and menus, with and without scripts."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.layout import layout_faults
from tests.support.row_menus import in_row_menu
from tests.support.touch import small_targets

pytestmark = ON_SQLITE


def test_link_list_is_searched_and_edited_in_place(ana: Person, chrome: Browser, address: str) -> None:
    _fill_list(ana, 30)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        page.evaluate("window.stays = true")
        page.get_by_role("searchbox").fill("name-1")
        expect(page.locator("tbody tr")).to_have_count(11)
        assert "q=name-1" in page.url
        page.get_by_role("searchbox").fill("")
        page.get_by_role("link", name="Next").click()
        expect(page.locator("tbody tr")).to_have_count(5)
        page.go_back()
        expect(page.locator("tbody tr")).to_have_count(25)
        page.get_by_role("searchbox").fill("name-7")
        expect(page.locator("tbody tr")).to_have_count(1)
        in_row_menu(page.locator("tbody tr"), "Delete").click()
        dialog = page.get_by_role("dialog", name="Delete this link?")
        dialog.get_by_role("link", name="Cancel").click()
        expect(dialog).not_to_be_visible()
        in_row_menu(page.locator("tbody tr"), "Delete").click()
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("status").first).to_contain_text("The link was deleted.")
        page.wait_for_load_state()
        page.get_by_role("searchbox").fill("")
        expect(page.locator("tbody tr")).to_have_count(25)
        page.get_by_label("Select all links on this page").check()
        page.locator("[popovertarget=bulk-menu]").click()
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_role("status").first).to_contain_text("25 links were updated.")
    assert ana.get("/urls")["data"]["result"] == 29


def test_click_right_after_search_is_not_lost(ana: Person, chrome: Browser, address: str) -> None:
    """Leaving the search field must not reload the list, which would replace the row below the pressed button."""
    ana.post("/url/add", {"url": "https://target.example/", "title": "Spring"})
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        page.get_by_role("searchbox").press_sequentially("Spr")
        page.wait_for_url("**q=Spr**")
        length, paths = page.evaluate("history.length"), list[str]()
        page.locator("tbody tr").get_by_title("QR code").hover()
        page.on("request", lambda request: paths.append(urlsplit(request.url).path))
        page.mouse.down()
        page.wait_for_timeout(700)
        page.mouse.up()
        expect(page.get_by_role("dialog").get_by_role("img", name="QR code")).to_be_visible()
        assert paths == ["/dashboard/links/1/qr"]
        assert page.evaluate("history.length") == length
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Filter · Sort", exact=True).click()
        page.get_by_label("Status").select_option("Disabled")
        expect(page.get_by_role("heading", name="No links found")).to_be_visible()


def _fill_list(ana: Person, count: int) -> None:
    for n in range(count):
        ana.post("/url/add", {"url": "https://target.example/", "title": f"Link {n}", "custom": f"name-{n}"})


def test_paging_sorting_and_bulk_actions_keep_focus_filter_and_place(
    ana: Person, chrome: Browser, address: str
) -> None:
    _fill_list(ana, 60)
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 600})
        page.goto(f"{address}/dashboard/links")
        sizes = "[...new Set([...document.querySelectorAll('thead th')].map((th) => getComputedStyle(th).fontSize))]"
        assert len(page.evaluate(sizes)) == 1
        for name, press in (("Next", False), ("Next", True), ("Clicks", True)):
            link = page.get_by_role("link", name=name, exact=True)
            link.scroll_into_view_if_needed()
            before = page.url
            if press:
                link.press("Enter")
            else:
                link.click()
            expect(page).not_to_have_url(before)
            expect(page.locator("#rows")).to_be_focused()
            expect(page.locator("tbody tr").first).to_be_in_viewport()
        expect(page.get_by_role("status").filter(has_text="1\u201325 of 60")).to_have_count(1)
        page.get_by_role("searchbox").fill("name-5")
        expect(page.get_by_role("status").filter(has_text="1\u201311 of 11")).to_have_count(1)
        expect(page.get_by_role("searchbox")).to_be_focused()
        _check_place_after_bulk_action(page, address)


def _check_place_after_bulk_action(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard/links?q=link")
    page.get_by_role("link", name="Next", exact=True).click()
    page.wait_for_url("**page=2**")
    place, row = page.url, page.locator("tbody tr").nth(20)
    row.get_by_role("checkbox").check()
    top = page.evaluate("scrollY")
    assert top > 200
    page.locator("[popovertarget=bulk-menu]").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.locator(".toast", has_text="The link was updated.")).to_be_visible()
    assert page.url == place
    assert abs(page.evaluate("scrollY") - top) < 100
    row.locator(".name").click()
    page.get_by_role("textbox", name="Title optional", exact=True).fill("Link renamed")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Links", exact=True).locator("visible=true").last.click()
    expect(row.locator(".name")).to_have_text("Link renamed")
    assert page.url == place
    expect(row).to_be_in_viewport()


def test_filters_are_cleared_and_menus_closed_by_escape(ana: Person, chrome: Browser, address: str) -> None:
    _fill_list(ana, 3)
    ana.add("url", url="https://target.example/", title="Locked", password="x")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        opener, status = page.get_by_role("button", name="Filter"), page.get_by_label("Status")
        expect(status).to_be_hidden()
        opener.click()
        _check_place_of_sheet(page)
        status.select_option("With password")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.get_by_label("From", exact=True)).to_be_hidden()
        page.locator("[name=period]").select_option("Choose dates")
        page.get_by_label("From", exact=True).fill("2020-01-01")
        page.wait_for_url("**from=2020-01-01**")
        page.keyboard.press("Escape")
        expect(status).to_be_hidden()
        expect(opener).to_be_focused()
        page.reload()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(opener).to_have_text(re.compile("Filter.*2", re.DOTALL))
        expect(status).to_have_value("password")
        page.get_by_role("link", name="Created from: 1 Jan 2020").click()
        expect(page.locator(".active-filters .button")).to_have_count(1)
        page.get_by_role("link", name="Clear filters").click()
        expect(page.locator("tbody tr")).to_have_count(4)
        expect(page.locator("[name=period]")).to_have_value("")
        expect(page.get_by_label("From", exact=True)).to_have_value("")
        _check_menus(page, address)


def _check_place_of_sheet(page: Page) -> None:
    """The sheet is below its button, and ends where the button ends."""
    opener = page.locator("[popovertarget=filter-sheet]").first
    button, sheet = (one.bounding_box() for one in (opener, page.locator("#filter-sheet")))
    assert button is not None
    assert sheet is not None
    assert 0 <= sheet["y"] - button["y"] - button["height"] < 20
    assert abs(sheet["x"] + sheet["width"] - button["x"] - button["width"]) < 2


def _check_menus(page: Page, address: str) -> None:
    """Escape closes menus, and More is marked if the page is in its sheet."""
    page.goto(f"{address}/dashboard")
    dates = page.locator(".date-range details")
    dates.locator("summary").click()
    expect(dates.get_by_label("From")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dates.get_by_label("From")).to_be_hidden()
    expect(dates.locator("summary")).to_be_focused()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/dashboard/campaigns")
    more = page.locator(".bottom-nav summary", has_text="More")
    expect(more).to_have_attribute("aria-current", "true")
    more.click()
    sheet = page.locator(".nav-sheet")
    expect(sheet).to_be_visible()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.goto(f"{address}/dashboard/links")
    expect(more).not_to_have_attribute("aria-current", "true")


@pytest.mark.parametrize("scripts", [True, False])
def test_all_matching_links_are_changed_after_confirmation(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    _fill_list(ana, 30)
    ana.add("url", url="https://target.example/", title="Other")
    ana.add("channel", name="Letter")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links?q=link")
        bar = page.get_by_role("group", name="Actions on the selected rows")
        expect(bar).to_be_hidden()
        page.locator("tbody").get_by_role("checkbox").first.check()
        if scripts:
            page.locator("tbody").get_by_role("checkbox").first.press("Enter")
            expect(bar).to_be_visible()
            expect(bar.get_by_role("status")).to_have_text("1 selected")
        bar.get_by_label("Select all 30 that match").check()
        if scripts:
            expect(bar.get_by_role("status")).to_have_text("30 selected")
            expect(page.get_by_label("Select all links on this page")).to_be_checked()
            page.locator("tbody").get_by_role("checkbox").first.uncheck()
            expect(bar.get_by_role("status")).to_have_text("24 selected")
            bar.get_by_label("Select all 30 that match").check()
        bar.get_by_text("Add to channel").click()
        bar.get_by_role("button", name="Letter").click()
        expect(page.get_by_role("heading", name="Add 30 links to a channel?")).to_be_visible()
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("30 links were updated.")
        expect(page.locator("tbody tr").first.get_by_role("link", name="Letter")).to_be_visible()
        assert page.url == f"{address}/dashboard/links?q=link"


@pytest.mark.parametrize("scripts", [True, False])
def test_columns_are_chosen_and_the_filter_is_kept(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    _fill_list(ana, 3)
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size({"width": 1280, "height": 800})
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links?q=name-1")
        expect(page.locator(".destination")).to_be_visible()
        page.get_by_role("button", name="Display").click()
        for name in ("Destination", "Created"):
            page.get_by_label(name, exact=True).uncheck()
        page.get_by_role("button", name="Apply").locator("visible=true").click()
        expect(page.locator("thead th")).to_have_count(5)
        expect(page.locator(".destination")).to_have_count(0)
        assert page.url == f"{address}/dashboard/links?q=name-1"
        assert layout_faults(page) == []


def test_targets_are_large_enough_for_fingers(ana: Person, chrome: Browser, address: str) -> None:
    _fill_list(ana, 3)
    context = chrome.new_context(has_touch=True, is_mobile=True, viewport={"width": 320, "height": 700})
    with window(chrome, context=context) as seen:
        sign_in(seen.page, address)
        seen.page.goto(f"{address}/dashboard/links")
        assert seen.page.locator("#rows tbody :is(.icon-button, .target):visible").count() == 3 * 2
        assert small_targets(seen.page) == []
        assert layout_faults(seen.page) == []
        seen.page.locator("#rows tbody .target").first.tap(position={"x": 3, "y": 3})
        expect(seen.page.locator("#rows tbody :checked")).to_have_count(1)
    context.close()
