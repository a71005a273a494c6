"""Undo and the trash in a real browser, with and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import Person
from tests.support.browser import window
from tests.support.browser_login import examine, sign_in
from tests.support.databases import ON_SQLITE
from tests.support.row_menus import in_row_menu
from tests.support.trash import NOUNS, move, new_items
from tests.support.visits import new_link
from waypost.db.database import Database

pytestmark = ON_SQLITE


def _delete_first(page: Page, *, scripts: bool) -> None:
    in_row_menu(page.locator("tbody tr").first, "Delete").click()
    dialog = page.get_by_role("dialog") if scripts else page.get_by_role("main")
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status").first).to_contain_text("The link was deleted.")


@pytest.mark.parametrize("scripts", [True, False])
def test_deleted_link_comes_back_by_undo_and_from_trash(
    ana: Person, chrome: Browser, address: str, *, scripts: bool
) -> None:
    for number in range(3):
        new_link(ana, f"link-{number}", title=f"Link {number}")
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/links?q=link")
        rows = page.locator("tbody tr")
        _delete_first(page, scripts=scripts)
        expect(rows).to_have_count(2)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status").first).to_contain_text("The item was restored.")
        expect(page).to_have_url(f"{address}/dashboard/links?q=link")
        expect(rows).to_have_count(3)
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        for _ in range(2):
            _delete_first(page, scripts=scripts)
        page.goto(f"{address}/dashboard")
        page.get_by_role("link", name="Trash").click()
        expect(rows).to_have_count(2)
        rows.filter(has_text="Link 2").get_by_title("Restore").click()
        expect(page.get_by_role("status").first).to_contain_text("The item was restored.")
        expect(rows).to_have_count(1)
        rows.first.get_by_title("Delete forever").click()
        (page.get_by_role("dialog") if scripts else page.get_by_role("main")).get_by_role(
            "button", name="Delete forever"
        ).click()
        expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()
    assert [link["title"] for link in ana.get("/urls")["data"]["urls"]] == ["Link 2", "Link 0"]


@pytest.mark.parametrize("scripts", [True, False])
def test_selected_items_are_restored_and_the_others_deleted_for_good(
    ana: Person, chrome: Browser, address: str, database: Database, *, scripts: bool
) -> None:
    links = [new_link(ana, f"link-{number}", title=f"Link {number}") for number in range(5)]
    move(database, ana, "url", *links)
    with window(chrome, scripts=scripts) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/trash")
        for number in (1, 3):
            page.locator("tbody tr").filter(has_text=f"Link {number}").get_by_role("checkbox").check()
        page.locator("button[value=restore]").click()
        expect(page.get_by_role("status").first).to_contain_text("2 items were restored.")
        expect(page.locator("tbody tr")).to_have_count(3)
        page.get_by_role("link", name="Empty trash").click()
        question = page.get_by_role("dialog") if scripts else page.get_by_role("main")
        expect(question.get_by_role("heading", name="Delete 3 items in the trash forever?")).to_be_visible()
        question.get_by_role("button", name="Empty trash").click()
        expect(page.get_by_role("status").first).to_contain_text("The trash was emptied.")
    assert [link["title"] for link in ana.get("/urls")["data"]["urls"]] == ["Link 3", "Link 1"]


def test_pages_of_trash_are_accessible_and_fit(
    ana: Person, chrome: Browser, address: str, database: Database, ingester: None
) -> None:
    with window(chrome) as seen:
        page = seen.page
        sign_in(page, address)
        page.goto(f"{address}/dashboard/trash")
        examine(page, "/trash, empty")
        ids = new_items(ana)
        for noun in NOUNS:
            move(database, ana, noun, ids[noun])
        link = new_link(ana, "long-" + "x" * 40, title="A very long title " * 10)
        move(database, ana, "url", link)
        for path in ("/trash", "/trash/1/delete", "/trash/empty"):
            page.goto(f"{address}/dashboard{path}")
            examine(page, path)
        new_link(ana, "spring")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{address}/dashboard/links")
        in_row_menu(page.locator("tbody tr").first, "Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        examine(page, "/links with Undo")
        assert seen.foreign_urls == []
