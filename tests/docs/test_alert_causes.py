"""Each alert of deploy/alerts.yaml: its cause is provoked, and a scrape reads a value that fires the rule."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import yaml
from sqlalchemy import text as sql

from tests.conftest import Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.source import ROOT
from waypost import clock
from waypost.app import build
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.entry import format_line, item_fields
from waypost.db import maintenance
from waypost.db.database import Database
from waypost.observability.metrics import Meter
from waypost.settings import Settings

_ELSEWHERE = {
    "WaypostNodeDown": "the node does not answer a scrape",
    "WaypostOverloaded": "tests/http/test_load_shedding.py",
    "WaypostSlow": "a time, which no test measures",
    "WaypostVersionsDiffer": "nodes of two versions; promtool tests the rule",
}


@dataclass(frozen=True)
class Node:
    """A service in process, and a person with a link."""

    settings: Settings
    person: Person

    def visit(self) -> None:
        """Visit the link."""
        self.person.client.get("/spring", headers={"Host": "go.localhost"})

    def journal(self, content: bytes) -> None:
        """Write a segment of the click journal."""
        (self.settings.journal_dir / "1.log").write_bytes(content)

    def metric(self, name: str) -> float:
        """Return a value of a scrape."""
        scrape = self.person.client.get("/metrics")
        assert scrape.status_code == 200
        match = re.search(rf"^{name} (\S+)$", scrape.text, re.MULTILINE)
        assert match is not None, name
        return float(match[1])


@pytest.fixture
def node(settings: Settings, database: Database) -> Iterator[Node]:
    changed = settings.model_copy(update={"metrics_networks": "127.0.0.1"})
    with AsgiClient(build(changed, database), address="127.0.0.1", raises=False) as client:
        person = create_person(client, database, "ana")
        person.add("url", url="https://example.com/", custom="spring")
        yield Node(changed, person)


def _remove_database(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.settings.database_file is not None
    node.settings.database_file.unlink()


def _block_journal(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(node.settings.journal_dir)
    node.settings.journal_dir.touch()
    node.visit()


def _fill_disk(_node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)


def _break_storage(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(node.settings.data_dir / "files", ignore_errors=True)
    (node.settings.data_dir / "files").touch()
    node.person.call("POST", "/files/upload/a.bin", content=b"x")


def _rename_table(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    node.person.write(lambda tx: tx.execute(sql("ALTER TABLE links RENAME TO lost")))
    node.visit()


def _keep_click_waiting(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    old = clock.now_ms() - 180_000
    node.journal(format_line(item_fields(1, "link", 1), old, b"", b"127.0.0.1", b"", (b"", b"", b"")))


def _damage_journal(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    node.journal(b"garbage\n")
    ingester = Ingester(node.settings, node.person.database)
    ingester.step()
    meter = Meter(node.settings.metrics_dir, "ingester")  # a process of its own, in the service
    meter.count("journal_torn", by=ingester._meter.counts()["journal_torn:"])
    meter.save()


def _do_nothing(_node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    """There was no backup yet."""


def _switch_maintenance_on(node: Node, _monkeypatch: pytest.MonkeyPatch) -> None:
    node.person.write(maintenance.switch_on)


_CAUSES: dict[str, tuple[Callable[[Node, pytest.MonkeyPatch], None], str, Callable[[float], bool]]] = {
    "WaypostDatabaseDown": (_remove_database, "waypost_database_up", lambda value: value == 0),
    "WaypostClicksLost": (_block_journal, "waypost_clicks_lost_total", lambda value: value > 0),
    "WaypostDiskAlmostFull": (_fill_disk, "waypost_disk_free_bytes", lambda value: value < 1e9),
    "WaypostStorageDown": (_break_storage, "waypost_storage_up", lambda value: value == 0),
    "WaypostInternalErrors": (_rename_table, "waypost_errors_total", lambda value: value > 0),
    "WaypostClicksNotCounted": (_keep_click_waiting, "waypost_oldest_uncounted_seconds", lambda value: value > 120),
    "WaypostJournalDamaged": (_damage_journal, "waypost_journal_torn_total", lambda value: value > 0),
    "WaypostBackupTooOld": (_do_nothing, "waypost_last_backup_timestamp_seconds", lambda value: value == 0),
    "WaypostMaintenance": (_switch_maintenance_on, "waypost_maintenance", lambda value: value == 1),
}


def test_each_alert_has_a_cause() -> None:
    groups = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"]
    rules = {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}
    assert rules.keys() == _CAUSES.keys() | _ELSEWHERE.keys()
    assert all(metric in rules[alert] for alert, (_, metric, _) in _CAUSES.items())


@ON_SQLITE
@pytest.mark.parametrize("alert", _CAUSES)
def test_cause_of_alert_is_in_the_metrics(alert: str, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    cause, metric, fires = _CAUSES[alert]
    cause(node, monkeypatch)
    assert fires(node.metric(metric))
