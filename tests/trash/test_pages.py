"""The trash in the dashboard: Undo, restoration, deletion for good, and refusals."""

import html
import re
from typing import Any

import pytest
from sqlalchemy import update

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser, hidden_field, new_browser
from tests.support.databases import ON_SQLITE
from tests.support.trash import (
    LIST_PAGES,
    NOUNS,
    delete_in_dashboard,
    entries,
    move,
    new_items,
    restore_in_dashboard,
)
from tests.support.visits import new_link, visit
from waypost.db.database import Database
from waypost.db.schema import plans

_EACH_NOUN = pytest.mark.parametrize(
    ("database_url", "noun"),
    [*(("sqlite", noun) for noun in NOUNS), ("postgresql", "url")],
    indirect=["database_url"],
)
"""The statements of the pages are those of every noun; test_contract.py restores each noun on both databases."""
_SKIPPED = "1 item is not in the trash any more and was skipped."


def _undo(dashboard: Browser, page: Any) -> Any:
    """Press Undo in the message of a page."""
    batch = re.search(r'name="batch"\s+value="([^"]+)"', page.text)
    assert batch is not None
    form = {"token": hidden_field(page, "token"), "batch": batch[1]}
    return dashboard.client.post("/dashboard/trash/undo", data=form)


def _delete_links(dashboard: Browser, ids: list[int], **fields: str) -> Any:
    return dashboard.submit("/links/delete", at="/links", id=ids, **fields)


def _follow(dashboard: Browser, response: Any) -> Any:
    assert response.status_code == 303, response.text
    return dashboard.client.get(response.headers["location"])


@_EACH_NOUN
def test_undo_in_message_restores_item_and_shows_its_list(noun: str, ana: Person, dashboard: Browser) -> None:
    ids = new_items(ana)
    page = _follow(dashboard, delete_in_dashboard(dashboard, noun, ids[noun]))
    assert "deleted" in page.text
    response = _undo(dashboard, page)
    assert response.headers["location"] == f"/dashboard/{LIST_PAGES[noun]}"
    assert dashboard.flash_message(response) == "The item was restored."
    assert dashboard.get(f"/{LIST_PAGES[noun]}/{ids[noun]}").status_code == 200


def test_undo_restores_every_item_of_the_action_and_no_other(
    ana: Person, service: AsgiClient, dashboard: Browser
) -> None:
    links = [new_link(ana, f"link-{number}") for number in range(4)]
    _delete_links(dashboard, links[3:])
    page = _follow(dashboard, _delete_links(dashboard, links[:3]))
    assert dashboard.flash_message(_undo(dashboard, page)) == "3 items were restored."
    assert [visit(service, f"link-{number}").status_code for number in range(4)] == [302, 302, 302, 404]


