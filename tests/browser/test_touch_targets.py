"""Touch targets on phones: every page has targets of at least 44 px, and still fits the screen."""

from collections.abc import Callable, Iterable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.form_pages import (
    FormPage,
    form_pages,
    public_form_pages,
    signed_out_paths,
    submit_in_browser,
)
from tests.support.layout import layout_faults
from tests.support.public_pages import ROOT_PAGE, public_pages
from tests.support.touch import small_targets, tall_rows
from tests.support.visits import CHROME

pytestmark = ON_SQLITE
# How far the middle of each button's text is from that of the button, in px.
_OFF_CENTER = """buttons => buttons.map(button => {
  const range = document.createRange();
  range.selectNodeContents(button);
  const text = range.getBoundingClientRect(), box = button.getBoundingClientRect();
  return Math.abs(text.left + text.right - box.left - box.right) / 2;
})"""
_OPENED = "document.querySelectorAll('main details').forEach(details => { details.open = true })"


@pytest.fixture
def phone(chrome: Browser) -> Iterator[Page]:
    """A page of a phone, whose pointer is a finger."""
    context = chrome.new_context(
        user_agent=CHROME, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    with window(chrome, context=context, stays=True) as seen:
        yield seen.page
    context.close()


def _faults(page: Page, paths: Iterable[str], address: str, forms: Iterable[FormPage] = ()) -> dict[str, list[str]]:
    """Return the targets that are too small and the texts outside their boxes, by page."""

    def visit(path: str) -> Callable[[], object]:
        return lambda: page.goto(f"{address}{path}")

    def submit(form_page: FormPage) -> Callable[[], object]:
        return lambda: submit_in_browser(page, address, form_page)

    faults = {}
    steps = {**{path: visit(path) for path in paths}, **{form.name: submit(form) for form in forms}}
    for name, step in steps.items():
        step()
        small = small_targets(page)
        page.evaluate(_OPENED)
        faults[name] = [*small, *small_targets(page), *layout_faults(page)]
    return {name: page_faults for name, page_faults in faults.items() if page_faults}


def test_targets_of_the_dashboard_are_large_enough(ana: Person, phone: Page, address: str, sample: None) -> None:
    public_pages(ana)
    posted = form_pages(ana)
    assert _faults(phone, signed_out_paths(ana), address) == {}
    sign_in(phone, address)
    assert _faults(phone, dashboard_paths(), address, posted) == {}


def test_targets_for_visitors_are_large_enough(ana: Person, phone: Page, public_address: str) -> None:
    paths = [f"/{page.path}" for page in (*public_pages(ana), ROOT_PAGE)]
    assert _faults(phone, paths, public_address, public_form_pages(ana, "before-poll")) == {}


def test_rows_of_lists_are_low(ana: Person, phone: Page, address: str, sample: None) -> None:
    sign_in(phone, address)
    tall = {}
    for path in ("links", "visits", "files", "campaigns", "bios", "overlays", "splash", "pixels", "utm"):
        phone.goto(f"{address}/dashboard/{path}")
        assert phone.evaluate("matchMedia('(pointer: coarse)').matches")
        tall[path] = tall_rows(phone, most=145 if path == "visits" else 105, most_with_tags=165)
    assert {path: heights for path, heights in tall.items() if heights} == {}


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
