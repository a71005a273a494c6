"""Times and days in browsers of several time zones. The script of the page sets the cookie, not the test."""

import pytest
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


@pytest.mark.parametrize(("zone", "summer", "winter"), _ZONES)
def test_times_and_days_are_those_of_the_browser(
    ana: Person, chrome: Browser, address: str, zone: str, summer: str, winter: str
) -> None:
    context = chrome.new_context(timezone_id=zone, service_workers="block")
    with window(chrome, context=context) as seen:
        page = seen.page
        sign_in_by_form(page, address)
        named = page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
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


def test_first_page_after_a_change_of_the_zone_has_the_days_of_the_new_one(
    ana: Person, chrome: Browser, address: str
) -> None:
    kolkata = chrome.new_context(timezone_id="Asia/Kolkata", service_workers="block")
    with window(chrome, context=kolkata) as seen:
        sign_in_by_form(seen.page, address)
        cookies = kolkata.cookies()
    berlin = chrome.new_context(timezone_id="Europe/Berlin", service_workers="block")
    berlin.add_cookies(cookies)  # type: ignore[arg-type]  # the cookies of a context are accepted by another one
    with window(chrome, context=berlin) as seen:
        page = seen.page
        page.goto(f"{address}/dashboard/links/new")
        expect(page.locator("#expiry-hint")).to_contain_text("Europe/Berlin")
        assert page.locator("input[name=time_zone]").first.input_value() == "Europe/Berlin"