def test_undo_after_list_changed_restores_the_rest(
    ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    links = [new_link(ana, f"link-{number}") for number in range(3)]
    page = _follow(dashboard, _delete_links(dashboard, links))
    first, second, _ = entries(database, ana)
    restore_in_dashboard(dashboard, first)
    dashboard.submit("/trash/delete", at="/trash", id=[second])
    new_link(ana, "newer")
    assert dashboard.flash_message(_undo(dashboard, page)) == "The item was restored."
    assert [visit(service, f"link-{number}").status_code for number in range(3)] == [302, 404, 302]
    assert _undo(dashboard, page).status_code == 404


def test_undo_returns_to_position_in_list(ana: Person, dashboard: Browser) -> None:
    links = [new_link(ana, f"link-{number}") for number in range(3)]
    position = "/dashboard/links?q=link"
    page = _follow(dashboard, _delete_links(dashboard, links[:1], next=position))
    assert hidden_field(page, "next") == position
    batch = re.search(r'name="batch"\s+value="([^"]+)"', page.text)
    assert batch is not None
    form = {"token": hidden_field(page, "token"), "batch": batch[1], "next": position}
    assert dashboard.client.post("/dashboard/trash/undo", data=form).headers["location"] == position


@_EACH_NOUN
def test_page_of_item_in_trash_says_so(
    noun: str, ana: Person, ben: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    text, item = "This item was deleted. You can restore it from the trash.", new_items(ana)[noun]
    move(database, ana, noun, item)
    for path in (f"/{LIST_PAGES[noun]}/{item}", f"/{LIST_PAGES[noun]}/{item}/delete"):
        page = dashboard.get(path)
        assert page.status_code == 404
        assert text in page.text
        assert re.search(r'href="/dashboard/trash">\s*Open trash', page.text)
    foreign = new_browser(service)
    foreign.sign_in("ben")
    assert text not in foreign.get(f"/{LIST_PAGES[noun]}/{item}").text
    dashboard.submit("/trash/delete", at="/trash", id=entries(database, ana))
    assert text not in dashboard.get(f"/{LIST_PAGES[noun]}/{item}").text


def test_second_restoration_is_refused(ana: Person, dashboard: Browser, database: Database) -> None:
    new_link(ana, "spring")
    move(database, ana, "url", 1)
    (entry,) = entries(database, ana)
    token = hidden_field(dashboard.get("/trash"), "token")
    path = f"/dashboard/trash/{entry}/restore"
    answers = [dashboard.client.post(path, data={"token": token}).status_code for _ in range(2)]
    assert answers == [303, 404]
    assert ana.get("/urls")["data"]["result"] == 1


def test_trash_of_another_account_is_not_found(
    ana: Person, ben: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    new_link(ana, "spring")
    page = _follow(dashboard, delete_in_dashboard(dashboard, "url", 1))
    (entry,) = entries(database, ana)
    foreign = new_browser(service)
    foreign.sign_in("ben")
    assert "The trash is empty" in foreign.get("/trash").text
    assert foreign.get(f"/trash/{entry}/delete").status_code == 404
    batch = re.search(r'name="batch"\s+value="([^"]+)"', page.text)
    assert batch is not None
    for path, fields in (
        (f"/trash/{entry}/restore", {}),
        ("/trash/undo", {"batch": batch[1]}),
    ):
        assert foreign.submit(path, at="/links", **fields).status_code == 404, path
    for path, action in (("/trash/bulk", "restore"), ("/trash/bulk", "purge"), ("/trash/delete", "")):
        assert foreign.submit_for_message(path, at="/links", action=action, id=[entry]) == _SKIPPED
    foreign.submit("/trash/empty", at="/links", until=entry)
    assert entries(database, ana) == [entry]
    assert visit(service, "spring").status_code == 404


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/trash/undo", {}, 404),
        ("/trash/undo", {"batch": "%00\x00'\""}, 400),
        ("/trash/undo", {"batch": "x" * 10_000}, 404),
        ("/trash/999999999999999999/restore", {}, 404),
        ("/trash/99999999999999999999999/restore", {}, 404),
        ("/trash/delete", {}, 303),
        ("/trash/delete", {"id": ["999"]}, 303),
        ("/trash/delete", {"id": ["-1", "x"]}, 303),
        ("/trash/bulk", {}, 303),
        ("/trash/bulk", {"id": ["1"], "action": "other"}, 303),
        ("/trash/bulk", {"id": ["99999999999999999999999"], "action": "restore"}, 303),
        ("/trash/bulk", {"id": ["999"], "action": "restore"}, 303),
        ("/trash/empty", {"until": ["x", "-5"]}, 303),
    ],
)
def test_hostile_form_changes_nothing(
    ana: Person, dashboard: Browser, database: Database, path: str, fields: dict[str, Any], status: int
) -> None:
    new_link(ana, "spring")
    move(database, ana, "url", 1)
    assert dashboard.submit(path, at="/trash", **fields).status_code == status
    assert len(entries(database, ana)) == 1


def test_trash_lists_items_with_names_escaped(ana: Person, dashboard: Browser, database: Database) -> None:
    new_link(ana, "spring", title="<b>Spring</b>")
    campaign = ana.add("campaign", name="Sale & more", slug="sale")
    move(database, ana, "url", 1)
    move(database, ana, "campaign", campaign)
    page = dashboard.get("/trash").text
    assert "<b>Spring" not in page
    names = [html.unescape(name) for name in re.findall(r'<span class="name" dir="auto">(.*?)</span>', page)]
    assert names == ["Sale & more", "<b>Spring</b>"]
    for address in ("go.localhost:8000/spring", "go.localhost:8000/r/sale"):
        assert address in page
    assert "Campaign" in page


def test_items_deleted_for_good_are_gone_after_confirmation(
    ana: Person, service: AsgiClient, dashboard: Browser, database: Database
) -> None:
    for number in range(3):
        new_link(ana, f"link-{number}")
        move(database, ana, "url", number + 1)
    first, second, third = entries(database, ana)
    assert "Delete this item forever?" in dashboard.get(f"/trash/{first}/delete").text
    confirmation = dashboard.submit("/trash/bulk", at="/trash", action="purge", id=[first, second])
    assert "Delete 2 items forever?" in confirmation.text
    assert entries(database, ana) == [first, second, third]
    form = {"token": hidden_field(confirmation, "token"), "id": [first, second]}
    response = dashboard.client.post("/dashboard/trash/delete", data=form)
    assert dashboard.flash_message(response) == "2 items were deleted forever."
    assert entries(database, ana) == [third]
    assert [visit(service, f"link-{number}").status_code for number in range(3)] == [404] * 3


def test_emptying_deletes_items_that_were_shown_and_no_later_ones(
    ana: Person, dashboard: Browser, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waypost.trash.ops.PURGED_AT_ONCE", 2)
    links = [new_link(ana, f"link-{number}") for number in range(6)]
    move(database, ana, "url", *links[:5])
    question = dashboard.get("/trash/empty")
    assert "Delete 5 items in the trash forever?" in question.text
    move(database, ana, "url", links[5])
    form = {"token": hidden_field(question, "token"), "until": hidden_field(question, "until")}
    response = dashboard.client.post("/dashboard/trash/empty", data=form)
    assert dashboard.flash_message(response) == "The trash was emptied."
    assert len(entries(database, ana)) == 1


@pytest.mark.parametrize("noun", ["campaign", "channel", "utm"])
def test_restoration_is_refused_if_name_is_in_use(
    noun: str, ana: Person, dashboard: Browser, database: Database
) -> None:
    item = ana.add(noun, name="Spring")
    move(database, ana, noun, item)
    newer = ana.add(noun, name="Spring")
    message = restore_in_dashboard(dashboard, *entries(database, ana))
    shown = {"utm": "UTM template"}.get(noun, noun)
    assert message.startswith(f"You have another {shown} with the name of a deleted one.")
    assert len(entries(database, ana)) == 1
    ana.update(noun, newer, name="Summer")
    assert restore_in_dashboard(dashboard, *entries(database, ana)) == "The item was restored."


def test_restoration_is_refused_above_limit_of_plan(ana: Person, dashboard: Browser, database: Database) -> None:
    links = [new_link(ana, f"link-{number}") for number in range(3)]
    move(database, ana, "url", links[0])

    ana.write(lambda tx: tx.execute(update(plans).values(item_limit=2)))
    assert "Your plan allows 2 links." in restore_in_dashboard(dashboard, *entries(database, ana))
    assert len(entries(database, ana)) == 1
    ana.remove("url", links[1])
    assert restore_in_dashboard(dashboard, *entries(database, ana)) == "The item was restored."


def test_deletion_by_api_leaves_trash_empty(ana: Person, database: Database) -> None:
    ids = new_items(ana)
    for noun in NOUNS:
        ana.remove(noun, ids[noun])
    assert entries(database, ana) == []
