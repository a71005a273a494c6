"""Pages on phones: one main action, and previews that stay visible while the form is filled in."""

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser_login import signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
_PRIMARY = "a.button:not(.secondary, .plain), header button:not(.secondary, .plain)"


@pytest.mark.parametrize("path", ["/files", "/qr", "/bios", "/campaigns", "/channels", "/splash"])
def test_page_has_one_main_action(ana: Person, chrome: Browser, address: str, path: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard{path}")
        header = page.locator(".topbar").locator(_PRIMARY)
        expect(page.locator(".page-header").locator(_PRIMARY)).to_have_count(1)
        expect(header).to_have_count(0)


@pytest.mark.parametrize("path", ["/splash/new", "/overlays/new?type=message"])
def test_preview_stays_above_the_form(ana: Person, chrome: Browser, address: str, path: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{address}/dashboard{path}")
        preview = page.locator(".preview-pane")
        page.locator("form.editor .actions").last.scroll_into_view_if_needed()
        box = preview.bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 20
        assert box["height"] < 844 * 0.4
        page.locator("#name").focus()
        field = page.locator("#name").bounding_box()
        assert field is not None
        assert field["y"] >= box["y"] + box["height"] - 2 or field["y"] < 0
