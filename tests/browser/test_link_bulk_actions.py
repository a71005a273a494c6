"""Bulk actions of the list of links in a real browser, with and without scripts: place, questions and undo."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.layout import check_layout

pytestmark = ON_SQLITE


def _fill(ana: Person, count: int) -> list[int]:
    return [
        ana.add("url", url=f"https://shop.example/{n}", title=f"Link {n}", custom=f"name-{n}") for n in range(count)
    ]


def _open_menu(page: Page, row: Locator) -> None:
    row.get_by_role("checkbox").check()
    page.locator("[popovertarget=bulk-menu]").click()


def _tagged(ana: Person) -> list[str]:
    """Return the destinations with UTM parameters."""
    return [item["longurl"] for item in ana.get("/urls", limit=50)["data"]["urls"] if "utm_" in item["longurl"]]


def _apply_template_and_undo(ana: Person, page: Page) -> None:
    place = page.url
    page.get_by_role("group", name="Apply UTM template").get_by_role("button", name="Newsletter").click()
    toast = page.locator(".toast", has_text="The link was updated.")
    expect(toast).to_be_visible()
    assert page.url == place
    assert len(_tagged(ana)) == 1
    toast.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="The link is as it was.")).to_be_visible()
    assert page.url == place
    assert not _tagged(ana)


def test_actions_of_menu_return_to_place_and_are_undone_in_toast(ana: Person, chrome: Browser, address: str) -> None:
    ids = _fill(ana, 40)
    ana.add("utm", name="Newsletter", utm_source="news")
    ana.add("domain", domain="https://go.brand.example")
    ana.add("channel", name="Print")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 600})
        page.goto(f"{address}/dashboard/links?q=link&page=2")
        place, row = page.url, page.locator("tbody tr").nth(12)
        row.get_by_role("checkbox").check()
        top = page.evaluate("scrollY")
        assert top > 100
        page.locator("[popovertarget=bulk-menu]").click()
        check_layout(page, "menu of bulk actions")
        names = page.locator(".menu-group button:visible")
        assert names.count() == 4
        assert names.evaluate_all("all => all.every((name) => name.scrollWidth <= name.clientWidth)")
        page.set_viewport_size({"width": 1280, "height": 600})
        _apply_template_and_undo(ana, page)
        _open_menu(page, row)
        page.get_by_role("button", name="Set expiry").click()
        page.get_by_label("Expires").fill("2098-12-31T23:59")
        examine(page, "question for an expiry")
        page.set_viewport_size({"width": 1280, "height": 600})
        page.get_by_role("dialog").get_by_role("button", name="Set expiry").click()
        expect(row.locator(".tag", has_text="Until")).to_be_visible()
        assert page.url == place
        _open_menu(page, row)
        with page.expect_download() as download:
            page.get_by_role("button", name="Export as CSV").click()
        assert len(download.value.path().read_text().splitlines()) == 2
        _open_menu(page, row)
        page.get_by_role("button", name="Disable").click()
        expect(row.locator(".tag", has_text="Disabled")).to_be_visible()
    assert len(ids) == 40


@pytest.mark.parametrize("scripts", [True, False])
def test_domain_of_all_matching_links_is_changed_except_conflicts(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    ids = _fill(ana, 30)
    ana.add("domain", domain="https://go.brand.example")
    ana.add("url", url="https://shop.example/", title="Taken", custom="name-3", domain="https://go.brand.example")
    with window(chrome, scripts=scripts) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links?q=link")
        page.locator("tbody tr").first.get_by_role("checkbox").check()
        page.get_by_label("Select all 30 that match").check()
        page.locator("[popovertarget=bulk-menu]").click()
        page.get_by_role("group", name="Change domain").get_by_role("button", name="go.brand.example").click()
        expect(page.get_by_role("heading", name="Move 30 links to another domain?")).to_be_visible()
        page.get_by_role("button", name="Move").click()
        message = page.get_by_role("status").filter(has_text="29 links were updated.")
        expect(message).to_contain_text("One link stays as it was: name-3 (That alias is taken.")
        assert page.url.endswith("?q=link")
        assert {ana.details("url", link)["domain"] for link in ids} == {
            "https://go.brand.example",
            ana.details("url", ids[3])["domain"],
        }
        page.locator("main > .alert").get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status").filter(has_text="29 links are as they were.")).to_be_visible()
    assert len({ana.details("url", link)["domain"] for link in ids}) == 1


def test_selected_links_get_a_campaign_and_a_channel_that_are_created_in_place(
    ana: Person, chrome: Browser, address: str
) -> None:
    ids = _fill(ana, 3)
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links?q=name")
        dialog = page.get_by_role("dialog")
        for menu, kind, name in (("Move to campaign", "campaign", "Autumn"), ("Add to channel", "channel", "Print")):
            for row in (0, 2):
                page.locator("tbody tr").nth(row).get_by_role("checkbox").check()
            page.locator("summary", has_text=menu).click()
            page.get_by_role("link", name=f"New {kind}", exact=True).click()
            dialog.get_by_role("textbox", name="Name", exact=True).fill(name)
            dialog.get_by_role("button", name=f"Create {kind}").click()
            expect(page.get_by_text("2 links were updated.")).to_be_visible()
            expect(page.locator("tbody .chip", has_text=name)).to_have_count(2)
            page.locator("tbody tr").nth(1).get_by_role("checkbox").check()
            page.locator("summary", has_text=menu).click()
            expect(page.locator(".popover").get_by_role("button", name=name, exact=True).first).to_be_visible()
            page.goto(f"{address}/dashboard/links?q=name")
    assert [bool(ana.details("url", link)["campaign"]) for link in ids] == [True, False, True]
    assert [len(ana.details("url", link)["channel"]) for link in ids] == [1, 0, 1]


def test_bar_of_phones_is_one_row_with_a_sheet_of_further_actions(ana: Person, chrome: Browser, address: str) -> None:
    _fill(ana, 30)
    ana.add("channel", name="Print")
    phone = chrome.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    with window(chrome, context=phone) as tab:
        page = tab.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links")
        page.locator("tbody tr").first.get_by_role("checkbox").check()
        bar = page.locator(".bulk-actions")
        box = bar.bounding_box()
        assert box is not None
        assert box["height"] < 64
        bar.get_by_label("Select all on this page").check()
        expect(bar.get_by_role("status")).to_have_text("25 selected")
        page.locator("[popovertarget=bulk-sheet]").click()
        bar.get_by_label("Select all 30 that match").check()
        expect(bar.get_by_role("status")).to_have_text("30 selected")
        bar.get_by_role("button", name="Disable").click()
        page.get_by_role("dialog").get_by_role("button", name="Disable").click()
        expect(page.get_by_text("30 links were updated.")).to_be_visible()
