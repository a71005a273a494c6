"""`/readyz` and `/metrics` report a database that refuses a statement or is locked; they do not depend on it."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.conftest import create_person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE, damage_table
from tests.support.load import until
from waypost.admin import health
from waypost.core.settings import Settings
from waypost.db import maintenance, sqlite_file
from waypost.db.database import Database
from waypost.server import asgi
from waypost.server.app import build

_INDEX = "sqlite_autoindex_installation_1"
_READ_BY_CHECKS = ("installation", _INDEX, "alembic_version")


@ON_SQLITE
@pytest.mark.parametrize("table", [*_READ_BY_CHECKS, "links", "aliases", "click_times", "orphan_objects"])
def test_damage_of_any_table_is_no_internal_error_of_the_checks(
    table: str, settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.path is not None
    monkeypatch.setattr(maintenance, "FOLLOW_SECONDS", 0)
    monkeypatch.setattr(asgi, "_WRITE_CHECK_SECONDS", 0.05)
    changed = settings.model_copy(update={"metrics_networks": "127.0.0.1"})
    with AsgiClient(build(changed, database), address="127.0.0.1", raises=False) as client:
        assert client.get("/readyz").json()["status"] == "ok"
        damage_table(database.path, table)
        if table in _READ_BY_CHECKS:
            until(lambda: client.get("/readyz").status_code != 200)
            ready = client.get("/readyz").json()
            assert (ready["status"], ready["database"]) == ("unavailable", "damaged")
            assert "waypost_database_up 0.0" in client.get("/metrics").text
        else:
            assert client.get("/readyz").status_code in (200, 503)
            assert client.get("/metrics").status_code == 200


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock of writers, as another program does."""
    with closing(sqlite3.connect(file, timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@ON_SQLITE
def test_lock_of_another_program_is_reported_and_delays_no_read(
    settings: Settings, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers wait for ten minutes here: what waits for one does not answer in time."""
    assert database.path is not None
    monkeypatch.setattr(sqlite_file, "_WRITER_SECONDS", 600)
    changed = settings.model_copy(update={"metrics_networks": "127.0.0.1"})
    with (
        closing(Database(settings.database)) as slow,
        ThreadPoolExecutor(8) as threads,
        AsgiClient(build(changed, slow), address="127.0.0.1") as client,
    ):
        ana = create_person(client, slow, "ana")
        until(lambda: client.get("/readyz").json()["status"] == "ok")
        with _locked(database.path):
            waiting = threads.submit(slow.write, lambda _tx: None, durability="relaxed", autocommit=True)
            reads = [threads.submit(ana.call, "GET", "/urls") for _ in range(4)]
            assert [read.result(30).status_code for read in reads] == [200] * 4
            until(lambda: client.get("/readyz").status_code == 503)
            assert client.get("/readyz").json()["database"] == health.LOCKED
            assert "waypost_database_up 0.0" in client.get("/metrics").text
            assert not waiting.done()
        waiting.result(30)
        until(lambda: client.get("/readyz").json()["status"] == "ok")
        assert ana.call("GET", "/urls").status_code == 200
