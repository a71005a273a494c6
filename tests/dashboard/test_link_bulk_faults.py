"""Bulk actions of the list of links when some of the links were deleted, or a transaction fails."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.conftest import Person
from tests.support.bulk_actions import PLACE, SKIPPED, message_of, new_links, restore_deleted, run_action, undo_action
from tests.support.dashboard_client import Browser, hidden_field
from waypost.core.errors import not_found
from waypost.items.links import bulk_actions, bulk_pages
from waypost.trash import ops


def test_deleted_link_of_last_transaction_is_skipped_and_the_others_can_be_undone(
    ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_pages, "_AT_ONCE", 2)
    monkeypatch.setattr(ops, "MOVED_AT_ONCE", 2)
    ids = new_links(ana, 3)
    ana.call("DELETE", f"/url/{ids[2]}/delete")
    page = run_action(dashboard, "status-disabled", ids)
    assert message_of(page) == f"2 links were updated. {SKIPPED}"
    assert ana.details("url", ids[0])["status"] == "disabled"
    assert undo_action(dashboard, page) == "2 links are as they were."
    response = dashboard.submit("/links/delete", at="/links", id=ids)
    page = dashboard.client.get(response.headers["location"])
    assert message_of(page) == f"2 links were deleted. {SKIPPED}"
    assert ana.get("/urls")["data"]["result"] == 0
    assert restore_deleted(dashboard, page) == "2 items were restored."
    assert {link["id"] for link in ana.get("/urls")["data"]["urls"]} == set(ids[:2])


def test_links_before_an_error_stay_changed_and_can_be_undone(
    ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, run = new_links(ana, 3), bulk_actions.run

    def fail_on_last(tx: Connection, account: int, ids: Sequence[int], **values: Any) -> bulk_actions.Outcome:
        if ids == [3]:
            raise not_found("channel")
        return run(tx, account, ids, **values)

    monkeypatch.setattr(bulk_pages, "_AT_ONCE", 2)
    monkeypatch.setattr(bulk_actions, "run", fail_on_last)
    page = run_action(dashboard, "status-disabled", ids)
    assert message_of(page) == "2 links were updated. No such channel in this account."
    assert undo_action(dashboard, page) == "2 links are as they were."


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("status-disabled", "The link was updated."),
        ("expiry", "The link was updated."),
        ("domain-go.brand.example", "The link was updated."),
        ("utm-1", "The link was updated."),
        ("delete", "The link was deleted."),
    ],
)
def test_deleted_links_of_a_selection_are_skipped(ana: Person, dashboard: Browser, action: str, message: str) -> None:
    ana.add("domain", domain="https://go.brand.example")
    ana.add("utm", name="A", utm_source="a")
    ids = new_links(ana, 3)
    for link in ids[1:]:
        ana.remove("url", link)
    response = dashboard.submit("/links/bulk", at="/links", action=action, id=ids[1:], next=PLACE)
    assert response.headers["location"] == PLACE
    assert dashboard.flash_message(response) == "2 links were deleted already and were skipped."
    response = dashboard.submit("/links/bulk", at="/links", action=action, id=ids[:2], next=PLACE)
    if response.status_code == 200:
        names = ("token", "action", "confirmed", "next")
        form: dict[str, Any] = {name: unescape(hidden_field(response, name)) for name in names}
        form |= {"id": re.findall(r'name="id" value="([^"]*)"', response.text), "expiry": "2099-01-01T00:00"}
        path = "delete" if action == "delete" else "bulk"
        response = dashboard.client.post(f"/dashboard/links/{path}", data=form)
    assert response.headers["location"] == PLACE
    assert dashboard.flash_message(response) == f"{message} {SKIPPED}"
