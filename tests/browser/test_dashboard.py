"""The dashboard in a real browser: user journeys with and without scripts, and accessibility checks."""

import shlex
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import PASSWORD, Person
from tests.support.browser import HOST, served, window
from tests.support.browser_login import sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build

pytestmark = ON_SQLITE


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    opened = settings.model_copy(update={"registration": "on"})
    with served(build(opened, Database(settings.database))) as url:
        yield url


@pytest.mark.parametrize("scripts", [True, False])
def test_register_create_link_visit_and_see_click(
    chrome: Browser, address: str, ingester: None, *, scripts: bool
) -> None:
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        page.goto(f"{address}/")
        page.get_by_role("link", name="Create account").click()
        page.get_by_label("E-mail").fill("zoe@example.com")
        page.get_by_label("Username").fill("zoe")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Create account").click()
        expect(page.get_by_role("heading", name="Hello, zoe")).to_be_visible()
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Links").first.click()
        expect(page.get_by_role("heading", name="Your first link")).to_be_visible()
        page.wait_for_load_state()  # without scripts the link opens a page
        page.get_by_role("main").get_by_role("link", name="New link").first.click()
        page.get_by_role("textbox", name="Destination URL").fill("https://target.example/page")
        page.get_by_role("textbox", name="Alias").fill("spring")
        page.get_by_role("button", name="Create link").click()
        expect(page.get_by_text("Your link is ready")).to_be_visible()
        other = page.context.new_page()
        other.goto(f"{address}/spring")
        assert other.url == "https://target.example/page"
        other.close()
        page.goto(f"{address}/dashboard/links")
        page.get_by_role("link", name="1 click").first.click()
        expect(page.locator(".tiles div", has_text="Clicks").locator("dd")).to_have_text("1")
        page.get_by_text("Show as table").click()
        expect(page.get_by_role("table", name="Clicks over time").get_by_role("row").last).to_contain_text("1")
        if scripts:
            expect(page.locator(".canvas canvas")).to_be_visible()


def test_shortcuts_and_pasted_urls_open_dialogs(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.keyboard.press("c")
        expect(page.get_by_role("dialog", name="New link")).to_be_visible()
        expect(page.get_by_label("Destination URL").last).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator("dialog[open]")).to_have_count(0)
        expect(page.locator("body")).to_be_focused()
        page.keyboard.press("/")
        page.wait_for_url("**/dashboard/links#q")
        expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
        page.keyboard.type("c?/")
        expect(page.get_by_role("searchbox", name="Search")).to_have_value("c?/")
        page.locator("h1").click()
        page.evaluate(_PASTE, "https://target.example/pasted")
        page.get_by_role("dialog").get_by_label("Alias").fill("pasted")
        page.get_by_role("dialog").get_by_role("button", name="Create link").click()
        expect(page.get_by_role("dialog")).to_contain_text("Your link is ready")
        expect(page.get_by_role("dialog").locator(".quick-result")).to_contain_text("/pasted")


_PASTE = """words => {
  const data = new DataTransfer();
  data.setData("text", words);
  document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
}"""


def test_api_key_is_created_used_and_revoked(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/account/keys")
        page.get_by_role("textbox", name="Name", exact=True).fill("newsletter script")
        page.get_by_label("Password", exact=False).first.fill(PASSWORD)
        page.get_by_label("Access", exact=True).select_option("Read only")
        page.get_by_role("button", name="Create key").click()
        region = page.get_by_role("region", name="Your new key")
        line = shlex.split(region.locator("code").nth(1).inner_text())
        name, _, value = line[line.index("-H") + 1].partition(": ")
        url = f"{address}{urlsplit(line[-1]).path}"
        call = partial(ana.client.get, url, headers={name: value})
        assert call().json()["data"]["username"] == "ana"
        writing = ana.client.post(f"{address}/api/url/add", json={"url": "https://a.example"}, headers={name: value})
        assert writing.status_code == 403
        page.goto(f"{address}/dashboard/account/keys")
        row = page.get_by_role("listitem").filter(has_text="newsletter script")
        expect(row).to_contain_text("last used")
        row.get_by_role("link", name="Revoke").click()
        dialog = page.get_by_role("dialog", name="Revoke this key? Requests with it will fail.")
        expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
        dialog.get_by_role("link", name="Cancel").click()
        expect(dialog).to_be_hidden()
        expect(row.get_by_role("link", name="Revoke")).to_be_focused()
        row.get_by_role("link", name="Revoke").click()
        dialog.get_by_role("button", name="Revoke").click()
        expect(row).to_have_count(0)
        assert call().status_code == 401


def test_link_editor_adds_rows_and_copies_url(ana: Person, chrome: Browser, address: str) -> None:
    link = ana.add("url", url="https://target.example/", custom="spring")
    context = chrome.new_context(permissions=["clipboard-read", "clipboard-write"])
    with window(chrome, context=context) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/{link}")
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
        expect(page.locator(".toast")).to_have_text("Copied")
        page.get_by_text("Targeting", exact=True).click()
        for n, country in enumerate(("Germany", "Spain")):
            page.get_by_role("button", name="Add country").click()
            page.get_by_label("Country").nth(n).fill(country)
            page.get_by_role("group", name="By country").get_by_label("Destination").nth(n).fill(
                f"https://{country}.example/"
            )
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status").first).to_contain_text("Saved.")
    context.close()
    rows = ana.details("url", link)["geotarget"]
    assert [row["location"] for row in rows] == ["Germany", "Spain"]


def test_back_after_sign_out_shows_no_content(ana: Person, chrome: Browser, address: str) -> None:
    ana.post("/url/add", {"url": "https://target.example/", "title": "A secret"})
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/links")
        expect(page.get_by_role("link", name="A secret")).to_be_visible()
        page.get_by_role("button", name="Sign out").first.click()
        expect(page.get_by_text("You signed out.")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        expect(page.get_by_role("link", name="A secret")).to_have_count(0)
    assert HOST in address
