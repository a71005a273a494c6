"""Double clicks, and responses that are late, out of order or missing."""

import re

from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.overlays import new_overlay
from tests.support.row_menus import in_row_menu
from tests.support.visits import new_link

pytestmark = ON_SQLITE
_TEXTS: list[FilePayload] = [
    {"name": name, "mimeType": "text/plain", "buffer": b"words"} for name in ("one.txt", "two.txt")
]
FAILED = "The request failed. Please try again."


def _hold(page: Page, pattern: str) -> list[Route]:
    """Hold all requests that match. Return the list that they are added to."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108  # Playwright marks the function that it is given
    return held


def _until_held(page: Page, held: list[Route]) -> None:
    for _ in range(500):
        if held:
            return
        page.wait_for_timeout(20)
    raise AssertionError("no request was held")


def _open_links(page: Page, address: str, ana: Person) -> None:
    for title in ("Tea", "Green tea", "Mild green tea"):
        ana.post("/url/add", {"url": "https://target.example/", "title": title})
    sign_in(page, address)
    page.goto(f"{address}/dashboard/links")


def test_list_survives_late_and_failed_responses(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        _open_links(page, address, ana)
        _show_the_newest_search(page)
        page.goto(f"{address}/dashboard/links")
        _keep_table_after_failure(page, address)
        seen.console_errors.clear()  # about the failed request
        page.goto(f"{address}/dashboard/links")
        _keep_selection_of_late_update(page)


def _show_the_newest_search(page: Page) -> None:
    rows = page.locator("tbody tr")
    steps = page.evaluate("history.length")
    held = _hold(page, "**q=te")
    page.get_by_role("searchbox").fill("te")
    _until_held(page, held)
    page.get_by_role("searchbox").fill("green")
    expect(rows).to_have_count(2)
    page.get_by_role("searchbox").fill("mild")
    expect(rows).to_have_count(1)
    assert page.evaluate("history.length") == steps + 1  # a search is one entry, however it was typed
    page.get_by_role("searchbox").press("Enter")
    page.get_by_role("link", name="Clicks", exact=True).click()
    page.wait_for_url("**order=click**")
    page.get_by_role("searchbox").fill("green")
    page.wait_for_url("**q=green**order=click**")
    page.go_back()
    page.wait_for_url("**q=mild**")
    expect(rows).to_have_count(1)
    expect(page.get_by_role("searchbox")).to_have_value("mild")


def _keep_table_after_failure(page: Page, address: str) -> None:
    rows = page.locator("tbody tr")
    for respond in (lambda route: route.fulfill(status=503, body="Busy."), lambda route: route.abort()):
        page.route("**/dashboard/links?q=mild**", respond, times=1)
        page.get_by_role("searchbox").fill("mild")
        expect(page.get_by_text(FAILED)).to_be_visible()
        expect(rows).to_have_count(3)
        assert page.url == f"{address}/dashboard/links"
        page.evaluate("document.querySelector('.toasts').replaceChildren()")
    page.get_by_role("searchbox").press("Enter")
    expect(rows).to_have_count(1)


def _keep_selection_of_late_update(page: Page) -> None:
    """An update waits until the pointer is released."""
    rows = page.locator("tbody tr")
    held = _hold(page, "**q=green**")
    page.get_by_role("searchbox").fill("green")
    _until_held(page, held)
    rows.nth(1).get_by_role("checkbox").check()
    in_row_menu(rows.nth(1), "Delete").hover()
    page.mouse.down()
    with page.expect_event("requestfinished"):
        held[0].continue_()
    page.wait_for_timeout(200)
    page.mouse.up()
    expect(page.get_by_role("dialog", name="Delete this link?")).to_contain_text("Green tea")
    expect(rows).to_have_count(2)
    expect(rows.nth(1).get_by_role("checkbox", include_hidden=True)).to_be_checked()


def test_double_click_submits_once(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        _open_links(page, address, ana)
        page.locator("[data-create]:visible").first.dblclick()  # the second click must not close the dialog
        dialog = page.get_by_role("dialog", name="New link")
        field = dialog.get_by_label("Destination URL")
        field.fill("https://target.example/another")
        field.hover()
        page.mouse.down()
        page.mouse.move(5, 5)
        page.mouse.up()
        held = _hold(page, "**/dashboard/links/new")
        field.focus()
        page.keyboard.press("Enter")
        _until_held(page, held)
        for _ in range(2):
            page.keyboard.press("Enter")
            page.wait_for_timeout(100)
        assert len(held) == 1
        held[0].continue_()
        expect(dialog).to_contain_text("Your link is ready")
        with page.expect_navigation():
            page.keyboard.press("Escape")
        page.wait_for_load_state()  # a link pressed before the scripts are there is followed
        in_row_menu(page.locator("tbody tr").first, "Delete").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Cancel")).to_be_focused()
    assert ana.get("/urls")["data"]["result"] == 4


def test_only_newest_confirmation_is_shown(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page, rows = seen.page, seen.page.locator("tbody tr")
        _open_links(page, address, ana)
        held = _hold(page, "**/dashboard/links/3/delete")
        in_row_menu(rows.nth(0), "Delete").click()
        _until_held(page, held)
        in_row_menu(rows.nth(1), "Delete").click()
        question = page.get_by_role("dialog", name="Delete this link?")
        expect(question.get_by_role("listitem")).to_contain_text("Green tea")
        held[0].continue_()
        page.wait_for_timeout(200)
        expect(question.get_by_role("listitem")).to_have_text(re.compile(r"^\s*Green tea"))
        question.get_by_role("link", name="Cancel").click()
        page.route("**/dashboard/links/1/delete", lambda route: route.abort(), times=1)
        in_row_menu(rows.nth(2), "Delete").click()
        page.wait_for_url("**/dashboard/links/1/delete")  # the link is followed
        expect(page.get_by_role("heading", name="Delete this link?")).to_be_visible()
        seen.console_errors.clear()  # about the failed request


def test_bio_preview_shows_newest_version(ana: Person, chrome: Browser, address: str) -> None:
    ana.post("/bio/add", {"name": "Ana", "blocks": [{"type": "heading", "text": "Old words"}]})
    with signed_in_page(chrome, address) as page:
        held = _hold(page, "**/dashboard/bios/1/phone")
        page.goto(f"{address}/dashboard/bios/1", wait_until="commit")
        words, phone = page.locator("[data-block] textarea"), page.frame_locator("iframe[name=phone]")
        expect(words).to_have_value("Old words")
        page.wait_for_load_state("domcontentloaded")  # so the builder listens
        page.locator("[data-block] summary").first.click()
        words.fill("New words")
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()
        held[0].continue_()
        page.wait_for_load_state()
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()
        page.context.clear_cookies()
        with page.expect_response("**/dashboard/signin**"):
            words.fill("Newer words")
        page.wait_for_timeout(200)
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()


_SCRIPTS = "**/static/*.js"


def _open_bare(page: Page, url: str) -> list[Route]:
    """Open a page and hold its scripts."""
    held = _hold(page, _SCRIPTS)
    page.goto(url, wait_until="commit")
    return held


def _release(page: Page, held: list[Route]) -> None:
    _until_held(page, held)
    page.route(_SCRIPTS, lambda route: route.continue_())  # ending interception could stop a request of the scripts
    for route in held:
        route.continue_()


def test_input_before_scripts_load_is_kept(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        _open_links(page, address, ana)
        held = _open_bare(page, f"{address}/dashboard/links")
        page.get_by_label("Select all links on this page").check()
        page.get_by_role("searchbox").fill("mild")
        _release(page, held)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody").get_by_role("checkbox")).to_be_checked()
        held = _open_bare(page, f"{address}/dashboard/files/new")
        page.locator("#file").set_input_files(_TEXTS[0])
        _release(page, held)
        expect(page.locator("[data-state=selected]")).to_be_visible()
        page.get_by_role("button", name="Upload").click()
        expect(page.locator("[data-state=good]")).to_be_visible(timeout=30_000)  # a busy disk


def test_failed_upload_does_not_stop_the_others(ana: Person, chrome: Browser, address: str) -> None:
    with signed_in_page(chrome, address) as page:
        page.goto(f"{address}/dashboard/files/new")
        page.route("**/dashboard/files/new", lambda route: route.fulfill(status=503, body="Busy."), times=1)
        page.wait_for_load_state()
        page.locator("#file").set_input_files(_TEXTS)
        lines = page.locator("[data-uploads] li")
        page.get_by_role("button", name="Upload").click()
        expect(lines.nth(0)).to_contain_text("The upload was interrupted.")
        expect(lines.nth(1)).to_have_attribute("data-state", "good", timeout=30_000)  # a busy disk
        page.get_by_role("button", name="Upload").click()
        expect(lines.nth(0)).to_have_attribute("data-state", "good", timeout=30_000)


def test_unanswered_newsletter_form_can_be_sent_again(ana: Person, chrome: Browser, address: str) -> None:
    item = new_overlay(ana, "newsletter")
    new_link(ana, "spring", type=f"overlay-{item}")
    with window(chrome) as seen:
        page = seen.page
        page.clock.install()
        page.goto(f"{address}/spring")
        held = _hold(page, "**/overlay/*")
        page.get_by_label("Your e-mail").fill("zoe@example.com")
        button = page.get_by_role("button", name="Sign me up")
        button.click()
        _until_held(page, held)
        expect(button).to_be_disabled()
        page.clock.fast_forward(20_000)
        expect(page.get_by_role("alert")).to_contain_text("Please try again")
        page.unroute("**/overlay/*")
        button.click()
        expect(page.get_by_role("status")).to_be_visible()
