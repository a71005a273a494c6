"""Rows, sheets, buttons and choices on a phone. The targets of all pages are checked in `test_pages.py`."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from tests.support.touch import controls_on_each_other, tall_rows
from tests.support.visits import CHROME

pytestmark = ON_SQLITE
# How far the middle of each button's text is from that of the button, in px.
_OFF_CENTER = """buttons => buttons.map(button => {
  const range = document.createRange();
  range.selectNodeContents(button);
  const text = range.getBoundingClientRect(), box = button.getBoundingClientRect();
  return Math.abs(text.left + text.right - box.left - box.right) / 2;
})"""


# True if a finger that is 20 px above or below the middle of a fold hits it.
_IS_HIT_ABOVE_AND_BELOW = """fold => {
  const {left, top, bottom} = fold.getBoundingClientRect();
  return [-20, 20].every(distance =>
    document.elementFromPoint(left + 12, (top + bottom) / 2 + distance)?.closest("summary") === fold);
}"""


@pytest.fixture
def phone(chrome: Browser) -> Iterator[Page]:
    """A page of a phone, whose pointer is a finger."""
    context = chrome.new_context(
        user_agent=CHROME,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        service_workers="block",
    )
    with window(chrome, context=context, stays=True) as seen:
        yield seen.page
    context.close()


@pytest.fixture
def filled(ana: Person, sample: None) -> None:
    """Add links with long names, many tags and long aliases to the sample."""
    campaign = ana.add("campaign", name="Campaign of spring with a long name")
    channels = [ana.add("channel", name=f"Channel {n} with a long name") for n in range(5)]
    for n in range(6):
        alias, title = f"alias-of-a-link-{n:014}", f"Link {n} " * 20
        link = ana.add("url", url="https://target.example/", title=title, custom=alias, password="x", campaign=campaign)
        for channel in channels:
            ana.post(f"/channel/{channel}/assign/links/{link}")


def test_rows_of_lists_are_low(phone: Page, address: str, filled: None) -> None:
    sign_in(phone, address)
    tall = {}
    for path in ("links", "visits", "files", "campaigns", "bios", "overlays", "splash", "pixels", "utm", "shares"):
        phone.goto(f"{address}/dashboard/{path}")
        assert phone.evaluate("matchMedia('(pointer: coarse)').matches")
        tall[path] = tall_rows(phone, most=56 if path == "visits" else 96)
    assert {path: heights for path, heights in tall.items() if heights} == {}


def test_first_screen_has_six_links_with_their_tags_in_one_line(phone: Page, address: str, filled: None) -> None:
    sign_in(phone, address)
    phone.goto(f"{address}/dashboard/links")
    bottom = phone.locator(".bottom-nav").evaluate("bar => bar.getBoundingClientRect().top")
    rows = phone.locator("#rows tbody tr")
    bottoms = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().bottom)")
    assert len([one for one in bottoms if one <= bottom]) >= 6
    tags = rows.first.locator(".tags > :visible")
    expect(tags).to_have_count(3)
    expect(tags.last).to_have_text("+5")
    box = "(tag) => tag.getBoundingClientRect()"
    middles = tags.evaluate_all(f"tags => tags.map({box}).map(box => Math.round((box.top + box.bottom) / 2))")
    assert max(middles) - min(middles) <= 1
    alias = rows.first.locator(".short-url a > span").last
    assert alias.evaluate("alias => alias.scrollWidth > alias.clientWidth") is False


def test_actions_of_a_row_are_in_a_sheet(phone: Page, address: str, filled: None) -> None:
    sign_in(phone, address)
    phone.goto(f"{address}/dashboard/links")
    row = phone.locator("#rows tbody tr").first
    opener = row.get_by_role("button", name="Actions for")
    sheet = row.locator(".row-sheet")
    expect(sheet).to_be_hidden()
    opener.focus()
    phone.keyboard.press("Enter")
    expect(sheet).to_be_visible()
    titles = sheet.locator(":is(a, button):visible").evaluate_all("all => all.map(one => one.title)")
    assert titles == ["Copy", "Share", "QR code", "Duplicate", "Statistics", "Edit", "Delete"]
    phone.keyboard.press("Tab")
    expect(sheet.get_by_role("button").first).to_be_focused()
    phone.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(opener).to_be_focused()
    opener.tap()
    sheet.locator("[data-copy]").tap()
    expect(phone.locator(".toast")).to_have_text("Copied")
    expect(sheet).to_be_hidden()
    opener.tap()
    sheet.get_by_role("link", name="Delete").tap()
    expect(phone.get_by_role("dialog").get_by_role("heading", name="Delete")).to_be_visible()
    expect(sheet).to_be_hidden()


def test_palette_has_targets_for_fingers_and_a_button_that_closes_it(phone: Page, address: str, filled: None) -> None:
    sign_in(phone, address)
    phone.goto(f"{address}/dashboard/links")
    phone.locator("[data-palette]:visible").tap()
    palette = phone.get_by_role("dialog", name="Command palette")
    expect(palette.locator(".result").first).to_be_visible()
    assert controls_on_each_other(phone) == []
    close = palette.get_by_role("button", name="Close")
    box = close.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 24
    close.tap()
    expect(palette).to_be_hidden()


def test_filters_and_order_are_in_a_sheet_with_their_number(phone: Page, address: str, filled: None) -> None:
    sign_in(phone, address)
    phone.goto(f"{address}/dashboard/links")
    opener = phone.get_by_role("button", name="Filter · Sort")
    status = phone.get_by_label("Status")
    expect(status).to_be_hidden()
    opener.tap()
    assert controls_on_each_other(phone, within="#filter-sheet") == []
    status.select_option("With password")
    expect(phone.locator("#rows tbody tr")).to_have_count(6)
    phone.get_by_label("Sort by").select_option("Most clicks first")
    phone.wait_for_url("**status=password**order=click")
    phone.get_by_role("button", name="Done").tap()
    expect(status).to_be_hidden()
    expect(opener.locator("[data-filter-count]")).to_have_text("1")
    phone.reload()
    expect(opener.locator("[data-filter-count]")).to_have_text("1")
    opener.tap()
    expect(phone.get_by_label("Sort by")).to_have_value("click")


def test_order_of_the_sheet_follows_the_heads_of_columns(phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    phone.set_viewport_size({"width": 1280, "height": 800})
    phone.goto(f"{address}/dashboard/links")
    phone.get_by_role("link", name="Clicks", exact=True).click()
    expect(phone.locator("#rows")).to_have_attribute("data-order", "click")
    expect(phone.locator("#filters [name=order]")).to_have_value("click")


def test_statistics_of_a_phone_begin_with_the_number(phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    phone.goto(f"{address}/dashboard/statistics?period=90")
    assert phone.evaluate("document.documentElement.scrollHeight") <= 2600
    tools = phone.locator(".tools > *")
    boxes = tools.evaluate_all("all => all.map(one => one.getBoundingClientRect())")
    shown = [box for box in boxes if box["height"]]
    assert len(shown) > 2
    assert max(box["top"] for box in shown) < min(box["bottom"] for box in shown)
    assert phone.locator(".tiles dd").first.evaluate("number => number.getBoundingClientRect().bottom") < 240


def test_no_control_lies_on_another(phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    faults = {}
    paths = ("", "/links", "/links/1", "/bios/1", "/qr", "/statistics", "/visits", "/campaigns/1", "/trash", "/admin")
    for path in paths:
        phone.goto(f"{address}/dashboard{path}")
        faults[path] = controls_on_each_other(phone)
    assert {path: pairs for path, pairs in faults.items() if pairs} == {}


def test_folds_in_a_text_are_targets_that_take_the_height_of_a_line(phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    for path, fold in (("", ".quick-create > details"), ("/statistics", ".chart-table")):
        phone.goto(f"{address}/dashboard{path}")
        details = phone.locator(fold).last
        assert details.evaluate("details => details.offsetHeight") <= 36
        details.scroll_into_view_if_needed()
        assert details.locator("summary").evaluate(_IS_HIT_ABOVE_AND_BELOW)


def test_tabs_that_continue_fade_at_the_edge_and_show_the_chosen_one(phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    tabs = phone.locator("main .tabs")
    for path, shown, faded in (("admin/accounts", "left", "right"), ("admin/health", "right", "left")):
        phone.goto(f"{address}/dashboard/{path}")
        expect(tabs).to_have_css(f"--fade-{shown}", "0px")
        expect(tabs).not_to_have_css(f"--fade-{faded}", "0px")
        expect(tabs.locator("[aria-current]")).to_be_in_viewport(ratio=0.99)


def test_text_is_in_the_middle_of_its_button(phone: Page, public_address: str) -> None:
    for path in ("/no-such-link", "/report"):
        phone.goto(f"{public_address}{path}")
        distances = phone.locator("main :is(a, button):visible").evaluate_all(_OFF_CENTER)
        assert [distance for distance in distances if distance > 1] == [], path
        assert len(distances) > 0


def test_choices_of_a_report_are_one_a_line(phone: Page, public_address: str) -> None:
    phone.goto(f"{public_address}/report")
    tops = phone.locator(".choice").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len(tops) == len(set(tops)) > 2
