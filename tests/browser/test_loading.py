"""A page that arrives in pieces. Its layout shift is checked in `test_pages.py`."""

from playwright.sync_api import Browser, expect

from tests.support.browser import window
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def test_field_of_a_page_in_pieces_gets_the_focus(chrome: Browser, slow_address: str) -> None:
    with window(chrome) as seen:
        seen.page.goto(f"{slow_address}/dashboard/signin")
        expect(seen.page.get_by_label("Username or e-mail")).to_be_focused()
