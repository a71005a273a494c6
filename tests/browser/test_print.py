"""Pages on paper: a report without menus and buttons, in which nothing lies on anything else."""

import re

import pypdfium2
import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser_login import signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE

_LEFT_OVER = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const style = getComputedStyle(element);
  const isShown = element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
  return isShown && (["fixed", "sticky"].includes(style.position) || element.matches("button, a.button, nav"));
}).map((element) => element.outerHTML.slice(0, 100))"""
_FITS = """element => {
  const outer = element.closest("main").getBoundingClientRect();
  const inner = element.getBoundingClientRect();
  return inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
}"""

_DRAWN = """canvas => new Promise(done =>
  requestAnimationFrame(() => setTimeout(() => done([canvas.width, canvas.height]))))"""


@pytest.mark.parametrize("width", [390, 1280])
def test_printed_statistics_have_no_menu_and_the_whole_chart(
    ana: Person, chrome: Browser, address: str, sample: None, width: int
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{address}/dashboard/statistics")
        expect(page.locator(".chart canvas")).to_be_visible()
        drawn = page.locator(".chart canvas").evaluate(_DRAWN)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 690, "height": 980})  # A4 at 96 pixels an inch, without margins
        assert page.evaluate(_LEFT_OVER) == []
        assert page.locator(".chart canvas").evaluate(_DRAWN) == drawn
        assert page.locator(".chart canvas").evaluate(_FITS)
        expect(page.locator(".date-range summary")).to_be_visible()  # the period
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        report = pypdfium2.PdfDocument(page.pdf(format="A4", prefer_css_page_size=True))
        text = "".join(each.get_textpage().get_text_bounded() for each in report)
        count = len(report)
        report.close()
        assert "Browsers" in text
        assert "Operatingsystems" in re.sub(r"\s", "", text), "the lists of all tabs"
        assert "Shorten" not in text
        assert "waypost" in text, "the brand"
        assert count <= 2


def test_landscape_report_is_two_pages_with_brand_and_map_and_then_the_lists(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{address}/dashboard/statistics")
        expect(page.locator(".chart canvas")).to_be_visible()
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 1017, "height": 688})
        expect(page.locator(".filter-hint")).to_be_hidden()
        expect(page.locator(".date-range summary > .icon").last).to_be_hidden()
        assert page.locator("main").evaluate("main => main.getBoundingClientRect().left") == 0, "no empty column"
        report = pypdfium2.PdfDocument(page.pdf(format="A4", landscape=True, prefer_css_page_size=True))
        texts = [each.get_textpage().get_text_bounded() for each in report]
        report.close()
    assert texts[0].startswith("waypost")
    assert "Select a row" not in "".join(texts)
    assert "Clicks by weekday and hour" in texts[0], "map and week are on the page of the chart"
    assert len(texts) == 2


def test_printed_lists_follow_the_map_on_the_first_page(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/statistics")
        expect(page.locator(".chart canvas")).to_be_visible()
        page.emulate_media(media="print")
        report = pypdfium2.PdfDocument(page.pdf(format="A4", prefer_css_page_size=True))
        first = report[0].get_textpage().get_text_bounded()
        report.close()
    assert "Countries" in first
    assert "Most visited" in first


def test_printed_report_names_period_and_filters(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/campaigns/1/stats?device=Mobile&period=7")
        expect(page.locator(".chart canvas")).to_be_visible()
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 690, "height": 980})
        assert page.evaluate(_LEFT_OVER.replace("a.button", "a.button:not(.active-filters > *)")) == []
        expect(page.locator(".active-filters > .button")).to_have_text(re.compile("Device:"), use_inner_text=True)
        expect(page.locator(".date-range summary")).to_be_visible()
        expect(page.get_by_text("Remove filter")).to_be_hidden()
        report = pypdfium2.PdfDocument(page.pdf(format="A4", prefer_css_page_size=True))
        count = len(report)
        report.close()
        assert count <= 2


def test_no_part_of_a_printed_page_stays_in_place(ana: Person, chrome: Browser, address: str) -> None:
    new_link(ana, "printed")
    with signed_in_page(chrome, address) as page:
        for path in ("", "/links", "/links/1", "/qr/new", "/bios/new", "/visits", "/account", "/admin"):
            page.emulate_media(media="screen")
            page.set_viewport_size({"width": 1280, "height": 720})
            page.goto(f"{address}/dashboard{path}")
            page.wait_for_load_state()
            page.emulate_media(media="print")
            page.set_viewport_size({"width": 690, "height": 980})
            assert page.evaluate(_LEFT_OVER) == [], path


def test_printed_list_begins_on_the_page_of_its_heading(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    for number in range(30):
        new_link(ana, f"printed-{number}")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        page.emulate_media(media="print")
        for part in ("filters", "select-box", "row-actions"):
            assert not any(each.is_visible() for each in page.locator(f"main .{part}").all()), part
        report = pypdfium2.PdfDocument(page.pdf(format="A4", prefer_css_page_size=True))
        first = report[0].get_textpage().get_text_bounded()
        report.close()
    assert "printed-29" in first
