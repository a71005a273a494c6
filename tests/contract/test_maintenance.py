"""Maintenance mode: no account and no visitor can change anything; redirects, downloads and reads continue."""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.endpoints import DECISIONS, DOCUMENT, ItemIds
from tests.contract.service import Service, running
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.files import download, new_file, upload
from tests.support.mcp_agent import agent_of
from tests.support.overlays import form_fields, open_overlay, send_form
from tests.support.source import SOURCE
from tests.support.visits import clicks, new_link, visit
from waypost.core.errors import unavailable
from waypost.core.settings import Settings
from waypost.db import maintenance
from waypost.db.database import Database
from waypost.server.app import build

MESSAGE = "The service is in maintenance"


@pytest.fixture
def switch(database: Database) -> Iterator[Callable[[bool], None]]:
    """Switch maintenance on or off, and wait until the service follows."""

    def switch_to(is_on: bool) -> None:  # noqa: FBT001
        database.write(maintenance.switch_on if is_on else maintenance.switch_off)
        time.sleep(maintenance.FOLLOW_SECONDS)

    yield switch_to
    database.write(maintenance.switch_off)


def _tables(database: Database) -> dict[str, Any]:
    """The rows of all items."""
    names = (
        "links",
        "files",
        "qrs",
        "bios",
        "campaigns",
        "channels",
        "pixels",
        "domains",
        "splashes",
        "overlays",
        "shares",
        "utm_templates",
    )
    query = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS rows FROM {name}" for name in names)
    return database.read(lambda tx: {row.name: row.rows for row in tx.exec_driver_sql(query)})


def test_every_change_of_the_api_is_refused_and_every_read_answered(
    ana: Person, item_ids: ItemIds, switch: Callable[[bool], None], database: Database
) -> None:
    before = _tables(database)
    switch(True)  # noqa: FBT003
    for row in DOCUMENT + DECISIONS:
        method = row.name.split()[0]
        options = {} if row.content is None else {"content": row.content}
        response = ana.call(method, row.path(item_ids), row.body, **options)
        if method == "GET":
            assert response.status_code == row.status, row
            continue
        assert (response.status_code, response.json()["code"]) == (503, "unavailable"), row
        assert response.json()["message"].startswith(MESSAGE)
        assert int(response.headers["Retry-After"]) > 0
    assert _tables(database) == before
    switch(False)  # noqa: FBT003
    ana.update("url", item_ids["url"], title="after")


def test_idempotency_key_can_be_used_again_after_maintenance(ana: Person, switch: Callable[[bool], None]) -> None:
    def create() -> Any:
        return ana.call("POST", "/url/add", {"url": "https://example.com/"}, headers={"Idempotency-Key": "one"})

    switch(True)  # noqa: FBT003
    assert create().status_code == 503
    switch(False)  # noqa: FBT003
    assert create().status_code == 200


def test_dashboard_tells_it_and_only_sign_in_and_out_work(
    dashboard: Browser, ana: Person, switch: Callable[[bool], None]
) -> None:
    new_link(ana, "one")
    assert "in maintenance" not in dashboard.get("/links").text
    switch(True)  # noqa: FBT003
    page = dashboard.get("/links")
    assert (page.status_code, "in maintenance" in page.text) == (200, True)
    refused = dashboard.submit("/links/new", url="https://example.com/")
    assert (refused.status_code, int(refused.headers["Retry-After"])) == (503, 60)
    assert MESSAGE in refused.text
    assert dashboard.submit("/signout", at="/links").status_code == 303
    assert dashboard.sign_in("ana").status_code == 303


def test_agents_get_the_reason(
    settings: Settings, database: Database, ana: Person, switch: Callable[[bool], None]
) -> None:
    with AsgiClient(build(settings.model_copy(update={"mcp": "on"}), database)) as client:
        agent = agent_of(Person(ana.account, ana.username, ana.key, client, database))
        switch(True)  # noqa: FBT003
        assert agent.problem("create_link", url="https://example.com/").startswith(MESSAGE)
        assert agent.call("list_items", kind="link")["total"] == 0


def test_visitors_are_redirected_and_counted_exactly_but_change_nothing(
    ana: Person, service: AsgiClient, switch: Callable[[bool], None]
) -> None:
    _, _, page = open_overlay(ana, "contact")
    link = new_link(ana, "limited", clicklimit=3)
    file = new_file(ana, "a.bin", custom="mine", maxdownloads=2)
    deletion = str(upload(ana, "b.bin").json()["deleteurl"])
    switch(True)  # noqa: FBT003
    assert [visit(service, "limited").status_code for _ in range(5)] == [302, 302, 302, 410, 410]
    assert [download(service).status_code for _ in range(3)] == [200, 200, 410]
    assert clicks(ana, link)[0] == 3
    assert ana.details("file", file)["downloads"] == 2
    answers = form_fields(page, name="Zoe", email="zoe@example.com", message="Hello")
    assert send_form(ana, page, answers).status_code == 503
    report = {"url": "http://go.localhost:8000/limited", "reason": "spam"}
    assert visit(service, "report", "POST", data=report).status_code == 503
    assert service.request("DELETE", deletion).status_code == 503
    switch(False)  # noqa: FBT003
    assert service.request("DELETE", deletion).status_code == 200


