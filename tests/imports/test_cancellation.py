"""Every import can be canceled, on any node. A hostile server of an import holds nothing that others need."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from tests.conftest import Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.dashboard_client import Browser
from tests.support.hostile_import_servers import (
    Behavior,
    HostileServer,
    endless,
    hostile_server,
    limiting,
    silent,
    trickling,
)
from tests.support.import_services import TOKEN
from tests.support.imports import SHOP, await_import, plan
from tests.support.load import until
from tests.support.server import at_once
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import import_plans, import_rows
from waypost.server.app import build
from waypost.transfer.imports import apply, planner, plans, runner
from waypost.transfer.imports.batches import Cancellation
from waypost.transfer.imports.planner import Options
from waypost.transfer.imports.sources import registry
from waypost.transfer.imports.sources.csv_files import CsvSource

_CSV = f"alias,url\nspring,{SHOP}"
_LINKS = "alias,url\n" + "\n".join(f"link-{number},{SHOP}/{number}" for number in range(1200))


@contextmanager
def _trusting(settings: Settings, database: Database, *servers: HostileServer) -> Iterator[AsgiClient]:
    """The service, with a setting that lets accounts import from these servers of this machine."""
    changed = settings.model_copy(update={"import_hosts": ",".join(server.address for server in servers)})
    with AsgiClient(build(changed, database)) as client:
        yield client


def _import_threads() -> int:
    return sum(thread.name == "import" for thread in threading.enumerate())


def _start(person: Person, url: str) -> int:
    body = {"service": "shlink", "url": url, "token": TOKEN}
    return int(person.call("POST", "/import/add", body).status_code)


def _import_file(person: Person) -> int:
    file = person.call("POST", "/files/upload/links.csv", content=_CSV).json()["id"]
    return int(person.call("POST", "/import/add", {"file": file}).status_code)


@contextmanager
def _waiting_import(
    settings: Settings, database: Database, name: str, behavior: Behavior
) -> Iterator[tuple[Person, HostileServer]]:
    """A person whose import waits for a hostile server."""
    with hostile_server(behavior) as server, _trusting(settings, database, server) as client:
        person = create_person(client, database, name)
        assert _start(person, server.url) == 200
        until(lambda: bool(server.requests))
        yield person, server


@pytest.mark.parametrize("behavior", [trickling, silent, limiting(30)], ids=["trickling", "silent", "limiting"])
def test_import_that_waits_for_a_server_is_canceled(settings: Settings, database: Database, behavior: Behavior) -> None:
    with _waiting_import(settings, database, "eve", behavior) as (eve, server):
        response = eve.call("DELETE", "/import/delete")
        assert (response.status_code, "canceled" in response.json()["message"]) == (200, True)
        assert eve.call("GET", "/import").status_code == 404
        assert eve.call("DELETE", "/import/delete").status_code == 404
        until(lambda: not server.open_requests and not _import_threads())
        assert _import_file(eve) == 200
        assert await_import(eve)["state"] == "planned"


def test_import_is_canceled_through_another_process(settings: Settings, database: Database, database_url: str) -> None:
    with (
        _waiting_import(settings, database, "eve", trickling) as (eve, server),
        closing(Database(database_url)) as other,
        AsgiClient(build(settings, other)) as client,
    ):
        elsewhere = Person(eve.account, eve.username, eve.key, client, other)
        runner.running, own = runner.Jobs(), runner.running  # another process does not know the jobs of this one
        try:
            assert elsewhere.call("DELETE", "/import/delete").status_code == 200
        finally:
            runner.running = own
        assert eve.call("GET", "/import").status_code == 404
        until(lambda: not server.open_requests and not _import_threads())


def test_wait_of_an_hour_ends_the_import_and_names_the_time(settings: Settings, database: Database) -> None:
    with _waiting_import(settings, database, "eve", limiting(3600)) as (eve, server):
        details = await_import(eve)
        assert (details["state"], len(server.requests)) == ("failed", 1)
        assert "limits its requests. Try again after 20" in details["error"]


def test_accounts_that_wait_for_a_server_do_not_block_others(
    settings: Settings, database: Database, ana: Person
) -> None:
    with hostile_server(silent) as server, _trusting(settings, database, server) as client:
        hostile = [create_person(client, database, f"eve{number}") for number in range(12)]
        assert [_start(person, server.url) for person in hostile] == [200] * 12
        until(lambda: server.open_requests == 12)
        assert _import_file(ana) == 200
        assert await_import(ana)["state"] == "planned"
        for person in hostile:
            assert person.call("DELETE", "/import/delete").status_code == 200


def test_slowest_of_too_many_waiting_imports_gives_way(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_MAX_RUNNING", 1)
    with _waiting_import(settings, database, "eve", silent) as (eve, server):
        mia = create_person(eve.client, database, "mia")
        assert _import_file(mia) == 200
        assert await_import(mia)["state"] == "planned"
        details = await_import(eve)
        assert (details["state"], "The other server was slow" in details["error"]) == ("failed", True)
        until(lambda: not server.open_requests)


def test_import_without_links_ends_after_ten_minutes(ana: Person, settings: Settings) -> None:
    times = iter(range(0, 10_000, 10))
    with hostile_server(endless) as server:
        options = registry.ServiceOptions(
            server.url, trusted_hosts=registry.hosts_of(server.url), reader={"clock": lambda: float(next(times))}
        )
        source = registry.of_service("shlink", TOKEN, options)
        with pytest.raises(Problem, match="no links for ten minutes"):
            planner.make(ana.database, settings, ana.account, source, Options())
        assert len(server.requests) == 61


def test_only_one_of_simultaneous_imports_of_an_account_starts(ana: Person) -> None:
    file = ana.call("POST", "/files/upload/links.csv", content=_CSV).json()["id"]
    statuses = at_once([lambda: ana.call("POST", "/import/add", {"file": file}).status_code] * 6)
    assert sorted(statuses)[0] == 200
    await_import(ana)
    assert len(ana.database.read(lambda tx: tx.execute(import_plans.select()).all())) == 1


def test_import_that_is_applied_stops_after_its_batch_and_resumes(ana: Person, settings: Settings) -> None:
    plan(ana, settings, _LINKS)
    number = ana.database.read(lambda tx: plans.current(tx, ana.account)).id
    with plans.busy(ana.database, ana.account, number) as process:
        ana.write(lambda tx: apply.apply_batch(tx, ana.account, number, settings, 500))
        response = ana.call("DELETE", "/import/delete")
        assert (response.status_code, "stops after its current step" in response.json()["message"]) == (200, True)
        assert ana.get("/import")["details"]["running"] is True
        with pytest.raises(Problem, match="canceled before its end"):
            until(process.check)
    assert ana.get("/import")["details"]["running"] is False
    assert (ana.get("/import")["details"]["state"], ana.get("/urls")["data"]["result"]) == ("applying", 500)
    ana.post("/import/apply")
    assert (await_import(ana)["state"], ana.get("/urls")["data"]["result"]) == ("applied", 1200)


def test_undo_that_is_canceled_resumes(ana: Person, settings: Settings) -> None:
    plan(ana, settings, _LINKS)
    apply.apply(ana.database, ana.account, settings)
    number = ana.database.read(lambda tx: plans.current(tx, ana.account)).id
    with plans.busy(ana.database, ana.account, number) as process:
        ana.write(lambda tx: plans.set_state(tx, ana.account, number, "undoing"))
        assert "Undo stops" in ana.delete("/import/delete")["message"]
        with pytest.raises(Problem, match="canceled before its end"):
            until(process.check)
    assert ana.get("/import")["details"]["state"] == "undoing"
    ana.post("/import/undo")
    assert (await_import(ana)["state"], ana.get("/urls")["data"]["result"]) == ("undone", 0)


def test_reader_of_a_canceled_plan_adds_no_rows(ana: Person, settings: Settings) -> None:
    """The reader is between two batches while another process cancels it."""

    def cancel() -> None:
        ana.delete("/import/delete")

    with pytest.raises(Problem, match="canceled before its end"):
        _read(ana, settings, cancel)
    for table in (import_plans, import_rows):
        assert ana.database.read(lambda tx, table=table: tx.execute(table.select()).all()) == []  # type: ignore[misc]


def _read(person: Person, settings: Settings, check: Callable[[], object]) -> None:
    number = person.write(lambda tx: plans.add(tx, person.account, "csv", conflicts="skip"))
    with plans.busy(person.database, person.account, number, Cancellation(check)) as process:
        planner.read(
            person.database,
            settings,
            person.account,
            number,
            CsvSource(io.BytesIO(_LINKS.encode()), {}),
            Options(),
            process.check,
        )


def test_page_of_a_running_import_offers_to_cancel_it(settings: Settings, ana: Person, dashboard: Browser) -> None:
    number = ana.write(lambda tx: plans.add(tx, ana.account, "csv", conflicts="skip"))
    for state, label in (("reading", "Cancel import"), ("applying", "Stop"), ("undoing", "Stop")):
        ana.write(lambda tx, state=state: plans.set_state(tx, ana.account, number, state))  # type: ignore[misc]
        assert f">{label}</button>" in dashboard.get("/import").text
    ana.write(lambda tx: plans.request_stop(tx, ana.account, number))
    assert "is being stopped" in dashboard.get("/import").text


def test_second_import_names_the_ways_to_continue(ana: Person) -> None:
    ana.write(lambda tx: plans.add(tx, ana.account, "csv", conflicts="skip"))
    response = ana.call("POST", "/import/apply")
    assert response.status_code == 409
    file = ana.call("POST", "/files/upload/links.csv", content=_CSV).json()["id"]
    response = ana.call("POST", "/import/add", {"file": file})
    assert (response.status_code, response.json()["message"]) == (
        409,
        "An import of this account is running. Wait until it ends, or cancel it.",
    )
