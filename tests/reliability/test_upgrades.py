"""Upgrades of a running node with SIGHUP: the recipe of docs/upgrading.md loses no request and no click."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from tests.support.load import add_ana, until
from tests.support.nodes import database_copy
from tests.support.server import Server, processes, serving
from tests.support.upgrades import CURRENT_REVISION, NEW_VERSION, NEXT_REVISION, Releases, Traffic, version_of
from waypost import __version__
from waypost.db import upgrade
from waypost.db.database import Database

_HOST = "go.localhost:8000"


@pytest.fixture
def releases(tmp_path: Path) -> Releases:
    """The old version is installed."""
    releases = Releases(tmp_path / "releases")
    releases.folder.mkdir()
    releases.install_old()
    return releases


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An own database: its tables will change."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'node' / 'waypost.db'}"
        return
    with database_copy(request.getfixturevalue("postgres"), "template") as url:
        yield url


@pytest.fixture
def node(tmp_path: Path, releases: Releases, database_url: str) -> Iterator[Server]:
    """A node with two workers of the old version; on PostgreSQL, one of them is an API worker."""
    api_workers = int(database_url.startswith("postgresql"))
    settings: dict[str, Any] = {"workers": 2 - api_workers, "api_workers": api_workers, "base_url": f"http://{_HOST}"}
    prefix = releases.command_prefix
    with serving(tmp_path / "node", database_url=database_url, command_prefix=prefix, **settings) as server:
        yield server


@pytest.fixture
def traffic(node: Server, database_url: str) -> Traffic:
    """Traffic to a link of the node."""
    with closing(Database(database_url)) as database:
        key = database.write(add_ana)
    port = urlsplit(node.url).port
    assert port is not None
    response = node.call("POST", "/api/url/add", key=key, json={"url": "https://example.com/", "custom": "spring"})
    assert response.status_code == 200, response.text
    return Traffic(port, key, "spring", _HOST)


def _revision(database_url: str) -> str | None:
    with closing(Database(database_url)) as database:
        return database.read(upgrade.current_revision)


def test_reload_upgrades_node_without_failed_request(
    node: Server, releases: Releases, traffic: Traffic, database_url: str
) -> None:
    before = {process.pid for processes_of_kind in processes(node) for process in processes_of_kind}
    assert (version_of(node), _revision(database_url)) == (__version__, CURRENT_REVISION)
    with traffic.running():
        traffic.wait_for_progress()
        releases.install_new()
        traffic.wait_for_progress()
        node.process.send_signal(signal.SIGHUP)

        def is_replaced() -> bool:
            workers, ingesters = processes(node)
            return (len(workers), len(ingesters)) == (2, 1) and not before & {p.pid for p in (*workers, *ingesters)}

        until(is_replaced)
        traffic.wait_for_progress()
    assert (traffic.failures, traffic.counts["added again"]) == ([], 0)
    assert (version_of(node), _revision(database_url)) == (NEW_VERSION, NEXT_REVISION)
    assert node.call("GET", "/readyz").json()["database"] == "ok"
    listed = node.call("GET", "/api/urls", key=traffic.key, params={"short": "spring"}).json()["data"]
    assert traffic.counts["visits"] <= listed["clicks"] <= traffic.counts["visits"] + traffic.counts["sent again"]
    visits = {node.call("GET", f"/{alias}", follow_redirects=False).status_code for alias in traffic.created}
    assert visits == {302}
    assert "Traceback" not in node.output()


_NO_MIGRATION = f"revision = '{NEXT_REVISION}'\ndown_revision = '{CURRENT_REVISION}'\nupgrade = None\n"
_KEEPS_OLD = "the new version cannot start, keeping the old workers"
_MIGRATED = "new worker did not start, keeping the old ones"


@dataclass(frozen=True)
class _Failure:
    """A release that cannot be installed: its fault, the message, and the revision of the tables after it.

    `dies` is the index of the kind of process, in the result of `processes`, that is killed after it.
    """

    release: Mapping[str, str]
    message: str
    revision: str
    dies: int


_FAILURES = {
    "sqlite": (
        _Failure({"migration": _NO_MIGRATION}, _KEEPS_OLD, CURRENT_REVISION, 0),
        # Before the migration, so without SQL. PostgreSQL has the API worker.
        _Failure({"broken": "clicks/ingest/ingester.py"}, _KEEPS_OLD, CURRENT_REVISION, 1),
        _Failure({"broken": "server/app.py"}, _MIGRATED, NEXT_REVISION, 0),
    ),
    "postgresql": (
        _Failure({"migration": _NO_MIGRATION}, _KEEPS_OLD, CURRENT_REVISION, 1),
        _Failure({"broken": "server/asgi.py"}, _KEEPS_OLD, CURRENT_REVISION, 0),
        _Failure({"broken": "server/app.py"}, _MIGRATED, NEXT_REVISION, 1),
    ),
}


def test_failed_reloads_keep_old_code_also_for_processes_that_die_later(
    node: Server, releases: Releases, traffic: Traffic, database_url: str
) -> None:
    """Each release fails at a later step than the one before, on the same node."""
    until(lambda: len(processes(node)[1]) == 1)
    for number, failure in enumerate(_FAILURES[database_url.partition(":")[0]]):
        _fail(node, releases, traffic, failure, f"new-{number}")
        assert (version_of(node), _revision(database_url)) == (__version__, failure.revision)
        with traffic.running():
            traffic.wait_for_progress()
        assert traffic.failures == []
    workers, ingesters = processes(node)
    _kill(node, [*workers, *ingesters])
    with traffic.running():
        traffic.wait_for_progress()
    assert traffic.failures == []
    assert (version_of(node), _revision(database_url)) == (__version__, NEXT_REVISION)


def _fail(node: Server, releases: Releases, traffic: Traffic, failure: _Failure, name: str) -> None:
    """Try to install a release. Kill the processes of one kind after it failed."""
    before, seen = processes(node), node.output().count(failure.message)
    with traffic.running():
        releases.install_new(name=name, **failure.release)
        node.process.send_signal(signal.SIGHUP)
        until(lambda: node.output().count(failure.message) > seen)
        traffic.wait_for_progress()
    assert traffic.failures == []
    assert {process.pid for process in processes(node)[0]} == {process.pid for process in before[0]}
    _kill(node, before[failure.dies])


def _kill(node: Server, killed: Sequence[psutil.Process]) -> None:
    """Kill processes of a node, and wait until others have replaced them."""
    for process in killed:
        process.kill()

    def are_replaced() -> bool:
        now = processes(node)
        return [len(kind) for kind in now] == [2, 1] and not {*killed} & {process for kind in now for process in kind}

    until(are_replaced)
