"""The statistics page in a browser: filters by clicking, the map by keyboard, events, and accessibility."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import Person
from tests.support.browser_login import examine, signed_in_page
from tests.support.databases import ON_SQLITE
from waypost.demo import content, visits
from waypost.settings import Settings

pytestmark = ON_SQLITE


@pytest.fixture
def sample(ana: Person, settings: Settings, ingester: None) -> None:
    """The sample content and visits of the demo."""
    targets = ana.write(lambda tx: content.add(tx, ana.account, settings))
    visits.write(settings.journal_dir, ana.account, targets)


def test_labels_and_map_filter_the_whole_page(ana: Person, chrome: Browser, address: str, sample: None) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/statistics")
        clicks = page.locator(".tiles dd").first
        whole = clicks.inner_text()
        page.locator("#list-browsers ~ table a").first.click()
        page.wait_for_url("**browser=**")
        expect(page.locator(".active-filters")).to_contain_text("Browser:")
        assert clicks.inner_text() != whole
        country = page.locator(".world-map a").first
        country.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**country=**")
        expect(page.locator(".active-filters a")).to_have_count(3)
        examine(page, "/dashboard/statistics")
        page.get_by_role("link", name="Clear filters").click()
        page.wait_for_url(re.compile(r"/statistics$"))
        assert clicks.inner_text() == whole
        examine(page, "/dashboard/statistics")
