"""Pages on phones: one main action, and previews that stay visible while the form is filled in."""

import re
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser_login import signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.layout import layout_faults
from tests.support.trash import move
from tests.support.visits import new_link
from waypost.core.languages import LANGUAGES, SOURCE_LANGUAGE
from waypost.db.database import Database
from waypost.db.schema import plans

pytestmark = ON_SQLITE
_TRANSLATIONS = [language for language in LANGUAGES if language != SOURCE_LANGUAGE]
_PRIMARY = "a.button:not(.secondary, .plain), header button:not(.secondary, .plain)"

# The labels that do not start next to their swatch.
_WRAPPED = """(labels) => labels.filter((label) => {
  const [line] = [...label.childNodes].map((node) => {
    const range = document.createRange()
    range.selectNodeContents(node)
    return range.getClientRects()[0]
  })
  return line.top > label.getBoundingClientRect().top + line.height / 2
}).map((label) => `${label.textContent} is below its swatch`)"""

# The titles with a word that is on two lines.
_BROKEN = r"""(titles) => titles.filter((title) => {
  const text = title.firstChild
  return [...text.data.matchAll(/\S+/g)].some((word) => {
    const range = document.createRange()
    range.setStart(text, word.index)
    range.setEnd(text, word.index + word[0].length)
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1
  })
}).map((title) => `${title.textContent} is broken`)"""

# The visible buttons and links that show nothing but an icon, and have no title that names it.
_UNNAMED = """() => [...document.querySelectorAll(":is(a, button, summary):has(svg)")].filter((element) => {
  if (element.title || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    if (!texts.currentNode.data.trim() || texts.currentNode.parentElement.closest("svg, .visually-hidden")) continue;
    range.selectNodeContents(texts.currentNode);
    if ([...range.getClientRects()].some(({ width }) => width > 1)) return false;
  }
  return !element.closest(".world-map");
}).map((element) => element.outerHTML.slice(0, 120))"""

# The visible elements that stay in view while the page scrolls.
_STICKING = """[...document.body.querySelectorAll("*")].filter((element) =>
  ["fixed", "sticky"].includes(getComputedStyle(element).position) && element.checkVisibility() &&
  element.getBoundingClientRect().height > 1
).map((element) => element.className || element.localName)"""


@pytest.mark.parametrize("width", [390, 1280])
def test_every_icon_without_a_text_has_a_title(
    ana: Person, chrome: Browser, address: str, sample: None, width: int
) -> None:
    link = new_link(ana, "titled")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": width, "height": 844})
        for path in (
            *("", "/links", "/links/new", f"/links/{link}", "/statistics", "/visits", "/qr/new", "/bios/new", "/files"),
            *("/campaigns", "/channels", "/utm", "/domains", "/account", "/account/keys", "/trash", "/admin/health"),
        ):
            page.goto(f"{address}/dashboard{path}")
            assert page.evaluate(_UNNAMED) == [], path


def test_filter_of_statistics_is_a_sheet_at_the_bottom_of_the_screen(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard/statistics")
        page.get_by_title("Filter", exact=True).click()
        box = page.locator(".filter-popover").bounding_box()
        assert box is not None
        assert (box["x"], box["width"]) == (0, 390)
        assert round(box["y"] + box["height"]) == 844
        page.locator(".filter-popover").get_by_role("button", name="Show").click(trial=True)


def test_period_of_statistics_is_a_sheet_with_a_title_and_large_targets(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 360, "height": 640})
        page.goto(f"{address}/dashboard/statistics")
        page.locator(".date-range summary").click()
        sheet = page.locator(".date-range .popover")
        expect(sheet.locator(".sheet-title")).to_have_text("Period")
        expect(sheet.locator(".sheet-title")).to_be_in_viewport(ratio=1)
        for control in (*sheet.locator(".presets a").all(), sheet.get_by_role("button", name="Show")):
            box = control.bounding_box()
            assert box is not None
            assert box["height"] >= 44
        fields = [sheet.get_by_label(name).bounding_box() for name in ("Interval", "Compare with")]
        assert len({box["y"] for box in fields if box}) == 1
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(sheet.locator(".sheet-title")).to_be_hidden()


