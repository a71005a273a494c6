"""The page of visits in a browser: new visits without reloading, filters, and accessibility."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, fetched, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE


@pytest.fixture
def spring(ana: Person, ingester: None) -> int:
    """Ana's link."""
    return new_link(ana, "spring", title="Spring sale")


def test_new_visits_appear_without_reloading(chrome: Browser, address: str, spring: int) -> None:
    fetched(address, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/visits?sort=all")
        rows = page.locator("#visits tbody tr")
        expect(rows).to_have_count(1)
        expect(rows.locator("time")).to_have_text(re.compile("ago|now"))
        page.evaluate("window.stays = true")
        for count in (2, 4):
            for _ in range(count // 2):
                fetched(address, "spring")
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            expect(rows).to_have_count(count)
            expect(page.locator("#new-visits")).to_have_text("One new visit" if count == 2 else "2 new visits")
        assert page.evaluate("window.stays")


@pytest.mark.parametrize("scripts", [True, False])
def test_value_and_select_filter_the_list(chrome: Browser, address: str, spring: int, *, scripts: bool) -> None:
    fetched(address, "spring")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/visits?sort=bot")
        expect(page.get_by_role("heading", name="No matching visits")).to_be_visible()
        page.get_by_label("Visits by").select_option("All visits")
        if not scripts:
            page.get_by_role("button", name="Filter").click()
        page.wait_for_url("**/visits?kind=&sort=all")
        page.get_by_role("link", name="Direct").click()
        page.wait_for_url("**referrer=Direct**")
        page.get_by_role("link", name="Referrer: Direct").click()
        page.wait_for_url("**/visits?sort=all")
        expect(page.locator("#visits tbody tr")).to_have_count(1)
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        assert len(download.value.path().read_text().splitlines()) == 2
        if scripts:
            examine(page, "/dashboard/visits")
