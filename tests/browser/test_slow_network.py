"""Who is in a hurry, or far away: presses that come twice, answers that come late, in another order, or not at all."""

import re

import pytest
from playwright.sync_api import Browser, FilePayload, Page, Route, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import sign_in
from tests.support.visits import new_link
from tests.visits.test_overlays import overlay

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
_TEXTS: list[FilePayload] = [
    {"name": name, "mimeType": "text/plain", "buffer": b"words"} for name in ("one.txt", "two.txt")
]
BROKE = "That did not work. Please try again."


def _hold(page: Page, pattern: str) -> list[Route]:
    """The requests that are kept waiting from now on."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108  # Playwright marks the function that it is given
    return held


def _until_held(page: Page, held: list[Route]) -> None:
    for _ in range(500):
        if held:
            return
        page.wait_for_timeout(20)
    raise AssertionError("nothing was asked for")


def _open_links(page: Page, address: str, ana: Person) -> None:
    for title in ("Tea", "Green tea", "Mild green tea"):
        ana.post("/url/add", {"url": "https://target.example/", "title": title})
    sign_in(page, address)
    page.goto(f"{address}/dashboard/links")


def test_the_table_is_of_what_was_asked_last(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page, rows = seen.page, seen.page.locator("tbody tr")
        _open_links(page, address, ana)
        steps = page.evaluate("history.length")
        held = _hold(page, "**q=te&**")
        page.get_by_role("searchbox").fill("te")
        _until_held(page, held)
        page.get_by_role("searchbox").fill("green")
        expect(rows).to_have_count(2)
        page.get_by_role("searchbox").fill("mild")
        expect(rows).to_have_count(1)
        assert page.evaluate("history.length") == steps + 1  # a search is one step, however it was typed
        page.get_by_role("searchbox").press("Enter")
        page.get_by_role("link", name="Clicks", exact=True).click()
        page.wait_for_url("**order=click**")
        page.get_by_role("searchbox").fill("green")
        page.wait_for_url("**q=green**order=click**")
        page.go_back()
        page.wait_for_url("**q=mild**")
        expect(rows).to_have_count(1)
        expect(page.get_by_role("searchbox")).to_have_value("mild")


def test_what_is_no_answer_changes_nothing_and_is_told(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page, rows = seen.page, seen.page.locator("tbody tr")
        _open_links(page, address, ana)
        for answer in (lambda route: route.fulfill(status=503, body="Busy."), lambda route: route.abort()):
            page.route("**/dashboard/links?q=mild**", answer, times=1)
            page.get_by_role("searchbox").fill("mild")
            expect(page.get_by_text(BROKE)).to_be_visible()
            expect(rows).to_have_count(3)
            assert page.url == f"{address}/dashboard/links"
            page.evaluate("document.querySelector('.toasts').replaceChildren()")
        page.get_by_role("searchbox").press("Enter")
        expect(rows).to_have_count(1)
        seen.complaints.clear()  # of what did not come


def test_a_new_table_waits_for_what_is_pressed_and_keeps_what_is_ticked(
    ana: Person, chrome: Browser, address: str
) -> None:
    with window(chrome) as seen:
        page, rows = seen.page, seen.page.locator("tbody tr")
        _open_links(page, address, ana)
        held = _hold(page, "**q=green**")
        page.get_by_role("searchbox").fill("green")
        _until_held(page, held)
        rows.nth(1).get_by_role("checkbox").check()
        rows.nth(1).get_by_title("Delete").hover()
        page.mouse.down()
        with page.expect_event("requestfinished"):
            held[0].continue_()
        page.wait_for_timeout(200)
        page.mouse.up()
        expect(page.get_by_role("dialog", name="Delete this link?")).to_contain_text("Green tea")
        expect(rows).to_have_count(2)
        expect(rows.nth(1).get_by_role("checkbox", include_hidden=True)).to_be_checked()


def test_what_is_pressed_twice_is_done_once(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        _open_links(page, address, ana)
        page.locator("[data-create]:visible").first.dblclick()  # its second press is not one beside the dialog
        dialog = page.get_by_role("dialog", name="New link")
        field = dialog.get_by_label("Where should it lead?")
        field.fill("https://target.example/")
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
        expect(page.get_by_role("status").first).to_contain_text("Your link is ready.")
        page.wait_for_load_state()  # a link pressed before the scripts are there is followed
        page.locator("tbody tr").first.get_by_title("Delete").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="Keep")).to_be_focused()
    assert ana.get("/urls")["data"]["result"] == 4


def test_a_question_is_asked_once_and_only_the_newest(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page, rows = seen.page, seen.page.locator("tbody tr")
        _open_links(page, address, ana)
        held = _hold(page, "**/dashboard/links/3/delete")
        rows.nth(0).get_by_title("Delete").click()
        _until_held(page, held)
        rows.nth(1).get_by_title("Delete").click()
        question = page.get_by_role("dialog", name="Delete this link?")
        expect(question.get_by_role("listitem")).to_contain_text("Green tea")
        held[0].continue_()
        page.wait_for_timeout(200)
        expect(question.get_by_role("listitem")).to_have_text(re.compile("^Green tea"))
        question.get_by_role("link", name="Keep").click()
        page.route("**/dashboard/links/1/delete", lambda route: route.abort(), times=1)
        rows.nth(2).get_by_title("Delete").click()
        page.wait_for_url("**/dashboard/links/1/delete")  # the link is followed
        expect(page.get_by_role("heading", name="Delete this link?")).to_be_visible()
        seen.complaints.clear()  # of what did not come


def test_the_phone_shows_the_newest_and_no_other_page(ana: Person, chrome: Browser, address: str) -> None:
    ana.post("/bio/add", {"name": "Ana", "blocks": [{"type": "heading", "text": "Old words"}]})
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        held = _hold(page, "**/dashboard/bios/1/phone")
        page.goto(f"{address}/dashboard/bios/1", wait_until="commit")
        words, phone = page.locator("[data-block] textarea"), page.frame_locator("iframe[name=phone]")
        expect(words).to_have_value("Old words")
        page.wait_for_load_state("domcontentloaded")  # so the builder listens
        words.fill("New words")
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()
        held[0].continue_()
        page.wait_for_load_state()
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()
        page.context.clear_cookies()
        with page.expect_response("**/dashboard/signin"):
            words.fill("Newer words")
        page.wait_for_timeout(200)
        expect(phone.get_by_role("heading", name="New words")).to_be_visible()


_SCRIPTS = "**/static/*.js"


def _open_bare(page: Page, url: str) -> list[Route]:
    """A page whose scripts are still on their way."""
    held = _hold(page, _SCRIPTS)
    page.goto(url, wait_until="commit")
    return held


def _release(page: Page, held: list[Route]) -> None:
    _until_held(page, held)
    for route in held:
        route.continue_()
    page.unroute(_SCRIPTS)


def test_what_is_done_before_the_scripts_are_there_is_not_lost(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        _open_links(page, address, ana)
        held = _open_bare(page, f"{address}/dashboard/links")
        page.get_by_label("All on this page").check()
        page.get_by_role("searchbox").fill("mild")
        _release(page, held)
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("tbody").get_by_role("checkbox")).to_be_checked()
        held = _open_bare(page, f"{address}/dashboard/files/new")
        page.locator("#file").set_input_files(_TEXTS[0])
        _release(page, held)
        expect(page.locator("[data-state=good]")).to_be_visible()


def test_an_upload_that_breaks_off_leaves_the_others(ana: Person, chrome: Browser, address: str) -> None:
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/files/new")
        page.route("**/dashboard/files/new", lambda route: route.fulfill(status=503, body="Busy."), times=1)
        page.locator("#file").set_input_files(_TEXTS)
        lines = page.locator("[data-uploads] li")
        expect(lines.nth(0)).to_contain_text("The upload broke off.")
        expect(lines.nth(1)).to_have_attribute("data-state", "good")


def test_a_letter_that_is_never_answered_can_be_sent_again(ana: Person, chrome: Browser, address: str) -> None:
    item = overlay(ana, "newsletter")
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
