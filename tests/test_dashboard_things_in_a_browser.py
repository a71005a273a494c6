"""Campaigns, channels, pages on the way, pixels and domains in a real browser: journeys, and what axe-core finds."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browsing import browser, served, window
from tests.conftest import Person
from tests.test_dashboard_in_a_browser import _examine, _sign_in
from tests.visiting import new_link
from waypost.app import build
from waypost.db import Database
from waypost.settings import Settings

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
PATHS = (
    *("/campaigns", "/campaigns/new", "/campaigns/1", "/campaigns/1/add", "/campaigns/1/stats"),
    "/campaigns/1/delete",
)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    with served(build(settings, Database(settings.database))) as url:
        yield url


def _follow(page: Page, url: str) -> None:
    """A visit in another tab, which leads into a world that is not there."""
    other = page.context.new_page()
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        other.goto(url)
    other.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_campaign_hands_out_its_links_and_says_which(
    ana: Person, chrome: Browser, address: str, ingester: None, *, scripts: bool
) -> None:
    for n in range(3):
        new_link(ana, f"landing-{n}", title=f"Landing {n}")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        _sign_in(page, address)
        page.goto(f"{address}/dashboard/campaigns")
        expect(page.get_by_role("heading", name="Your first campaign")).to_be_visible()
        page.get_by_role("link", name="New campaign").first.click()
        page.get_by_role("textbox", name="Name", exact=True).fill("Spring")
        page.get_by_label("Its address").fill("spring")
        page.get_by_role("radio", name="In turn").check()
        page.get_by_role("button", name="Make it").click()
        expect(page.get_by_role("status").first).to_contain_text("Your campaign is ready")
        page.get_by_label("Landing 0").check()
        page.get_by_label("Landing 1").check()
        page.get_by_role("button", name="Put into the campaign").click()
        expect(page.get_by_role("status").first).to_contain_text("2 links are in.")
        page.get_by_label("Quota of landing-1").fill("1")
        page.get_by_role("button", name="Save quotas").click()
        for _ in range(4):
            _follow(page, f"{address}/r/spring")
        page.get_by_role("link", name="0 visits").click()
        expect(page.locator(".tiles div", has_text="Clicks").locator("dd")).to_have_text("4")
        led = page.locator("section", has_text="Where the rotator led").get_by_role("row")
        expect(led.nth(0)).to_contain_text("Landing 0")
        expect(led.nth(0).locator(".n")).to_have_text("3")
        expect(led.nth(1).locator(".n")).to_have_text("1")


@pytest.fixture
def furnished(ana: Person) -> Person:
    """Ana with one of everything, some of it with words that are long or from the right to the left."""
    campaign = ana.post("/campaign/add", {"name": "حملة الربيع" * 20, "slug": "spring", "rotation": "weighted"})["id"]
    for n in range(3):
        link = new_link(ana, f"landing-{n}", title=f"Landing {n} " * 20)
        ana.post(f"/campaign/{campaign}/assign/{link}", {"quota": n + 1})
    new_link(ana, "other", title="x" * 255)
    return ana


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_no_fault_and_nothing_is_wider_than_the_screen(
    furnished: Person, chrome: Browser, address: str, width: int, scheme: Any
) -> None:
    context = chrome.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    with window(chrome, context=context) as seen:
        _sign_in(seen.page, address)
        for path in PATHS:
            seen.page.goto(f"{address}/dashboard{path}")
            _examine(seen.page, path)
    context.close()
