"""Every page on a phone: it loads without layout shift, has targets of at least 44 px, and fits the screen."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.crawl import crawl
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
from tests.support.layout_shift import is_frame, load, record_shifts, show_pictures_late, too_much_shift
from tests.support.public_pages import ROOT_PAGE, public_pages, shared_statistics
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
        user_agent=CHROME,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        service_workers="block",
    )
    with window(chrome, context=context, stays=True) as seen:
        yield seen.page
    context.close()


def _opened(page: Page) -> list[str]:
    """Open all parts of the page. Return the targets that are too small then."""
    page.evaluate(_OPENED)
    return small_targets(page)


_LOADED_CHECKS = {
    "small targets": small_targets,
    "small targets in opened parts": _opened,
    "layout": layout_faults,
}
_CHECKS = {"layout shift": too_much_shift, **_LOADED_CHECKS}


def _faults(page: Page, address: str, paths: Iterable[str], forms: Iterable[FormPage]) -> dict[str, Any]:
    """Return the faults of pages and of responses to forms, by page and property."""
    pages = {path: partial(load, page, f"{address}{path}") for path in paths}
    responses = {form.name: partial(submit_in_browser, page, address, form) for form in forms}
    return crawl(page, {**pages, **responses}, _CHECKS)


def test_every_page_of_the_dashboard_suits_a_phone(ana: Person, phone: Page, slow_address: str, sample: None) -> None:
    public_pages(ana)
    posted = form_pages(ana)
    sign_in(phone, slow_address)
    frames = {path: partial(phone.goto, f"{slow_address}{path}") for path in dashboard_paths() if is_frame(path)}
    assert crawl(phone, frames, _LOADED_CHECKS) == {}
    record_shifts(phone)
    paths = [path for path in dashboard_paths() if path not in frames]
    assert _faults(phone, slow_address, paths, posted) == {}


def test_every_page_for_visitors_suits_a_phone(ana: Person, phone: Page, slow_public_address: str) -> None:
    paths = [*signed_out_paths(ana), *(f"/{page.path}" for page in (*public_pages(ana), ROOT_PAGE))]
    paths += [f"/{path}" for path in shared_statistics(ana)]
    record_shifts(phone)
    show_pictures_late(phone)
    assert _faults(phone, slow_public_address, paths, public_form_pages(ana, "before-poll")) == {}


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
