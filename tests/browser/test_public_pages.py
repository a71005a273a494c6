"""Every public page in a real browser: desktop and phone, light and dark."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.accessibility import faults
from tests.support.browser import window
from tests.support.databases import ON_SQLITE
from tests.support.public_pages import TARGET, public_pages
from tests.support.visits import CHROME, clicks
from waypost.items.moderation import reports

pytestmark = ON_SQLITE
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
SCREENS = pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=["desktop by day", "phone by night"])


@pytest.fixture
def address(public_address: str) -> str:
    """The service on its own address, with pixel consent enabled and one site that can be framed."""
    return public_address


def _problems(page: Page) -> list[object]:
    """Problems of a page: missing images, axe-core violations."""
    broken = page.evaluate("[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)")
    return [*broken, *faults(page)]


@SCREENS
def test_password_page_accepts_correct_password_and_limits_attempts(
    ana: Person, chrome: Browser, address: str, screen: Any
) -> None:
    link = ana.add("url", url=TARGET, custom="locked", password="a password")
    context = chrome.new_context(user_agent=CHROME, **screen)
    with window(chrome, context=context) as seen:
        page = seen.page

        def guess(word: str) -> None:
            page.get_by_label("Password").fill(word)
            page.get_by_role("button", name="Continue").click()

        page.goto(f"{address}/locked")
        expect(page.get_by_label("Password")).to_be_focused()
        guess("a passwort")
        expect(page.get_by_role("alert")).to_have_text("Wrong password.")
        assert "a passwort" not in page.content()
        assert _problems(page) == []
        guess("a password")
        page.wait_for_url(TARGET)
        page.goto(f"{address}/locked")
        while page.get_by_label("Password").is_visible():
            with page.expect_navigation():
                guess("a passwort")
        expect(page.get_by_role("heading")).to_have_text("Too many attempts")
        assert _problems(page) == []
    context.close()
    assert clicks(ana, link) == (1, 1)


def test_sensitive_page_warns_once_and_vcard_downloads(ana: Person, chrome: Browser, address: str) -> None:
    public_pages(ana)
    context = chrome.new_context(user_agent=CHROME, accept_downloads=True)
    with window(chrome, context=context) as seen:
        page = seen.page
        page.goto(f"{address}/shy")
        expect(page.get_by_text("Potter in Lisbon")).not_to_be_visible()
        page.get_by_role("button", name="Show page").click()
        expect(page.get_by_text("Potter in Lisbon")).to_be_visible()
        assert _problems(page) == []
        page.goto(f"{address}/shy")
        expect(page.get_by_text("Potter in Lisbon")).to_be_visible()
        with page.expect_download() as taken:
            page.get_by_role("link", name="Save contact").click()
        card = Path(taken.value.path()).read_text()
        assert (taken.value.suggested_filename, "FN:Ana Costa" in card) == ("Ana Costa.vcf", True)
        page.get_by_role("link", name="Mastodon").click()
        page.wait_for_url("https://social.example/@ana")
    context.close()


def test_campaign_list_search_pagination_and_links_work(ana: Person, chrome: Browser, address: str) -> None:
    listed = next(sight.path for sight in public_pages(ana) if sight.says == "Things to read")
    with window(chrome, scripts=False) as seen:
        page = seen.page
        page.goto(f"{address}/{listed}")
        page.get_by_role("link", name="Older").click()
        expect(page.get_by_text("Page 2 of")).to_be_visible()
        page.get_by_role("searchbox").fill("clay")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("8 links with “clay”")).to_be_visible()
        page.get_by_role("link", name="How clay is dug").first.click()
        page.wait_for_url("https://site-*.example/")


def test_file_page_shows_details_and_downloads(ana: Person, chrome: Browser, address: str) -> None:
    public_pages(ana)
    context = chrome.new_context(user_agent=CHROME, accept_downloads=True)
    with window(chrome, context=context) as seen:
        page = seen.page
        page.goto(f"{address}/prices")
        expect(page.get_by_text("3 downloads left")).to_be_visible()
        page.get_by_text("Checksum").click()
        expect(page.get_by_text("SHA-256 of the file")).to_be_visible()
        assert _problems(page) == []
        with page.expect_download() as taken:
            page.get_by_role("button", name="Download").click()
        assert taken.value.suggested_filename == "price list.pdf"
        assert Path(taken.value.path()).stat().st_size == 2_000_009
        page.reload()
        expect(page.get_by_text("2 downloads left")).to_be_visible()
    context.close()


@pytest.mark.parametrize("path", ["waiting", "before-message", "prices", "ocean", "read-0+", "r/reading"])
def test_every_interstitial_links_to_report_form(ana: Person, chrome: Browser, address: str, path: str) -> None:
    public_pages(ana)
    splash = ana.get("/splash")["data"]["splash"][-1]["id"]
    for link in ana.get("/urls", limit=1000)["data"]["urls"]:
        if link["alias"].startswith("read-"):
            ana.update("url", link["id"], type=str(splash))
    with window(chrome, scripts=False) as seen:
        page = seen.page
        page.goto(f"{address}/{path}")
        page.get_by_role("link", name="Report abuse").click()
        expect(page.get_by_label("Short link")).to_have_value(f"{address}/{path.removesuffix('+')}")
        page.get_by_label("Other").check()
        page.get_by_label("Comment").fill("It <b>lies</b>")
        page.get_by_label("Short link").fill("https://elsewhere.example/x")
        page.get_by_role("button", name="Send report").click()
        expect(page.get_by_role("alert")).to_have_text(
            "This is not a short link of this service. Please check the address."
        )
        expect(page.get_by_label("Comment")).to_have_value("It <b>lies</b>")
        page.get_by_label("Short link").fill(f"{address}/{path}")
        page.get_by_role("button", name="Send report").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [report.comment for report in ana.database.read(reports.list_all)] == ["It <b>lies</b>"]


def test_preview_page_shows_and_opens_destination(ana: Person, chrome: Browser, address: str) -> None:
    public_pages(ana)
    with window(chrome, scripts=False) as seen:
        seen.page.goto(f"{address}/read-0+")
        expect(seen.page.get_by_text("https://site-0.example/")).to_be_visible()
        seen.page.get_by_role("link", name="Open destination").click()
        seen.page.wait_for_url("https://site-0.example/")
