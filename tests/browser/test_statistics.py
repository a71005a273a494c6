"""The statistics page in a browser: filters by clicking, the map by keyboard, events, and accessibility."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


@pytest.mark.parametrize("scripts", [True, False])
def test_labels_and_map_filter_the_whole_page(
    ana: Person, chrome: Browser, address: str, sample: None, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/statistics")
        clicks = page.locator(".tiles dd").first
        whole = clicks.inner_text()
        page.locator("label", has_text="Browsers").click()
        page.locator("#list-browsers ~ table a").first.click()
        page.wait_for_url("**browser=**")
        expect(page.locator(".active-filters")).to_contain_text("Browser:")
        assert clicks.inner_text() != whole
        country = page.locator(".world-map a").first
        country.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**country=**")
        expect(page.locator(".active-filters a")).to_have_count(3)
        if scripts:
            examine(page, "/dashboard/statistics")
        page.get_by_role("link", name="Clear filters").click()
        page.wait_for_url(re.compile(r"/statistics$"))
        assert clicks.inner_text() == whole
        page.locator("summary", has_text="View as table").or_(page.locator("summary", has_text="Show as table")).click()
        expect(page.locator(".chart-table table")).to_be_visible()
        page.set_viewport_size({"width": 1280, "height": 800})
        page.locator(".date-range summary").click()
        page.get_by_role("link", name="This year").click()
        page.wait_for_url("**period=year**")
        page.locator(".date-range summary").click()
        page.get_by_label("From").fill("2020-02-02")
        page.get_by_label("To", exact=True).fill("2020-02-01")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.get_by_label("From")).to_have_accessible_description(re.compile("must"))
        if scripts:
            examine(page, "/dashboard/statistics")


def test_row_filters_wherever_it_is_clicked(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/statistics")
        row = page.locator("#list-devices ~ table tr").first
        device = row.locator("bdi").inner_text()
        box = row.bounding_box()
        assert box
        row.scroll_into_view_if_needed()
        row.click(position={"x": box["width"] - 20, "y": box["height"] / 2})
        page.wait_for_url("**device=**")
        expect(page.locator(".active-filters")).to_contain_text(device)
        page.get_by_title("Filter", exact=True).click()
        form = page.locator(".filter-popover")
        form.locator("select[name=device]").select_option("")
        form.locator("summary").click()
        form.locator("select[name=browser]").select_option(index=1)
        form.get_by_role("button", name="Show").click()
        page.wait_for_url("**browser=**")
        expect(page.locator(".active-filters")).not_to_contain_text(device)


_RECORD_TEXTS = """
  window.drawn = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.drawn.push(text);
    return draw.call(this, text, ...place);
  };
