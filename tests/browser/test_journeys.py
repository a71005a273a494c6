"""Journeys of users with and without scripts: links from creation to export, first steps, languages, shared pages."""

import csv
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import window
from tests.support.browser_login import fetched, sign_in, sign_in_by_form
from tests.support.databases import ON_SQLITE
from tests.support.visits import new_link

pytestmark = ON_SQLITE
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
PHONE: ViewportSize = {"width": 390, "height": 844}
DESKTOP: ViewportSize = {"width": 1280, "height": 800}


@SCRIPTS
def test_link_is_created_from_forgiving_input_and_edited(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    ana.add("channel", name="Newsletter")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size(PHONE)
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/new")
        _fill_in_wrongly(page, scripts=scripts)
        _correct_the_country(page)
        page.get_by_role("textbox", name="Alias").fill("spring")
        page.get_by_label("Click limit").fill("500")
        page.get_by_label("Expires").fill("2098-12-31T23:59")
        if scripts:
            _expect_badges(page, "31 Dec 2098")
            page.get_by_label("Click limit").press("Control+Enter")
        else:
            page.get_by_role("button", name="Create link").last.click()
        expect(page.get_by_text("Your link is ready")).to_be_visible()
        link = ana.get("/urls")["data"]["urls"][0]
        details = ana.details("url", link["id"])
        assert link["longurl"] == "https://target.example/page"
        (rule,) = details["geotarget"]
        assert (rule["location"], rule["link"]) == ("Germany", "https://target.example/de")
        page.goto(f"{address}/dashboard/links/{link['id']}")
        _expect_badges(page, "Germany", "31 Dec 2098", "500 clicks")
        if not scripts:
            assert len(details["channel"]) == 2
            expect(page.get_by_label("Radio")).to_be_checked()
            page.locator(".view-tabs").get_by_text("Preview").click()
            page.get_by_role("button", name="Show the preview").click()
        page.get_by_role("button", name="Duplicate").click()
        expect(page.get_by_label("Destination URL").first).to_have_value("https://target.example/page")


def _correct_the_country(page: Page) -> None:
    """Follow the link of the summary of errors to the wrong field."""
    summary = page.get_by_role("alert").first
    expect(summary).to_contain_text("Not saved: 3 problems")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name="Country").click()
    country = page.get_by_role("combobox", name="Country").first
    expect(country).to_be_focused()
    expect(country).to_have_value("Nowhere")
    country.fill("germany")


def _fill_in_wrongly(page: Page, *, scripts: bool) -> None:
    """Submit the form of a new link with three wrong fields."""
    page.get_by_label("Destination URL").first.fill("  target.example/page ")
    page.get_by_role("textbox", name="Alias").fill("a b")
    if not scripts:
        page.get_by_label("New channels").fill("Print, Radio")
    page.locator("summary", has_text="Targeting").click()
    if scripts:
        page.get_by_role("button", name="Add country").click()
    page.get_by_role("combobox", name="Country").first.fill("Nowhere")
    page.locator("[name='geotarget.link']").first.fill("target.example/de")
    page.locator("summary", has_text="Access and limits").click()
    page.get_by_label("Click limit").fill("many")
    page.get_by_role("button", name="Create link").last.click()


def _expect_badges(page: Page, *badges: str) -> None:
    for badge in badges:
        expect(page.locator("summary .tag", has_text=badge)).to_be_visible()


@SCRIPTS
def test_list_is_searched_filtered_exported_and_returned_to(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    campaign = ana.add("campaign", name="Black Friday")
    for n in range(60):
        title = f"Podcast episode {n}" if n % 2 else f"Letter {n}"
        ana.add("url", url=f"https://target.example/{n}", title=title, custom=f"name-{n}", campaign=campaign)
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size(DESKTOP)
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links")
        _search_titles(page, address, scripts=scripts)
        page.get_by_role("link", name="Next", exact=True).click()
        expect(page.locator("tbody tr")).to_have_count(5)
        place, row = page.url, page.locator("tbody tr").nth(2)
        row.get_by_role("checkbox").check()
        page.locator("[popovertarget=bulk-menu]").click()
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_role("status").first).to_contain_text("The link was updated.")
        expect(row.locator(".tag", has_text="Disabled")).to_be_visible()
        assert page.url == place
        row.locator(".name").click()
        page.get_by_role("textbox", name="Title optional", exact=True).fill("Podcast episode renamed")
        page.get_by_role("button", name="Save").last.click()
        page.get_by_role("main").get_by_role("link", name="Links", exact=True).first.click()
        expect(page).to_have_url(place)
        expect(row.locator(".name")).to_have_text("Podcast episode renamed")
        page.get_by_role("button", name="Display").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Export as CSV").click()
        rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))
        assert len(rows) == 30
        page.get_by_role("button", name="Filter · Sort", exact=True).click()
        page.get_by_label("Status").select_option("Disabled")
        if not scripts:
            page.get_by_role("button", name="Apply", exact=True).click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("link", name="Clear filters").click()
        expect(page.locator("tbody tr")).to_have_count(25)


