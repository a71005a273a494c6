"""Confirmations: cancel comes first and has the focus, the dangerous action is at the inline end."""

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE
_DISTANCE_TO_END = """(actions) => {
  const {left, right} = actions.getBoundingClientRect(), last = actions.lastElementChild.getBoundingClientRect();
  return document.documentElement.dir === "rtl" ? last.left - left : right - last.right;
}"""


def _check(actions: Locator, danger: str) -> None:
    expect(actions.locator("> :first-child")).to_have_text("Cancel")
    expect(actions.locator("> :last-child")).to_have_text(danger)
    expect(actions.locator("> :last-child")).to_have_class("bad")
    assert abs(actions.evaluate(_DISTANCE_TO_END)) < 1


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize("width", [320, 1280])
def test_dangerous_action_is_at_the_inline_end(
    ana: Person, chrome: Browser, address: str, direction: str, width: int
) -> None:
    link = new_link(ana, "spring")
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{address}/dashboard/links/{link}/delete")
        page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        _check(page.locator("main .confirmation .actions"), "Delete")
        page.goto(f"{address}/dashboard/links/{link}")
        page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        page.get_by_role("link", name="Delete").first.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
        _check(dialog.locator(".actions"), "Delete")
