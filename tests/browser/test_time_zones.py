"""Times and days in browsers of several time zones. The script of the page sets the cookie, not the test."""

from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in_by_form
from tests.support.databases import ON_SQLITE

pytestmark = ON_SQLITE
# Zone, and 18:00 on 4 July and on 24 December in UTC: the clocks change in between, and one zone has half an hour.
_ZONES = [
    ("America/Los_Angeles", "2999-07-05 01:00:00", "2999-12-25 02:00:00"),
    ("Europe/Berlin", "2999-07-04 16:00:00", "2999-12-24 17:00:00"),
    ("Asia/Kolkata", "2999-07-04 12:30:00", "2999-12-24 12:30:00"),
]


def _create_link(page: Page, address: str, expiry: str) -> None:
    page.goto(f"{address}/dashboard/links/new")
    page.locator("#url").fill("https://target.example.com/")
    page.locator("details", has=page.locator("#expiry")).locator("> summary").click()
    page.locator("#expiry").fill(expiry)
    page.locator("form.editor").get_by_role("button", name="Create link").click()
    expect(page.get_by_text("Your link is ready")).to_be_visible()


def test_times_and_days_are_those_of_the_browser(ana: Person, chrome: Browser, address: str) -> None:
    """A browser that moves to another zone has its days on the first page."""
    cookies: list[Any] = []
    for zone, summer, winter in _ZONES:
        context = chrome.new_context(timezone_id=zone, service_workers="block")
        context.add_cookies(cookies)
        with window(chrome, context=context) as seen:
            if not cookies:
                sign_in_by_form(seen.page, address)
            _check_zone(ana, seen.page, address, summer, winter)
            cookies = context.cookies()
        context.close()


def _check_zone(ana: Person, page: Page, address: str, summer: str, winter: str) -> None:
    page.goto(f"{address}/dashboard/links/new")
    named = page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    expect(page.locator("#expiry-hint")).to_contain_text(named)
    assert page.locator("input[name=time_zone]").first.input_value() == named
    for typed, stored in (("2999-07-04T18:00", summer), ("2999-12-24T18:00", winter)):
        _create_link(page, address, typed)
        link = ana.get("/urls")["data"]["urls"][0]["id"]
        assert ana.details("url", link)["expiry"] == stored
        page.goto(f"{address}/dashboard/links/{link}")
        expect(page.locator("#expiry")).to_have_value(typed)
        expect(page.locator("#expiry-hint")).to_contain_text(named)
    page.goto(f"{address}/dashboard/statistics?period=today")
    shown, today = (
        page.locator("input[name=from]").input_value(),
        page.evaluate("new Date().toLocaleDateString('sv')"),
    )
    assert shown == today
    expect(page.locator(".date-range small")).to_have_text(f"Time zone: {named}.")
