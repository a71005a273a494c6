"""Every form of the dashboard records what it changed, and nothing if it changed nothing."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from starlette.routing import compile_path

from tests.conftest import PASSWORD, Person
from tests.contract.audited_forms import FIRST_GROUPS, GROUPS, NEW_PASSWORD, PREVIOUS, Sent, Values, World
from tests.contract.endpoints import ItemIds
from tests.support import event_samples
from tests.support.audit_log import Recorded
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.filled_forms import fields_of
from tests.support.imports import await_import
from tests.support.logins import service_with_mail
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.routers import DASHBOARD_PAGES
from waypost.webhooks import catalog

pytestmark = ON_BOTH_DATABASES
_SENT_LATER = "/dashboard/forgot"
"""Its event is written with the e-mail."""


def _path(sent: Sent, ids: Mapping[str, str]) -> str:
    path = sent.path.format_map(ids)
    return path if path.startswith("/stats/") else f"/dashboard{path}"


def _send(sent: Sent, further: Values, world: World, previous: Any) -> Any:
    """Send a form as a browser without scripts does."""
    path = _path(sent, world.ids)
    at = path if sent.at is None else f"/dashboard{sent.at.format(**world.ids)}"
    page = previous if sent.at == PREVIOUS else world.browser.client.get(at)
    fields = fields_of(page.text, f"/dashboard{sent.form}" if sent.form else path)
    for name, value in sent.values.items():
        fields[name] = [text.format(**world.ids) for text in ([value] if isinstance(value, str) else value)]
    return world.browser.client.post(path, data={**fields, **further}, files=sent.files)


@pytest.mark.parametrize("group", GROUPS)
def test_each_form_records_its_change(
    ana: Person,
    item_ids: ItemIds,
    recorded: Recorded,
    settings: Settings,
    database: Database,
    record_property: Callable[[str, object], None],
    group: str,
) -> None:
    caused = []
    with service_with_mail(settings, database) as (client, _):
        world = World(ana, Browser(client), item_ids)
        for browser in (Browser(client.another()), world.browser):
            assert browser.sign_in("ana").status_code == 303
        response = None
        for sent in GROUPS[group]:
            further = sent.prepare(world)
            recorded()
            response = _send(sent, further, world, response)
            if sent.path.startswith("/import/"):
                await_import(ana)
            events = recorded()
            assert response.status_code == sent.status, (sent, response.text)
            assert sorted(event.name for event in events) == sorted(sent.events), sent
            assert {event.origin for event in events} <= {"dashboard", "import"}, sent
            for secret in (PASSWORD, NEW_PASSWORD, "tulip", "$argon2", "203.0.113", "127.0.0.1"):
                assert secret not in repr(events), sent
            caused += event_samples.payloads_of(events)
    record_property(event_samples.CAUSED, caused)
    ours = [each for each in caused if each["type"] in catalog.NAMES and FIRST_GROUPS[each["type"]] == group]
    assert event_samples.unlike_samples(ours) == {}


def test_every_form_is_sent() -> None:
    routes = {route.path: compile_path(route.path)[0] for route in DASHBOARD_PAGES if route.method == "POST"}
    missing = set(routes) - {_SENT_LATER}
    for sent in (sent for group in GROUPS.values() for sent in group):
        path = _path(sent, defaultdict(lambda: "1"))
        missing -= {route for route, pattern in routes.items() if pattern.match(path)}
    assert missing == set()
