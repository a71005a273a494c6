"""Widths of columns: an alias is never torn, and the destination gets the width that is left."""

from playwright.sync_api import Browser

from tests.conftest import Person
from tests.support.browser_login import signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_LINES = """
  (addresses) => addresses.map((address) => {
    const text = document.createRange();
    text.selectNodeContents(address);
    return new Set([...text.getClientRects()].map((rect) => Math.round(rect.top))).size;
  })
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
        page.goto(f"{address}/dashboard/links")
        longest = page.locator(".short-url > a", has_text="catalog")
        assert longest.evaluate_all(_LINES) == [2]  # the host, and the whole alias
        assert longest.evaluate("address => address.scrollWidth <= address.clientWidth")
