"""The house as every test finds it: a real database, the whole service in process, and two people in it."""

import gc
import os
import shutil
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from argon2 import PasswordHasher
from sqlalchemy import Connection

from tests.support.asgi_client import Inside
from tests.support.connection_cache import Kept, compile_once
from tests.support.postgres import Databases, running_postgres
from waypost import credentials
from waypost.accounts import ops
from waypost.app import build
from waypost.auth import api_keys
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import writer as journal
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.settings import Settings

# For their fixtures.
pytest_plugins = [
    "tests.support.backup",
    "tests.support.cli",
    "tests.support.dashboard_client",
    "tests.support.browser_login",
    "tests.support.file_server",
    "tests.support.dead_links",
]
PASSWORD = "their old password"
BASE = "http://go.localhost:8000"
compile_once()
# Quick to make and to look at, as each hash says by itself; what they cost in service is shown in test_credentials.py.
HASHER_IN_SERVICE = credentials._hasher
credentials._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def pytest_collection_finish() -> None:
    """What is there from the start is not searched for garbage in every test, nor what a test made all the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a machine cannot have what a test needs, the test is left out aloud; in continuous integration it fails."""
    report = yield
    if report.skipped and "LEAVE_OUT_NOTHING" in os.environ:
        report.outcome, report.longrepr = "failed", f"left out, where nothing may be: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _closed_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and no connection to anything but this machine."""
    for name in [name for name in os.environ if name.startswith("WAYPOST_")]:
        monkeypatch.delenv(name)
    connect = socket.socket.connect

    def only_loopback(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_loopback)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server with a migrated database called `template`."""
    with running_postgres() as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as admin:
            admin.execute("CREATE DATABASE template")
        database = Database(f"{url}/template")
        upgrade(database)
        database.close()
        yield url


@pytest.fixture(scope="session")
def postgres_databases(postgres: str) -> Iterator[Databases]:
    """Databases with this version's tables, one for each test at a time."""
    databases = Databases(postgres, template="template")
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file."""
    path = tmp_path_factory.mktemp("template") / "waypost.db"
    database = Database(f"sqlite:///{path}")
    upgrade(database)
    database.close()
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a database of this test's own, with this version's tables; once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        path = tmp_path / "waypost.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    with request.getfixturevalue("postgres_databases").one() as url:
        yield url


@pytest.fixture(scope="session")
def connections() -> Iterator[Kept]:
    """Connections that go from test to test."""
    with closing(Kept()) as kept:
        yield kept


@pytest.fixture
def database(database_url: str, connections: Kept) -> Iterator[Database]:
    """That database, open."""
    with connections.opened("service", database_url) as opened:
        yield opened


@pytest.fixture
def plain_url(database_url: str, tmp_path: Path) -> str:
    """The URL of a database without any table, beside the one that has them."""
    if database_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'plain.db'}"
    server = database_url.rpartition("/")[0]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS plain WITH (FORCE)")
        admin.execute("CREATE DATABASE plain")
    return f"{server}/plain"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings as of a small installation."""
    return Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url)


@pytest.fixture
def ingester(settings: Settings, database_url: str, connections: Kept) -> Iterator[None]:
    """Counts clicks beside the service, as the ingester's process does, over connections that are its own."""
    stop = threading.Event()
    with connections.opened("ingester", database_url) as own:
        thread = threading.Thread(target=Ingester(settings, own).run, args=(stop,))
        thread.start()
        yield
        stop.set()
        journal.wake(settings.journal_dir)
        thread.join()


@pytest.fixture
def service(settings: Settings, database: Database, ingester: None) -> Iterator[Inside]:
    """The whole service in process, as a visitor without a key meets it; redirects are not followed."""
    with Inside(build(settings, database)) as client:
        yield client


@dataclass(frozen=True)
class Person:
    """Somebody with an account: every call carries the key."""

    account: int
    username: str
    key: str
    client: Inside
    database: Database

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The response to a call below /api; a body is sent as JSON."""
        headers = {"Authorization": f"Bearer {self.key}", **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, f"/api{path}", headers=headers, **options)

    def get(self, path: str, **params: Any) -> Any:
        """The JSON of a GET that must succeed."""
        return self._good(self.call("GET", path, params=params))

    def post(self, path: str, body: Any = None) -> Any:
        """The JSON of a POST that must succeed."""
        return self._good(self.call("POST", path, body))

    def put(self, path: str, body: Any = None) -> Any:
        """The JSON of a PUT that must succeed."""
        return self._good(self.call("PUT", path, body))

    def delete(self, path: str) -> Any:
        """The JSON of a DELETE that must succeed."""
        return self._good(self.call("DELETE", path))

    def write(self, work: Callable[[Connection], Any]) -> Any:
        """Straight to the data, for what the API has no way to say."""
        return self.database.write(work)

    def _good(self, response: Any) -> Any:
        body = response.json()
        assert response.status_code in (200, 201), body
        assert body["error"] == 0
        return body


@pytest.fixture
def ana(service: Inside, database: Database) -> Person:
    """The first person of every test."""
    return _person(service, database, "ana")


@pytest.fixture
def ben(service: Inside, database: Database, ana: Person) -> Person:  # ana comes first
    """The second person, who must never see or change what is Ana's."""
    return _person(service, database, "ben")


def _person(service: Inside, database: Database, name: str) -> Person:
    def work(tx: Connection) -> tuple[int, str]:
        hashed = credentials.hash_password(PASSWORD)
        made = ops.add(tx, email=f"{name}@example.com", username=name, password=hashed, rate_limit=1_000_000)
        return made.id, api_keys.add(tx, made.id, name="first key")

    account, key = database.write(work)
    return Person(account, name, key, service, database)