def test_menu_of_phones_dims_the_page_and_closes_outside_of_it(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard/campaigns")
        page.locator(".bottom-nav > details > summary").click()
        expect(page.locator(".nav-sheet a[aria-current]")).to_have_text("Campaigns")
        covered = "element => document.elementFromPoint(200, 20).closest('.bottom-nav') !== null"
        assert page.locator("body").evaluate(covered), "the backdrop"
        page.mouse.click(200, 20)
        expect(page.locator(".nav-sheet")).to_be_hidden()
        assert not page.locator("body").evaluate(covered)


def test_domain_of_an_alias_has_a_line_of_its_own_on_narrow_phones(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("domain", domain="https://a-domain-of-its-own.example.com")
    with signed_in_page(chrome, address) as page:
        for width, is_apart in ((390, True), (1280, False)):
            page.set_viewport_size({"width": width, "height": 844})
            page.goto(f"{address}/dashboard/links/new")
            domain, alias = (page.locator(f"main .address > {each}").bounding_box() for each in ("select", "input"))
            assert domain is not None
            assert alias is not None
            assert (alias["y"] >= domain["y"] + domain["height"]) == is_apart


def test_row_of_periods_shows_the_current_one(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        page.goto(f"{address}/dashboard/statistics?period=90")
        expect(page.locator(".segments [aria-current]")).to_have_text("90 days")
        expect(page.locator(".segments [aria-current]")).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("width", [360, 390])
def test_fields_of_the_quick_form_end_inside_of_its_card(
    ana: Person, chrome: Browser, address: str, width: int
) -> None:
    ana.add("utm", name="A template with a long name for the newsletter", utm_source="newsletter")
    ana.add("domain", domain="https://a-domain-with-a-long-name.example.com")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(f"{address}/dashboard")
        page.locator(".quick-create summary").click()
        card, fields = page.locator(".quick-create"), page.locator(".quick-create details :is(input, select)")
        expect(fields).to_have_count(3)
        box = card.bounding_box()
        assert box is not None
        for right in fields.evaluate_all("fields => fields.map((field) => field.getBoundingClientRect().right)"):
            assert right < box["x"] + box["width"]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_page_has_one_main_action(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for path in ("/files", "/qr", "/bios", "/campaigns", "/channels", "/splash"):
            page.goto(f"{address}/dashboard{path}")
            header = page.locator(".topbar").locator(_PRIMARY)
            expect(page.locator(".page-header").locator(_PRIMARY), path).to_have_count(1)
            expect(header, path).to_have_count(0)


def _set_language(page: Page, address: str, language: str) -> None:
    page.context.add_cookies([{"name": "waypost_language", "value": language, "url": f"{address}/dashboard"}])


def test_tabs_of_administration_are_one_row_that_shows_the_current_one(
    ana: Person, chrome: Browser, address: str
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for language in ("en", "de"):
            _set_language(page, address, language)
            page.goto(f"{address}/dashboard/admin/health")
            expect(page.locator("html")).to_have_attribute("lang", language)
            boxes = [tab.bounding_box() for tab in page.locator(".tabs a").all()]
            assert len({box["y"] for box in boxes if box}) == 1, language
            last = boxes[-1]
            assert last is not None
            assert 0 <= last["x"] <= 390 - last["width"], language
            assert page.evaluate("document.documentElement.scrollWidth") == 390, language


def test_long_words_fit_the_smallest_screen(
    ana: Person, chrome: Browser, address: str, database: Database, sample: None
) -> None:
    ana.write(lambda tx: tx.execute(plans.update().values(name="Business plan 2027 (unlimited)")))
    move(database, ana, "url", new_link(ana, "spring", title="Spring"))
    faults = {}
    with signed_in_page(chrome, address) as page:
        for language, path in product(_TRANSLATIONS, ("", "/account", "/trash", "/admin/health")):
            _set_language(page, address, language)
            page.goto(f"{address}/dashboard{path}")
            expect(page.locator("html")).to_have_attribute("lang", language)
            for width in (320, 360, 390):
                page.set_viewport_size({"width": width, "height": 800})
                marks = page.locator(".tiles dt").evaluate_all(_WRAPPED)
                titles = page.locator(".list strong").evaluate_all(_BROKEN)
                faults[language, path, width] = [*layout_faults(page), *marks, *titles]
    assert {place: page_faults for place, page_faults in faults.items() if page_faults} == {}


def test_overview_of_a_phone_has_lists_of_one_line_and_three_screens(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard")
        rows = page.locator(".list.short > li")
        assert max(rows.evaluate_all("rows => rows.map((row) => row.offsetHeight)")) <= 48
        expect(page.locator(".list.short time").first).to_have_text(re.compile("ago|now"))
        assert page.evaluate("document.documentElement.scrollHeight") <= 2300
        page.set_viewport_size({"width": 1280, "height": 800})
        cards = page.locator(".grid.lists > *")
        tops = cards.evaluate_all("cards => cards.map((card) => card.getBoundingClientRect().top)")
        assert (len(tops), len(set(tops))) == (3, 1), "the last row"


def test_ages_of_visits_are_whole(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        for language, width in product(("de", "es", "fr", "pt-PT", "ar"), (390, 1280)):
            page.set_viewport_size({"width": width, "height": 844})
            _set_language(page, address, language)
            for age in (timedelta(minutes=58), timedelta(days=28, hours=1)):
                page.clock.set_fixed_time(datetime.now(UTC) + age)
                page.goto(f"{address}/dashboard/visits")
                ages = page.locator(".visits .age time")
                expect(ages.first).not_to_contain_text(":")
                expect(page.locator("html")).to_have_attribute("lang", language)
                clipped = ages.evaluate_all("ages => ages.filter((age) => age.scrollWidth > age.clientWidth).length")
                assert clipped == 0, (language, width, age)


def test_preview_stays_above_the_form(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        for path in ("/splash/new", "/overlays/new?type=message"):
            page.goto(f"{address}/dashboard{path}")
            preview = page.locator(".preview-pane")
            page.locator("form.editor .actions").last.scroll_into_view_if_needed()
            box = preview.bounding_box()
            assert box is not None
            assert 0 <= box["y"] < 20, path
            assert box["height"] < 844 * 0.4, path
            page.locator("#name").focus()
            field = page.locator("#name").bounding_box()
            assert field is not None
            assert field["y"] >= box["y"] + box["height"] - 2 or field["y"] < 0, path


def test_trash_shows_the_end_of_an_item_and_restores_it(ana: Person, chrome: Browser, address: str) -> None:
    new_link(ana, "spring", title="Spring")
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard/links")
        page.locator("tbody tr").get_by_role("link", name="Spring", exact=True).click()
        page.get_by_role("link", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        page.goto(f"{address}/dashboard/trash")
        row = page.locator("tbody tr")
        expect(row.get_by_text("Kept until")).to_be_in_viewport()
        expect(row.get_by_title("Delete forever")).to_be_visible()
        row.get_by_title("Restore").click()
        expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()


def test_nothing_sticks_to_a_low_window(ana: Person, chrome: Browser, address: str) -> None:
    ana.add("bio", name="A page")
    new_link(ana, "low", url="https://example.com/")
    with signed_in_page(chrome, address) as page:
        for path in ("/links/new", "/qr/new", "/bios/1", "/splash/new", "/links"):
            page.set_viewport_size({"width": 640, "height": 400})
            page.goto(f"{address}/dashboard{path}")
            assert page.evaluate(_STICKING) == [], path
            page.set_viewport_size({"width": 640, "height": 800})
            assert page.evaluate(_STICKING), path


_INVALID_FIELDS = (("/campaigns/new", "slug"), ("/links/new", "custom"), ("/links/new", "url"), ("/splash/new", "link"))


def test_field_with_error_has_a_border_of_the_color_of_its_message(ana: Person, chrome: Browser, address: str) -> None:
    for path, name in _INVALID_FIELDS:
        _check_border(chrome, address, path, name)


def _check_border(chrome: Browser, address: str, path: str, name: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard{path}")
        field = page.locator(f"main [name='{name}']")
        field.fill("no such thing!")
        form = page.locator("main form:has(button:not([type=button])):last-of-type")
        form.evaluate("(form) => { form.noValidate = true; form.requestSubmit(); }")
        invalid = page.locator(f"main [name='{name}'][aria-invalid='true']")
        invalid.wait_for()
        page.evaluate("document.activeElement.blur()")
        message = page.locator(".field-error").first.evaluate("(element) => getComputedStyle(element).color")
        border = "(element) => getComputedStyle(element).borderBottomColor"
        assert invalid.evaluate(border) == message, (path, name)
