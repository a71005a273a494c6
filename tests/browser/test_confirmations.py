"""Confirmations: cancel comes first and has the focus, the dangerous action is at the inline end."""

import re
from itertools import product

from playwright.sync_api import Browser, Locator, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in, signed_in_page
from tests.support.databases import ON_SQLITE
from tests.support.files import new_file
from tests.support.overlays import open_overlay, send_answers
from tests.support.trash import move
from tests.support.visits import new_link

pytestmark = ON_SQLITE
_DISTANCE_TO_END = """(actions) => {
  const {left, right} = actions.getBoundingClientRect(), last = actions.lastElementChild.getBoundingClientRect();
  return document.documentElement.dir === "rtl" ? last.left - left : right - last.right;
}"""


def _check(actions: Locator, danger: str) -> None:
    expect(actions.locator("> :first-child")).to_have_text("Cancel")
    expect(actions.locator("> :last-child")).to_have_text(danger)
    expect(actions.locator("> :last-child")).to_have_class("bad")
    assert abs(actions.evaluate(_DISTANCE_TO_END)) < 1


def test_dangerous_action_is_at_the_inline_end(ana: Person, chrome: Browser, address: str) -> None:
    link = new_link(ana, "spring")
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links/{link}/delete")
        _check_everywhere(page, page.locator("main .confirmation .actions"))
        page.goto(f"{address}/dashboard/links/{link}")
        page.get_by_role("link", name="Delete").first.click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
        _check_everywhere(page, dialog.locator(".actions"))


def _check_everywhere(page: Page, actions: Locator) -> None:
    for width, direction in product((320, 1280), ("ltr", "rtl")):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        _check(actions, "Delete")


def _fill_lists(ana: Person) -> dict[str, str]:
    """Create two items for each list that has a selection; return the question for both by the path of the list."""
    overlay, _, page = open_overlay(ana, "newsletter")
    for number in range(2):
        ana.add("qr", type="text", data=f"text {number}", name=f"Code {number}")
        ana.add("bio", name=f"Page {number}", alias=f"page-{number}")
        new_file(ana, f"file-{number}.txt", b"text")
        send_answers(ana, page, email=f"guest-{number}@example.com")
    move(ana.database, ana, "splash", *(ana.add("splash", name=f"Old page {number}") for number in range(2)))
    new_link(ana, "spring")
    return {
        "trash": "Delete 2 items forever?",  # before others are in it
        "links": "Delete 2 links?",
        "qr": "Delete 2 QR codes?",
        "bios": "Delete 2 pages?",
        "files": "Delete 2 files?",
        f"overlays/{overlay}/answers": "Delete 2 submissions?",
    }


def _ask(page: Page, path: str) -> None:
    """Select the rows of a list, and press the button that deletes them."""
    page.goto(path)
    boxes = page.locator("#rows [name=id]")
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    page.get_by_role("button", name=re.compile("^Delete.*…$")).click()


def test_many_items_are_confirmed_in_dialog_as_one_is(ana: Person, chrome: Browser, address: str) -> None:
    questions = _fill_lists(ana)
    with signed_in_page(chrome, address) as page:
        for name, question in questions.items():
            _ask(page, f"{address}/dashboard/{name}")
            dialog = page.get_by_role("dialog", name=question)
            expect(dialog.get_by_role("heading", name=question)).to_be_visible()
            expect(dialog.get_by_role("link", name="Cancel")).to_be_focused()
            assert page.url == f"{address}/dashboard/{name}"
            page.keyboard.press("Escape")
            expect(dialog).to_be_hidden()
            expect(page.get_by_role("button", name=re.compile("^Delete.*…$"))).to_be_focused()
            page.keyboard.press("Enter")
            if name == "links":
                expect(dialog).to_be_visible()
                examine(page, "question for two links")
            dialog.get_by_role("button", name="Delete").click()
            expect(page.locator("#rows [name=id]")).to_have_count(0)
            expect(page.get_by_role("status").first).to_contain_text("2 ")


def test_many_items_are_confirmed_on_page_without_scripts(ana: Person, chrome: Browser, address: str) -> None:
    questions = _fill_lists(ana)
    with window(chrome, scripts=False) as seen:
        page = seen.page
        sign_in(page, address)
        for name, question in questions.items():
            _ask(page, f"{address}/dashboard/{name}")
            expect(page.get_by_role("main").get_by_role("heading", name=question, level=1)).to_be_visible()
            page.get_by_role("link", name="Cancel").click()
            assert page.url == f"{address}/dashboard/{name}"


def test_expiry_of_links_is_asked_until_it_is_answered(ana: Person, chrome: Browser, address: str) -> None:
    """A lost and a refused answer keep the dialog, the next is sent once, and can be undone."""
    link, gone = new_link(ana, "spring"), new_link(ana, "gone")
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links?status=public")
        page.get_by_label("Select gone").check()
        ana.remove("url", gone)
        page.get_by_role("button", name="Delete …").click()
        expect(page.get_by_text("1 link was deleted already and was skipped.")).to_be_visible()
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.goto(f"{address}/dashboard/links?status=public")
        page.locator("#rows [name=id]").check()
        page.locator("[popovertarget=bulk-menu]").click()
        page.get_by_role("button", name="Set expiry").click()
        dialog = page.get_by_role("dialog", name="When does this link expire?")
        dialog.get_by_label("Expires").fill("2020-01-01T10:00")
        page.route("**/links/bulk", lambda route: route.abort(), times=1)
        dialog.get_by_role("button", name="Set expiry").click()
        expect(page.get_by_text("The request failed. Please try again.")).to_be_visible()
        expect(dialog.get_by_label("Expires")).to_have_value("2020-01-01T10:00")
        seen.console_errors.clear()  # of the lost request
        dialog.get_by_role("button", name="Set expiry").click()
        expect(dialog.get_by_text("must not be in the past")).to_be_visible()
        expect(dialog.get_by_label("Expires")).to_be_focused()
        dialog.get_by_label("Expires").fill("2098-12-31T23:59")
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        page.evaluate(_CLICK_TWICE)
        expect(page.locator("tbody .tag", has_text="Until")).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        assert page.url == f"{address}/dashboard/links?status=public"
    assert sent == [f"{address}/dashboard/links/bulk"]
    assert ana.details("url", link)["expiry"].startswith("2098-12-31")


_CLICK_TWICE = """() => {
  const button = document.querySelector('#confirmation button:not([type=button])');
  button.click();
  button.click();
}"""
