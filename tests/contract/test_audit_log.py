"""Every writing endpoint of the API records what it changed."""

from collections.abc import Sequence

import pytest

from tests.conftest import PASSWORD, Person
from tests.contract.endpoints import DECISIONS, DOCUMENT, ItemIds, Row
from tests.support.audit_log import Recorded
from tests.support.databases import ON_BOTH_DATABASES
from waypost.audit.log import Entry

pytestmark = ON_BOTH_DATABASES
_WRITING = [row for row in DOCUMENT + DECISIONS if not row.name.startswith("GET ")]
_NAMES = {
    "PUT /account/update": ["account.updated", "account.password_changed"],
    "POST /files/upload/:filename": ["file.created"],
    "PUT /files/upload/:filename": ["file.created"],
    "POST /campaign/:campaignid/assign/:linkid": ["link.updated"],
    "POST /channel/:channelid/assign/:type/:itemid": [],  # it is in the channel
    "POST /import/add": ["import.created"],
    "POST /webhook/:id/rotate": ["webhook.secret_rotated"],
    "POST /webhook/:id/test": ["webhook.tested"],
    "POST /webhook/:id/replay": [],  # none has failed
    "DELETE /admin/account/:id/delete": ["account.deletion_scheduled"],
    "POST /admin/account/:id/cancel-deletion": [],  # none is scheduled
    "POST /admin/account/:id/remove-two-factor": [],  # there is none
}
"""The events of the requests whose path does not tell them."""
_VERBS = {"add": "created", "update": "updated", "delete": "deleted"}


def _expected(row: Row) -> Sequence[str]:
    if row.name in _NAMES:
        return _NAMES[row.name]
    parts = row.name.split("/")
    kind = "link" if parts[1] == "url" else parts[1]
    return [f"{kind}.{_VERBS[parts[-1]]}"]


@pytest.mark.parametrize("row", _WRITING, ids=str)
def test_each_request_records_one_event_for_each_thing(
    ana: Person, item_ids: ItemIds, recorded: Recorded, row: Row
) -> None:
    recorded()
    options = {} if row.content is None else {"content": row.content}
    response = ana.call(row.name.split()[0], row.path(item_ids), row.body, **options)
    assert response.status_code == row.status, response.text
    events = [event for event in recorded() if event.origin != "import"]
    assert [event.name for event in events] == _expected(row)
    for event in events:
        _check(ana, event)


def _check(ana: Person, event: Entry) -> None:
    """Check the author of the change, and that nothing secret is stored."""
    assert (event.origin, event.actor, event.key) == ("api", ana.account, ana.key[:8])
    assert len(event.network) == 16
    stored = f"{event.before}{event.after}{event.label}"
    for secret in (ana.key, PASSWORD, "a new password", "tulip", "$argon2", "203.0.113", "127.0.0.1"):
        assert secret not in stored


def test_request_that_fails_records_nothing(ana: Person, item_ids: ItemIds, recorded: Recorded) -> None:
    recorded()
    assert ana.call("POST", "/url/add", {"url": "https://example.com/", "custom": "a-link"}).status_code == 400
    assert ana.call("PUT", f"/url/{item_ids['url']}/update", {"campaign": 999_999}).status_code == 400
    assert ana.call("DELETE", "/url/999999/delete").status_code == 404
    assert recorded() == []