def test_mode_is_kept_while_the_database_does_not_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch, switch: Callable[[bool], None]
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise unavailable()

    mode = maintenance.MaintenanceMode(database)
    switch(True)  # noqa: FBT003
    assert mode.is_on()
    switch(False)  # noqa: FBT003
    with monkeypatch.context() as patch:
        patch.setattr(database, "read", fail)
        assert mode.is_on()
    assert not mode.is_on()


# Modules that write to the database without asking for the mode.
_ALWAYS_WRITE = {
    "admin/account_deletion.py": "accounts whose time is over",
    "admin/health.py": "proof that the database can be written",
    "admin/installation.py": "command of the operator",
    "admin/invitations.py": "command of the operator",
    "admin/link_moves.py": "command of the operator",
    "admin/new_accounts.py": "command of the operator",
    "admin/two_factor_removal.py": "command of the operator",
    "api/idempotency.py": "claims of keys",
    "auth/api_keys.py": "rate limits",
    "email_reports/scheduler.py": "reports that are due",
    "email_reports/surges.py": "notices of unusual numbers",
    "http/mail.py": "e-mails that are sent, and their results",
    "items/campaigns/public.py": "rotators",
    "items/domains/domain_checker.py": "results of checks",
    "items/links/expiry_events.py": "events of links whose time is over",
    "clicks/ingest/ingester.py": "counted clicks",
    "dashboard/app.py": "last use of sessions",
    "audit/checkpoints.py": "signatures of changes that were made",
    "db/audit_sequence.py": "positions of changes that were made",
    "db/distribution.py": "command of the operator",
    "db/notifications.py": "wake-ups of other processes",
    "db/patient_writes.py": "results of messages and e-mails that are sent",
    "db/upgrade.py": "migrations",
    "transfer/exports/runner.py": "claims of exports",
    "items/files/file_visits.py": "limits of downloads",
    "items/files/file_server.py": "limits of downloads",
    "items/files/upload.py": "uploads in progress",
    "transfer/imports/apply.py": "command of the operator",
    "transfer/imports/click_history.py": "command of the operator",
    "clicks/blocks/compaction.py": "copies of visits that are counted",
    "webhooks/sender.py": "messages about changes that were made",
    "transfer/imports/archives/part_rows.py": "partitions for batches of imports",
    "transfer/imports/archives/parts.py": "rows of a plan, in batches after `check`",
    "transfer/imports/archives/staging.py": "bytes of a plan whose batches are after `check`",
    "transfer/imports/batches.py": "batches of imports, each after `check`",
    "transfer/imports/undo.py": "command of the operator",
    "transfer/imports/plan_removal.py": "command of the operator",
    "transfer/imports/planner.py": "command of the operator",
    "transfer/imports/plans.py": "command of the operator",
    "items/links/dead_link_checker.py": "results of checks",
    "storage/cleanup.py": "contents that are already deleted",
    "visits/click_limits.py": "click limits",
}
_COMMANDS = ("transfer/backup/", "cli/", "transfer/migrate/", "server/", "demo/")


def test_every_other_write_of_a_request_asks_for_the_mode() -> None:
    unguarded = set()
    for path in SOURCE.rglob("*.py"):
        name, text = path.relative_to(SOURCE).as_posix(), path.read_text()
        if re.search(r"(?:database|services)\.write\b", text) and not name.startswith(_COMMANDS):
            unguarded.add(name)
    assert unguarded == _ALWAYS_WRITE.keys() | {"api/context.py", "visits/visitor_services.py"}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def running_service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Two workers on SQLite, two nodes on PostgreSQL."""
    with running(request, tmp_path_factory.mktemp("maintenance"), metrics_networks="127.0.0.1") as service:
        yield service


def test_all_processes_follow(running_service: Service) -> None:
    service = running_service

    def statuses() -> set[int]:
        body = {"url": "https://example.com/"}
        return {service.call("POST", "/api/url/add", body).status_code for _ in range(20)}

    for _ in range(3):
        assert statuses() == {200}
        service.database.write(maintenance.switch_on)
        time.sleep(maintenance.FOLLOW_SECONDS)
        assert statuses() == {503}
        for node in service.nodes:
            assert node.call("GET", "/readyz").json()["maintenance"] is True
            assert "waypost_maintenance 1.0" in node.call("GET", "/metrics").text
        service.database.write(maintenance.switch_off)
        time.sleep(maintenance.FOLLOW_SECONDS)