"""
_SET_CLICKS = """() => {{
  const cells = document.querySelectorAll(".chart-table tbody tr td:nth-child(2)");
  for (const cell of cells) cell.textContent = "{clicks}";
}}"""


_FOUR_THOUSAND = {"en": "4K", "de": "4.000", "fr": "4\u00a0k", "pt": "4\u00a0mil", "pt-PT": "4\u00a0mil"}
_TEN_THOUSAND = {"en": "10K", "de": "10.000", "fr": "10\u00a0k", "es": "10\u00a0mil"}
"""The number on an axis, by language."""


@pytest.mark.parametrize(("clicks", "numbers"), [(6000, _FOUR_THOUSAND), (16000, _TEN_THOUSAND)])
def test_chart_has_the_numbers_the_font_and_the_colon_of_the_page(
    ana: Person, chrome: Browser, address: str, sample: None, clicks: int, numbers: dict[str, str]
) -> None:
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.add_init_script(
            _RECORD_TEXTS + f"addEventListener('readystatechange', {_SET_CLICKS.format(clicks=clicks)}, true);"
        )
        for language, text in numbers.items():
            page.context.add_cookies([{"name": "waypost_language", "value": language, "url": f"{address}/dashboard"}])
            page.goto(f"{address}/dashboard/statistics")
            expect(page.locator("[data-chart] canvas")).to_be_visible()
            page.wait_for_function("text => window.drawn.includes(text)", arg=text)
            assert "10k" not in page.evaluate("window.drawn"), language
            if language == "fr":
                page.locator(".chart .u-over").hover()
                tooltip = page.locator(".chart .tooltip")
                expect(tooltip).to_contain_text("Clics : ")
                font = "element => getComputedStyle(element).fontFamily"
                assert tooltip.evaluate(font) == page.locator("body").evaluate(font)


@pytest.mark.parametrize(("row", "is_drawn"), [("last", False), ("second to last", True)])
def test_line_of_the_period_before_ends_with_the_last_complete_day(
    ana: Person, chrome: Browser, address: str, sample: None, row: str, *, is_drawn: bool
) -> None:
    position = 1 if row == "last" else 2
    change = (
        f"document.querySelector('.chart-table tbody tr:nth-last-child({position}) td:last-child')"
        "?.replaceChildren('4000')"
    )
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.add_init_script(_RECORD_TEXTS + f"addEventListener('readystatechange', () => {change}, true);")
        page.goto(f"{address}/dashboard/statistics?period=7")
        expect(page.locator("[data-chart] canvas")).to_be_visible()
        page.wait_for_function("window.drawn.includes('0')")
        assert ("4K" in page.evaluate("window.drawn")) == is_drawn
        expect(page.locator(".chart-legend .unfinished")).to_be_visible()


def test_bar_of_a_row_is_as_high_as_the_row(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/statistics")
        heights = page.locator(".breakdown meter").first.evaluate(
            "meter => [meter.closest('tr').clientHeight, "
            "parseFloat(getComputedStyle(meter, '::-webkit-meter-bar').height)]"
        )
        assert heights[0] - 4 <= heights[1] <= heights[0]


def test_events_and_table_of_the_chart_are_one_row(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    ana.update("url", 1, title="Another title")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links/1/stats")
        folds = page.locator(".chart-table summary")
        expect(folds).to_have_count(2)
        assert len({box["y"] for each in folds.all() if (box := each.bounding_box())}) == 1
        folds.last.click()
        table, card = (page.locator(each).bounding_box() for each in (".chart-table .scroll", ".chart"))
        assert table is not None
        assert card is not None
        assert table["width"] == card["width"], "the table has the whole width"


def test_tools_and_periods_are_a_row_each_on_phones(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for path in ("/dashboard/statistics", "/dashboard/campaigns/1/stats"):
            page.goto(f"{address}{path}")
            for row in (".tools", ".date-range"):
                tops = page.locator(row).evaluate(
                    "row => [...row.querySelectorAll(':scope > :not(.segments) > :is(summary, button), a')]"
                    ".filter(tool => tool.checkVisibility()).map(tool => tool.getBoundingClientRect())"
                    ".map(box => Math.round(box.top + box.height / 2))"
                )
                assert max(tops) - min(tops) <= 2, tops
            for name in ("Last month", "7 days"):
                page.locator(".segments").get_by_role("link", name=name).click()
                current = page.locator(".segments [aria-current]")
                expect(current).to_have_text(name)
                expect(current).to_be_in_viewport(ratio=0.99)
            page.get_by_title("Filter", exact=True).click()
            page.get_by_text("More filters").click()
            page.locator(".popover select[name=domain]").select_option(index=1)
            page.get_by_role("button", name="Show", exact=True).locator("visible=true").click()
            page.wait_for_url("**domain=**")
            assert "=&" not in page.url, "no empty values"
            assert "period=7" in page.url
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            examine(page, path)


def test_period_outside_the_row_is_marked_at_its_menu_and_in_it(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{address}/dashboard/statistics?period=last-month")
        menu = page.locator(".date-range summary")
        expect(menu).to_have_text(re.compile("Last month"))
        expect(menu).to_have_class(re.compile(r"\bchosen\b"))
        menu.click()
        expect(page.locator(".presets [aria-current]")).to_have_text("Last month")
        boxes = [page.locator(f".date-range .popover > {part}").bounding_box() for part in (".zone", ".zone + label")]
        assert boxes[0]
        assert boxes[1]
        assert boxes[1]["y"] - (boxes[0]["y"] + boxes[0]["height"]) >= 8, "a note keeps its distance to the next label"
        page.locator(".presets").get_by_role("link", name="7 days").click()
        page.wait_for_url("**period=7**")
        expect(menu).not_to_have_class(re.compile(r"\bchosen\b"))
        expect(page.locator(".segments [aria-current]:visible")).to_have_text("7 days")


def test_scale_of_the_map_and_titles_of_links_are_one_line_on_phones(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 360, "height": 844})
        page.goto(f"{address}/dashboard/campaigns/1/stats")
        tops = page.locator(".legend li").evaluate_all("items => items.map(item => item.getBoundingClientRect().top)")
        assert len(tops) == 5
        assert len(set(tops)) == 1, tops
        for row in page.locator(".by-link tbody tr").all():
            title, clicks = row.locator("th").bounding_box(), row.locator(".num").first.bounding_box()
            assert title
            assert clicks
            assert title["height"] < 40, "one line"
            assert abs((title["y"] + title["height"] / 2) - (clicks["y"] + clicks["height"] / 2)) <= 4
            assert title["width"] >= 130
