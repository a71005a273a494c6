"""Widths of columns: an alias is never torn, and the destination gets the width that is left."""

from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser_login import signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_LINES = """
  (addresses) => addresses.map((address) => {
    const texts = document.createTreeWalker(address, NodeFilter.SHOW_TEXT);
    const range = document.createRange(), tops = new Set();
    while (texts.nextNode()) {
      range.selectNodeContents(texts.currentNode);
      for (const rect of range.getClientRects()) tops.add(Math.round(rect.top));
    }
    return tops.size;
  })
"""

_WIDTH_OF_HOST, _WIDTH_OF_TITLE = 120, 110
"""Pixels that a row of links has at least for the destination and for a title of many words."""
_MIDDLES = """
  (all) => all.map((one) => one.getBoundingClientRect()).map((box) => (box.top + box.bottom) / 2)
"""


def test_address_is_in_one_line_and_destination_gets_the_width_that_is_left(
    ana: Person, chrome: Browser, address: str
) -> None:
    campaign = ana.add("campaign", name="Autumn")
    for alias in ("autumn-bowls", "spring-cups"):
        ana.call("POST", "/url/add", {"url": f"https://shop.example/{alias}/{'x' * 200}", "custom": alias})
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        for path in ("links", f"campaigns/{campaign}/add"):
            page.goto(f"{address}/dashboard/{path}")
            addresses = page.locator(".short-url > :is(a, span)")
            assert addresses.evaluate_all(_LINES) == [1, 1], path
        link, destination = (page.locator(f"thead .{name}").bounding_box() for name in ("address", "truncated"))
        assert link is not None
        assert destination is not None
        assert destination["width"] > link["width"]
        ana.call("POST", "/url/add", {"url": "https://shop.example/", "custom": "spring-collection-2026-catalog"})
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(f"{address}/dashboard/links")
        longest = page.locator(".short-url > a", has_text="catalog")
        assert longest.evaluate_all(_LINES) == [1]
        assert longest.locator("span").last.evaluate("alias => alias.scrollWidth <= alias.clientWidth")


def test_row_of_links_is_one_line_whose_actions_appear_on_hover_and_focus(
    ana: Person, chrome: Browser, address: str
) -> None:
    campaign = ana.add("campaign", name="Campaign of autumn with a long name")
    channels = [ana.add("channel", name=f"Channel {n} with a long name") for n in range(4)]
    ana.add("url", url="https://shop.example/", custom="short", title="A title of many")
    fields = {"title": "A title of many words " * 4, "password": "x", "campaign": campaign}
    link = ana.add("url", url=f"https://shop.example/{'x' * 200}", custom="autumn-bowls", **fields)
    ana.add("url", url="https://shop.example/", custom=f"alias-{'x' * 40}", title="A title of many words " * 4)
    for channel in channels:
        ana.post(f"/channel/{channel}/assign/links/{link}")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{address}/dashboard/links")
        long, row, short = page.locator("#rows tbody tr").all()
        box = row.bounding_box()
        assert box is not None
        assert box["height"] <= 56
        parts = ":is(.name, .short-url, .destination > span, .tags, .count, time):visible"
        for one in (row, short):
            middles = one.locator(parts).evaluate_all(_MIDDLES)
            assert len(middles) >= 5
            assert max(middles) - min(middles) <= 4
            alias = one.locator(".short-url > a > span").last
            assert alias.evaluate("alias => alias.scrollWidth <= alias.clientWidth")
        width = row.locator(".name").bounding_box()
        assert width is not None
        assert 140 < width["width"] <= 260
        for one in (long, row, short):
            assert one.locator(".destination").evaluate("box => box.clientWidth") >= _WIDTH_OF_HOST
        for one in (long, row):
            assert one.locator(".name").evaluate("box => box.clientWidth") >= _WIDTH_OF_TITLE
        tag, more = row.locator(".tags > :visible").all()
        assert tag.inner_text() == "Password"
        assert more.inner_text() == "+5"
        _check_actions(page, row)


def _check_actions(page: Page, row: Locator) -> None:
    statistics, sheet = row.get_by_title("Statistics").last, row.locator(".row-sheet")
    page.mouse.move(0, 0)
    expect(sheet).to_have_css("opacity", "0")
    row.hover()
    expect(sheet).to_have_css("opacity", "1")
    page.mouse.move(0, 0)
    expect(sheet).to_have_css("opacity", "0")
    statistics.focus()
    expect(sheet).to_have_css("opacity", "1")
    icons = sheet.locator(":is(a, button):visible").evaluate_all("all => all.map(one => one.title)")
    assert icons == ["QR code", "Statistics", "Edit"]
    opener = row.get_by_role("button", name="Actions for")
    opener.click()
    actions = sheet.locator(":is(a, button):visible").evaluate_all("all => all.map(one => one.title)")
    assert actions == ["Copy", "QR code", "Duplicate", "Statistics", "Edit", "Delete"]
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    expect(sheet.get_by_title("Delete")).to_be_hidden()


def test_ages_of_events_end_in_one_column_with_and_without_a_clock(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("url", url="https://shop.example/", custom="spring")
    with signed_in_page(chrome, address) as page:  # which is an event without a clock
        page.goto(f"{address}/dashboard/audit")
        rows = page.locator(".audit > li")
        assert 0 < rows.filter(has=page.locator(".icon-button")).count() < rows.count()
        ends = page.locator(".audit .age").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().right)")
        assert max(ends) - min(ends) < 1


def test_history_is_next_to_the_way_back_on_phones(ana: Person, chrome: Browser, address: str) -> None:
    link = ana.add("url", url="https://shop.example/", custom="spring")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard/links/{link}")
        back, history = page.locator(".back-link").evaluate_all(_MIDDLES)
        assert abs(back - history) < 2
        box = page.locator(".history-link").bounding_box()
        assert box is not None
        assert 300 < box["x"] + box["width"] <= 390


def test_empty_list_has_one_button_for_a_new_item(chrome: Browser, address: str, ana: Person) -> None:
    with signed_in_page(chrome, address) as page:
        for path in ("webhooks", "utm", "splash"):
            page.goto(f"{address}/dashboard/{path}")
            expect(page.locator("main a.button:not(.secondary):visible"), path).to_have_count(1)
