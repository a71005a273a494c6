"""Layout shift while a page loads (CLS): the page in pieces, its fonts and pictures late."""

import time
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Route, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.dashboard_paths import dashboard_paths
from tests.support.databases import ON_SQLITE
from tests.support.form_pages import signed_out_paths
from tests.support.public_pages import ROOT_PAGE, public_pages, shared_statistics

pytestmark = ON_SQLITE
_MAX_SHIFT = 0.05
_WIDTHS = (390, 1280)
_LATE_SECONDS = 0.3
_MIN_PUBLIC_PAGES = 40
_RECORD = """
  window.layoutShift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.layoutShift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""


def _is_no_frame(path: str) -> bool:
    """Return whether a page is shown on its own, not in a frame of another page."""
    return not path.endswith("/preview")


def _is_picture(url: str) -> bool:
    """Return whether the URL is that of a picture of a public page."""
    return url.endswith((".png", "?preview=1", "format=svg"))


def _show_portrait_late(route: Route) -> None:
    """Respond late with a picture whose proportions are not those of its place."""
    portrait = BytesIO()
    Image.new("RGB", (600, 900), "navy").save(portrait, "PNG")
    time.sleep(_LATE_SECONDS)
    route.fulfill(content_type="image/png", body=portrait.getvalue())


def _respond_late(route: Route) -> None:
    time.sleep(_LATE_SECONDS)
    route.continue_()


def _shift(page: Page, url: str) -> float:
    page.goto(url, wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    return float(page.evaluate("layoutShift"))


@pytest.mark.parametrize("width", _WIDTHS)
def test_pages_do_not_shift_while_they_load(
    ana: Person, chrome: Browser, slow_address: str, sample: None, width: int
) -> None:
    shifts = {}
    with window(chrome) as seen:
        sign_in(seen.page, slow_address)
        seen.page.add_init_script(_RECORD)
        seen.page.route("**/*.woff2", _respond_late)
        seen.page.set_viewport_size({"width": width, "height": 800})
        for path in filter(_is_no_frame, dashboard_paths()):
            shifts[path] = _shift(seen.page, f"{slow_address}{path}")
    assert {page: shift for page, shift in shifts.items() if shift > _MAX_SHIFT} == {}


@pytest.mark.parametrize("width", _WIDTHS)
def test_public_pages_do_not_shift_while_they_load(
    ana: Person, chrome: Browser, slow_public_address: str, width: int
) -> None:
    shifts = {}
    signed_out = [path.lstrip("/") for path in signed_out_paths(ana)]
    paths = [*signed_out, *(page.path for page in (*public_pages(ana), ROOT_PAGE)), *shared_statistics(ana)]
    with window(chrome, stays=True) as seen:
        seen.page.add_init_script(_RECORD)
        seen.page.route(_is_picture, _show_portrait_late)
        seen.page.route("**/*.woff2", _respond_late)
        seen.page.set_viewport_size({"width": width, "height": 800})
        for path in paths:
            shifts[path] = _shift(seen.page, f"{slow_public_address}/{path}")
    assert len(shifts) > _MIN_PUBLIC_PAGES
    assert {page: shift for page, shift in shifts.items() if shift > _MAX_SHIFT} == {}


def test_field_of_a_page_in_pieces_gets_the_focus(chrome: Browser, slow_address: str) -> None:
    with window(chrome) as seen:
        seen.page.goto(f"{slow_address}/dashboard/signin")
        expect(seen.page.get_by_label("Username or e-mail")).to_be_focused()
