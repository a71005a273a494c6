"""Selected items that were deleted, restored or purged before the form is sent are skipped; the others are changed."""

import re

import pytest

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.server import at_once
from tests.support.trash import LIST_PAGES, entries, move, new_items
from tests.support.visits import new_link
from waypost.db.database import Database
from waypost.trash import ops

_SKIPPED = "1 item is not in the trash any more and was skipped."


@pytest.mark.parametrize(("noun", "name"), [("file", "file"), ("qr", "QR code"), ("bio", "page")])
def test_deleted_items_of_a_selection_are_skipped(noun: str, name: str, ana: Person, dashboard: Browser) -> None:
    item, path = new_items(ana)[noun], LIST_PAGES[noun]
    place = f"/dashboard/{path}?page=1"
    response = dashboard.submit(f"/{path}/bulk", at=f"/{path}", id=[item + 50], next=place)
    assert response.headers["location"] == place
    assert dashboard.flash_message(response) == "1 item was deleted already and was skipped."
    question = dashboard.submit(f"/{path}/bulk", at=f"/{path}", id=[item, item + 50], next=place)
    ids = re.findall(r'name="id" value="([^"]*)"', question.text)
    form = {"token": hidden_field(question, "token"), "id": ids, "next": place}
    response = dashboard.client.post(f"/dashboard/{path}/delete", data=form)
    assert response.headers["location"] == place
    message = f"The {name} was deleted. 1 item was deleted already and was skipped."
    assert dashboard.flash_message(response) == message


def test_items_that_left_the_trash_are_skipped(ana: Person, dashboard: Browser, database: Database) -> None:
    for link, alias in enumerate(("spring", "summer", "autumn"), start=1):
        new_link(ana, alias)
        move(database, ana, "url", link)
    ids = entries(database, ana)
    ana.write(lambda tx: ops.restore(tx, ana.account, ids[:1]))
    question = dashboard.submit("/trash/bulk", at="/trash", action="purge", id=ids[:2]).text
    assert "Delete this item forever?" in question
    assert re.findall(r'name="id" value="(\d+)"', question) == [str(ids[1])]
    restored = dashboard.submit_for_message("/trash/bulk", at="/trash", action="restore", id=ids[:2])
    assert restored == f"The item was restored. {_SKIPPED}"
    purged = dashboard.submit_for_message("/trash/delete", at="/trash", id=ids[1:])
    assert purged == f"The item was deleted forever. {_SKIPPED}"
    assert entries(database, ana) == []
    assert ana.get("/urls")["data"]["result"] == 2


@pytest.mark.parametrize("action", ["restore", "purge"])
def test_same_items_selected_in_two_tabs_are_skipped_in_one(
    ana: Person, dashboard: Browser, database: Database, action: str
) -> None:
    for link in range(1, 21):
        new_link(ana, f"link-{link}")
        move(database, ana, "url", link)
    token = hidden_field(dashboard.get("/trash"), "token")
    form = {"token": token, "action": action, "id": [str(entry) for entry in entries(database, ana)]}
    path = "/dashboard/trash/bulk" if action == "restore" else "/dashboard/trash/delete"
    answers = at_once([lambda: dashboard.client.post(path, data=form)] * 2)
    assert [answer.status_code for answer in answers] == [303, 303]
    assert entries(database, ana) == []
    assert ana.get("/urls")["data"]["result"] == (20 if action == "restore" else 0)
