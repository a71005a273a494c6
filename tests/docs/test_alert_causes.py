"""Each alert of deploy/alerts.yaml: its cause is provoked, and a scrape reads a value that fires the rule."""

import re
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import yaml
from sqlalchemy import text as sql

from tests.conftest import Person, create_person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import download, new_file
from tests.support.load import until
from tests.support.server import serving
from tests.support.source import ROOT
from tests.support.threads import join
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import format_line, item_fields
from waypost.core import clock
from waypost.core.metrics import Meter
from waypost.core.settings import Settings
from waypost.db import maintenance
from waypost.db.database import Database
from waypost.server import gauges
from waypost.server.app import build

_OF_SEVERAL_SCRAPES = {
    "WaypostNodeDown": "up",
    "WaypostOverloaded": "waypost_shed_total",
    "WaypostSlow": "waypost_visit_seconds_bucket",
    "WaypostVersionsDiffer": "waypost_info",
}
"""Alerts with tests of their own, and the metrics that fire them."""
_WAITING = 50  # requests that are never rejected


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
    metrics = {alert: metric for alert, (_, metric, _) in _CAUSES.items()} | _OF_SEVERAL_SCRAPES
    assert rules.keys() == metrics.keys()
    assert all(metric in rules[alert] for alert, metric in metrics.items())


@ON_SQLITE
@pytest.mark.parametrize("alert", _CAUSES)
def test_cause_of_alert_is_in_the_metrics(alert: str, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    cause, metric, fires = _CAUSES[alert]
    cause(node, monkeypatch)
    assert fires(node.metric(metric))


@ON_SQLITE
def test_locked_database_makes_visits_slow_and_overloads_the_node(node: Node) -> None:
    new_file(node.person, "a.bin", custom="mine")
    visitors: list[threading.Thread] = []
    rejected = threading.Event()

    def visit() -> None:
        if "overloaded" in download(node.person.client.another()).text:
            rejected.set()

    def begin_visit() -> None:
        visitors.append(threading.Thread(target=visit))
        visitors[-1].start()

    def is_overloaded() -> bool:
        begin_visit()  # rejected at once when nothing was answered for two seconds
        return rejected.is_set()

    slow, all_visits = (rf'waypost_visit_seconds_bucket{{le="{bound}"}}' for bound in ("1.0", r"\+Inf"))
    assert (node.metric(slow), node.metric("waypost_shed_total")) == (node.metric(all_visits), 0)
    with closing(sqlite3.connect(node.settings.data_dir / "waypost.db", isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        for _ in range(_WAITING):
            begin_visit()
        until(is_overloaded)
    join(*visitors)
    assert node.metric("waypost_shed_total") > 0
    assert node.metric(all_visits) - node.metric(slow) > _WAITING / 2


@ON_SQLITE
def test_nodes_of_two_versions_differ_in_their_metrics(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    scrapes = node.person.client.get("/metrics").text
    monkeypatch.setattr(gauges, "__version__", "9.9.9")  # as after an upgrade of one node
    scrapes += node.person.client.get("/metrics").text
    assert len(set(re.findall(r'^waypost_info\{version="([^"]+)"\} 1', scrapes, re.MULTILINE))) == 2


def test_killed_node_fails_its_scrape(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.call("GET", "/metrics").status_code == 200
        server.process.terminate()
        server.process.wait()
        with pytest.raises(httpx2.ConnectError):
            server.call("GET", "/metrics")
