"""The page of visits in a browser: new visits without reloading, filters, and accessibility."""

import re

import pytest
from playwright.sync_api import Browser, Request, Route, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, fetched, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link
from waypost.dashboard import live_visits
from waypost.http import server_sent_events

pytestmark = ON_SQLITE


@pytest.fixture
def spring(ana: Person, ingester: None) -> int:
    """Ana's link."""
    return new_link(ana, "spring", title="Spring sale")


def test_new_visits_appear_as_they_happen(chrome: Browser, address: str, spring: int) -> None:
    fetched(address, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/visits?sort=all")
        rows = page.locator("#visits tbody tr")
        expect(rows).to_have_count(1)
        expect(rows.locator("time")).to_have_text(re.compile("ago|now"))
        page.evaluate("window.stays = true")
        for count in (2, 3):
            fetched(address, "spring")
            expect(rows).to_have_count(count)
            expect(page.locator("#new-visits")).to_have_text("One new visit")
            ids = [int(str(row.get_attribute("data-id"))) for row in rows.all()]
            assert ids == sorted(ids, reverse=True)
        rows.first.get_by_role("link", name="Direct").click()
        page.wait_for_url("**/dashboard/visits?sort=all&referrer=Direct")


def test_live_visits_can_be_paused(chrome: Browser, address: str, spring: int) -> None:
    fetched(address, "spring")
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/visits?sort=all")
        live, rows = page.get_by_role("button", name="Live"), page.locator("#visits tbody tr")
        expect(live).to_have_attribute("aria-pressed", "true")
        live.click()
        expect(live).to_have_attribute("aria-pressed", "false")
        for _ in range(2):
            fetched(address, "spring")
        expect(rows).to_have_count(1)
        live.click()
        expect(rows).to_have_count(3)
        expect(page.locator("#new-visits")).to_have_text("2 new visits")


@pytest.mark.parametrize("age", [0, 60_000])
def test_page_that_missed_visits_is_loaded_again_but_not_all_the_time(
    chrome: Browser, address: str, spring: int, age: int
) -> None:
    fetched(address, "spring")
    with signed_in_page(chrome, address) as page:
        page.add_init_script(f"performance.now = () => {age}")
        missed = server_sent_events.message(live_visits.GAP, "", id=1)
        requests: list[Request] = []

        def answer(route: Route) -> None:
            requests.append(route.request)
            route.fulfill(content_type="text/event-stream", body=f"retry: 10\n\n{missed}")

        page.goto(f"{address}/dashboard")
        page.route("**/dashboard/visits/live?*", answer)
        page.goto(f"{address}/dashboard/visits?sort=all")
        if age:
            page.wait_for_event("load")
        else:
            page.evaluate("window.stays = true")
            while len(requests) < 3:
                page.wait_for_timeout(10)
            assert page.evaluate("window.stays")
        page.unroute("**/dashboard/visits/live?*")


def test_first_visit_appears_on_an_empty_page(chrome: Browser, address: str, spring: int) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/visits?sort=all")
        expect(page.get_by_role("heading", name="No matching visits")).to_be_visible()
        fetched(address, "spring")
        expect(page.locator("#visits tbody tr")).to_have_count(1)


def test_page_without_scripts_is_refreshed_if_asked_for(chrome: Browser, address: str, spring: int) -> None:
    with window(chrome, scripts=False) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/visits?sort=all")
        page.get_by_role("link", name="Update every 10 seconds").click()
        page.wait_for_url("**/dashboard/visits?sort=all&live=10")
        refreshed = page.reload()
        assert refreshed is not None
        assert refreshed.headers["refresh"] == "10"
        page.get_by_role("link", name="Stop updating").click()
        page.wait_for_url("**/dashboard/visits?sort=all")
        reloaded = page.reload()
        assert reloaded is not None
        assert "refresh" not in reloaded.headers


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
        page.wait_for_url("**/visits?sort=all" if scripts else "**/visits?kind=&sort=all")
        page.get_by_role("link", name="Direct").click()
        page.wait_for_url("**referrer=Direct**")
        page.get_by_role("link", name="Referrer: Direct").click()
        page.wait_for_url("**/visits?sort=all")
        expect(page.locator("#visits tbody tr")).to_have_count(1)
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert len(download.value.path().read_text().splitlines()) == 2
        if scripts:
            examine(page, "/dashboard/visits")
