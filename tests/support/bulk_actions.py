"""Bulk actions of the list of links as a browser sends them."""

import re
from html import unescape
from typing import Any

from tests.conftest import Person
from tests.support.dashboard_client import Browser, hidden_field
from tests.support.visits import DESTINATION

PLACE = "/dashboard/links?q=link&page=1"
"""The position in the list to which actions return."""
SKIPPED = "1 link was deleted already and was skipped."


def run_action(dashboard: Browser, action: str, ids: list[int], **fields: Any) -> Any:
    """Run an action, and answer its question if there is one; return the page that follows."""
    response = dashboard.submit("/links/bulk", at="/links", action=action, id=ids, next=PLACE)
    if response.status_code == 200:
        form = {name: unescape(hidden_field(response, name)) for name in ("token", "action", "confirmed", "next")}
        response = dashboard.client.post("/dashboard/links/bulk", data={**form, "id": ids, **fields})
    assert response.status_code == 303, response.text
    assert response.headers["location"] == PLACE
    return dashboard.client.get(response.headers["location"])


def message_of(page: Any) -> str:
    """Return the flash message of a page."""
    match = re.search(r'<div class="alert.*?<p>(.*?)</p>', page.text, re.DOTALL)
    return unescape(re.sub("<[^>]+>", "", match[1]).strip()) if match else ""


def undo_action(dashboard: Browser, page: Any) -> str:
    """Press the Undo button of a page; return the message that follows."""
    form = re.search(r'<form method="post" action="/dashboard/links/undo".*?</form>', page.text, re.DOTALL)
    assert form is not None, page.text
    batch = re.search(r'value="(\w{32})"', form[0])
    assert batch is not None
    data = {"token": hidden_field(page, "token"), "batch": batch[1], "next": PLACE}
    response = dashboard.client.post("/dashboard/links/undo", data=data)
    assert response.headers["location"] == PLACE
    again = dashboard.client.post("/dashboard/links/undo", data=data)
    assert again.status_code == 404
    return dashboard.flash_message(response)


def restore_deleted(dashboard: Browser, page: Any) -> str:
    """Press the Undo button of a page after a deletion; return the message that follows."""
    batch = re.search(r'name="batch" value="(\w{32})"', page.text)
    assert batch is not None, page.text
    data = {"token": hidden_field(page, "token"), "batch": batch[1]}
    return dashboard.flash_message(dashboard.client.post("/dashboard/trash/undo", data=data))


def new_links(person: Person, count: int = 3, **fields: Any) -> list[int]:
    """Create links; return their ids."""
    return [person.add("url", url=f"{DESTINATION}?n={n}", custom=f"link-{n}", **fields) for n in range(count)]
