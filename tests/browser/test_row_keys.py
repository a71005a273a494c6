"""Keys that move and act in the gallery of QR codes and in the visits."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser_login import examine, fetched, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE


@pytest.fixture
def page(ana: Person, ingester: None, chrome: Browser, address: str) -> Iterator[Page]:
    """Ana's dashboard, with two QR codes, and visits of two links, the second of which is deleted."""
    for name in ("First", "Second"):
        ana.post("/qr/add", {"type": "link", "data": "https://target.example/", "dynamic": True, "name": name})
    deleted = new_link(ana, "deleted")
    new_link(ana, "spring", title="Spring sale")
    for alias in ("spring", "deleted", "spring"):
        fetched(address, alias)
    ana.call("DELETE", f"/url/{deleted}/delete")
    with signed_in_page(chrome, address) as opened:
        yield opened


def test_keys_move_and_act_in_the_gallery_and_in_the_visits(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard/qr")
    second, first = page.locator(".gallery .name").all()
    page.keyboard.press("j")
    expect(second).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(first).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_label("Select First")).to_be_checked()
    page.keyboard.press("k")
    expect(second).to_be_focused()
    page.keyboard.press("s")
    page.wait_for_url("**/qr/2/stats**")
    page.go_back()
    second.focus()
    page.keyboard.press("e")
    page.wait_for_url("**/qr/2")
    page.go_back()
    second.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/qr/2")
    _check_visits(page, address)
    _check_without_single_keys(page, address)


def _check_visits(page: Page, address: str) -> None:
    page.goto(f"{address}/dashboard/visits?sort=all")
    rows = page.locator("#visits tbody tr")
    expect(rows).to_have_count(3)
    for key, number in (("j", 0), ("ArrowDown", 1), ("j", 2), ("k", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(rows.nth(number).get_by_role("link").first).to_be_focused()
    page.keyboard.press("x")
    examine(page, "/dashboard/visits")
    page.keyboard.press("Enter")
    page.wait_for_url("**item=2**")
    page.keyboard.press("j")
    page.keyboard.press("e")
    page.wait_for_url("**/links/2")


def _check_without_single_keys(page: Page, address: str) -> None:
    """Single keys move nothing when they are off."""
    page.goto(f"{address}/dashboard/qr")
    page.keyboard.press("?")
    for key in ("j", "k"):
        expect(page.locator("#shortcuts").get_by_text(key, exact=True)).to_be_visible()
    page.get_by_role("button", name="Turn off shortcuts of single keys").click()
    page.wait_for_load_state()
    page.keyboard.press("j")
    expect(page.locator(".gallery .name").first).not_to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".gallery .name").first).to_be_focused()
