"""Rows, buttons and choices on a phone. The sizes of all targets are checked in `test_pages.py`."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from tests.support.touch import tall_rows
from tests.support.visits import CHROME

pytestmark = ON_SQLITE
# How far the middle of each button's text is from that of the button, in px.
_OFF_CENTER = """buttons => buttons.map(button => {
  const range = document.createRange();
  range.selectNodeContents(button);
  const text = range.getBoundingClientRect(), box = button.getBoundingClientRect();
  return Math.abs(text.left + text.right - box.left - box.right) / 2;
})"""


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
