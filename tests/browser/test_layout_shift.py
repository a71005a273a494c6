"""Layout shift while a page loads (CLS), with a font that arrives late."""

import time

from playwright.sync_api import Browser, Page, Route

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.databases import ON_SQLITE
from waypost.demo import content
from waypost.settings import Settings

pytestmark = ON_SQLITE
_MAX_SHIFT = 0.05
_FONT_SECONDS = 0.3
_PATHS = (
    *("", "/links", "/links/new", "/links/1", "/links/1/stats", "/visits", "/files", "/qr", "/qr/new", "/qr/1"),
    *("/bios", "/bios/1", "/campaigns", "/campaigns/1", "/campaigns/1/stats", "/channels", "/channels/1"),
    *("/splash", "/overlays", "/pixels/new", "/domains", "/domains/1", "/account", "/account/keys", "/statistics"),
)
_RECORD = """
  window.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""


def _respond_late(route: Route) -> None:
    time.sleep(_FONT_SECONDS)
    route.continue_()


def _shift(page: Page, url: str) -> float:
    page.goto(url, wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    return float(page.evaluate("layoutShift"))


def test_pages_do_not_shift_while_they_load(ana: Person, chrome: Browser, address: str, settings: Settings) -> None:
    ana.write(lambda tx: content.add(tx, ana.account, settings))
    shifts = {}
    with window(chrome) as seen:
        sign_in(seen.page, address)
        seen.page.add_init_script(_RECORD)
        seen.page.route("**/*.woff2", _respond_late)
        for width in (390, 1280):
            seen.page.set_viewport_size({"width": width, "height": 800})
            for path in _PATHS:
                shifts[path, width] = _shift(seen.page, f"{address}/dashboard{path}")
    assert {page: shift for page, shift in shifts.items() if shift > _MAX_SHIFT} == {}
