"""Sharing statistics in a browser, with and without scripts: create, open, filter, protect, revoke."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def _share(page: Page, address: str, *, password: str) -> str:
    """Share the statistics of the first link; return the URL of the page."""
    page.goto(f"{address}/dashboard/links/1/stats")
    page.get_by_role("link", name="Share links", exact=True).click()
    expect(page.get_by_role("heading", name="Not shared yet")).to_be_visible()
    page.get_by_label("Title").fill("For our customer")
    page.get_by_label("Only the last … days").fill("30")
    page.get_by_label("Password for visitors").fill(password)
    page.get_by_role("button", name="Create share link").click()
    expect(page.get_by_text("Your share link is ready.")).to_be_visible()
    url = page.locator(".share-address a").get_attribute("href")
    assert url
    return url.replace("localhost:8000", address.rpartition("//")[2].removeprefix("go."))


def _open(page: Page, url: str, password: str) -> None:
    page.goto(url)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Show statistics").click()
    expect(page.get_by_text("Wrong password.", exact=True)).to_be_visible()
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Show statistics").click()
    expect(page.get_by_role("heading", name="For our customer")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_share_open_filter_and_revoke(
    chrome: Browser, address: str, ana: Person, sample: None, *, scripts: bool
) -> None:
    context = chrome.new_context(java_script_enabled=scripts, service_workers="block")
    with signed_in_page(chrome, address) as own, window(chrome, context=context) as seen:
        page, url = seen.page, _share(own, address, password="tulip")
        _open(page, url, "tulip")
        clicks = page.locator(".tiles dd").first
        whole = clicks.inner_text()
        page.locator("label", has_text="Browsers").click()
        page.locator("#list-browsers ~ table a").first.click()
        page.wait_for_url("**browser=**")
        assert clicks.inner_text() != whole
        page.get_by_role("link", name=re.compile("Remove filter")).click()
        page.wait_for_url(url)
        page.locator(".date-range summary").click()
        page.locator(".date-range input[name=from]").fill("2020-01-01")
        page.get_by_role("button", name="Show", exact=True).click()
        page.wait_for_url("**from=2020-01-01**")
        assert clicks.inner_text() == whole, "the span is not exceeded"
        own.get_by_role("link", name=re.compile("^Revoke")).click()
        own.get_by_role("button", name="Revoke").click()
        expect(own.get_by_text("The share link was revoked.")).to_be_visible()
        page.reload()
        expect(page.get_by_text("This address has no shared statistics.")).to_be_visible()
        assert seen.foreign_urls == []
    context.close()


def test_pages_are_accessible_and_fit_the_screen(chrome: Browser, address: str, ana: Person, sample: None) -> None:
    share = {"type": "link", "itemid": 1, "title": "A long title of statistics " * 5}
    created = ana.post("/share/add", share)
    locked = ana.post("/share/add", {"type": "campaign", "itemid": 1, "password": "tulip", "slug": "spring-sale"})
    with signed_in_page(chrome, address) as page:
        paths = ("shares", "shares/link/1", "shares/link/2", f"shares/{locked['id']}", f"shares/{locked['id']}/delete")
        for path in paths:
            page.goto(f"{address}/dashboard/{path}")
            examine(page, path)
    with window(chrome) as seen:
        for item in (created["url"], locked["url"], "/stats/unknown"):
            path = re.sub(r"^https?://[^/]+", "", item)
            seen.page.goto(f"{address}{path}")
            examine(seen.page, path)


@pytest.mark.parametrize("scripts", [True, False])
def test_share_button_copies_address(
    ana: Person, chrome: Browser, address: str, sample: None, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/1/stats")
        page.get_by_role("button", name="Share", exact=True).click()
        if scripts:
            expect(page.locator(".toast")).to_contain_text("The address was copied.")
            page.get_by_role("button", name="Undo").click()
            expect(page.locator(".toast")).to_contain_text("The share link was revoked.")
            assert ana.get("/shares")["data"]["shares"] == []
            for has_undo in (True, False):
                expect(page.locator(".toast")).to_have_count(0, timeout=15_000)
                page.get_by_role("button", name="Share", exact=True).click()
                expect(page.locator(".toast")).to_contain_text("The address was copied.")
                expect(page.get_by_role("button", name="Undo")).to_have_count(int(has_undo))
            page.get_by_role("button", name="Options").click()
        page.wait_for_url("**/dashboard/shares/link/1")
        expect(page.locator(".share-address a")).to_have_count(1)
    assert ana.get("/shares")["data"]["shares"][0]["days"] is None


def test_copied_address_opens_with_the_period_and_filter(
    ana: Person, chrome: Browser, address: str, sample: None
) -> None:
    with signed_in_page(chrome, address) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{address}/dashboard/links/1/stats?period=90&device=Mobile")
        page.get_by_role("button", name="Share", exact=True).click()
        expect(page.locator(".toast")).to_contain_text("It opens with this period and filter")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.endswith("?period=90&device=Mobile")
        page.goto(f"{address}/stats/{copied.rpartition('/')[2]}")
        expect(page.locator(".active-filters")).to_contain_text("Mobile")