def _search_titles(page: Page, address: str, *, scripts: bool) -> None:
    for q, count in ((f"{address}/name-17", 1), ("17 podcast", 1), ("episo", 25), ("black friday episode", 25)):
        _search(page, q, scripts=scripts)
        expect(page.locator("tbody tr")).to_have_count(count)
    if scripts:
        expect(page.get_by_role("status").filter(has_text="1\u201325 of 30")).to_have_count(1)


def _search(page: Page, q: str, *, scripts: bool) -> None:
    page.get_by_role("searchbox").fill(q)
    if not scripts:
        page.get_by_role("button", name="Search", exact=True).click()
    page.wait_for_url(re.compile(f"q={re.escape(quote(q, safe='')).replace('%20', r'(%20|[+])')}"))


@SCRIPTS
def test_first_steps_lead_to_pages_and_are_ticked(ana: Person, chrome: Browser, address: str, *, scripts: bool) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size(PHONE)
        sign_in_by_form(page, address)
        steps = page.get_by_role("region", name="First steps")
        setup = page.get_by_role("region", name="Set up this installation")
        expect(setup).to_contain_text("waypost backup")
        setup.get_by_role("button", name="Dismiss").click()
        expect(steps).to_contain_text("0 of 5 done")
        expect(setup).to_have_count(0)
        steps.get_by_role("link", name="Create a link").click()
        page.get_by_label("Destination URL").first.fill("target.example")
        page.get_by_role("button", name="Create link").last.click()
        expect(page.get_by_text("Your link is ready")).to_be_visible()
        page.goto(f"{address}/dashboard")
        expect(steps).to_contain_text("1 of 5 done")
        expect(steps.get_by_role("link", name="Create a link")).to_have_count(0)
        expect(steps.get_by_role("link", name="Connect your domain")).to_be_visible()


@SCRIPTS
def test_language_is_switched_signed_out_and_kept_by_the_account(
    ana: Person, ingester: None, chrome: Browser, address: str, *, scripts: bool
) -> None:
    link = new_link(ana, "spring")
    fetched(address, "spring")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size(PHONE)
        page.goto(f"{address}/dashboard/signin")
        _switch(page, "Deutsch")
        expect(page.locator("html")).to_have_attribute("lang", "de")
        page.get_by_label("Benutzername oder E-Mail").fill("ana")
        page.get_by_label("Passwort").fill(PASSWORD)
        page.get_by_role("button", name="Anmelden").click()
        page.wait_for_url(f"{address}/dashboard")
        page.set_viewport_size(DESKTOP)
        expect(page.get_by_role("heading", name="Hallo, ana")).to_be_visible()
        _switch(page, "Français")
        expect(page.locator("html")).to_have_attribute("lang", "fr")
        page.goto(f"{address}/dashboard/links/{link}/stats")
        expect(page.locator("main")).to_contain_text("Visiteurs")
        page.goto(f"{address}/dashboard/links/{link}")
        page.locator("#custom").fill("a b")
        page.locator("summary", has_text="Ciblage").click()
        if scripts:
            page.locator("[data-rows] [data-add]").first.click()
        page.locator("[name='geotarget.location']").first.fill("Nowhere")
        page.get_by_role("button", name="Enregistrer").last.click()
        summary = page.get_by_role("alert").first
        expect(summary).to_contain_text("3 problèmes")
        expect(summary).to_contain_text("le nom ou le code à deux lettres")
    with window(chrome, scripts=scripts) as seen:
        sign_in_by_form(seen.page, address)
        expect(seen.page.locator("html")).to_have_attribute("lang", "fr")


def _switch(page: Page, language: str) -> None:
    switch = page.locator(".language-switch:visible")
    switch.locator("summary").click()
    switch.get_by_role("button", name=language).click()


@SCRIPTS
def test_page_is_shared_to_form_after_sign_in(ana: Person, chrome: Browser, address: str, *, scripts: bool) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.set_viewport_size(PHONE)
        page.goto(f"{address}/dashboard/share?title=News&text={quote('Look https://target.example/x nice')}")
        page.get_by_label("Username or e-mail").fill("ana")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_label("Destination URL").first).to_have_value("https://target.example/x")
        expect(page.get_by_role("textbox", name="Title optional", exact=True)).to_have_value("News")
        page.get_by_role("button", name="Create link").last.click()
        expect(page.get_by_text("Your link is ready")).to_be_visible()
        expect(page.locator("link[rel=manifest]")).to_have_count(1)
        page.goto(f"{address}/dashboard/account/connections")
        bookmarklet = page.get_by_role("link", name="Shorten this page").get_attribute("href") or ""
        page.goto(f"{address}/spring")
        if scripts:
            with page.context.expect_event("request", lambda request: "/links/new" in request.url) as opened:
                page.evaluate(bookmarklet.removeprefix("javascript:"))
            page.goto(f"{address}/dashboard{opened.value.url.partition('/dashboard')[2]}")
            expect(page.get_by_label("Destination URL").first).to_have_value(f"{address}/spring")
    assert ana.get("/urls")["data"]["urls"][0]["longurl"] == "https://target.example/x"
