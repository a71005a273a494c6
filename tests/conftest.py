"""Shared fixtures: real databases, the service in process, and two accounts."""

import gc
import os
import shutil
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
import structlog
from argon2 import PasswordHasher
from pydantic_settings import InitSettingsSource
from sqlalchemy import Connection

from tests.support import process_caches
from tests.support.asgi_client import AsgiClient
from tests.support.connection_cache import ConnectionCache
from tests.support.databases import is_left_out
from tests.support.ingester import running_ingester
from tests.support.postgres import DatabasePool, running_postgres
from waypost.api.request import STATISTICS_AGE
from waypost.auth import api_keys
from waypost.core import credentials
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.items.accounts import ops
from waypost.server.app import build

# Modules with fixtures.
pytest_plugins = [
    "tests.support.processor_time",
    "tests.support.distributed_statements",
    "tests.support.audit_log",
    "tests.support.visits",
    "tests.support.backup",
    "tests.support.cli",
    "tests.support.dashboard_client",
    "tests.support.fake_internet",
    "tests.support.browser_login",
    "tests.support.file_server",
    "tests.support.dead_links",
]
PASSWORD = "their old password"
BASE = "http://go.localhost:8000"
# Fast password hashes; a hash contains its own parameters. test_credentials.py tests the production hasher.
HASHER_IN_SERVICE = credentials._hasher
credentials._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
process_caches.share()

# Property tests pass on a loaded machine too: an example may take any time.
hypothesis.settings.register_profile(
    "no-time-limits", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("no-time-limits")


def pytest_collection_finish() -> None:
    """Exclude everything loaded so far from garbage collection, which saves time in every test."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of folders on PostgreSQL whose SQL does not differ."""
    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail skipped tests if LEAVE_OUT_NOTHING is set, as in CI."""
    report = yield
    if report.skipped and "LEAVE_OUT_NOTHING" in os.environ:
        report.outcome, report.longrepr = "failed", f"skipped although LEAVE_OUT_NOTHING is set: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove WAYPOST_ variables and reject connections to other machines."""
    for name in [name for name in os.environ if name.startswith("WAYPOST_")]:
        monkeypatch.delenv(name)
    connect = socket.socket.connect

    def only_loopback(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to connect to {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_loopback)
    # A logger that is cached keeps its configuration in later tests.
    configure = structlog.configure
    monkeypatch.setattr(
        structlog, "configure", lambda **options: configure(**{**options, "cache_logger_on_first_use": False})
    )


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
def postgres_databases(postgres: str) -> Iterator[DatabasePool]:
    """A pool of databases with this version's tables."""
    databases = DatabasePool(postgres, template="template")
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
    """The URL of a new database with this version's tables; once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        path = tmp_path / "waypost.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    with request.getfixturevalue("postgres_databases").borrow() as url:
        yield url


@pytest.fixture(scope="session")
def connections() -> Iterator[ConnectionCache]:
    """Connections shared between tests."""
    with closing(ConnectionCache()) as cache:
        yield cache


@pytest.fixture
def database(database_url: str, connections: ConnectionCache) -> Iterator[Database]:
    """The test's database, open."""
    with connections.open("service", database_url) as opened:
        yield opened


@pytest.fixture
def plain_url(database_url: str, tmp_path: Path) -> str:
    """The URL of a second database, without tables."""
    if database_url.startswith("sqlite"):
        return f"sqlite:///{tmp_path / 'plain.db'}"
    server = database_url.rpartition("/")[0]
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS plain WITH (FORCE)")
        admin.execute("CREATE DATABASE plain")
    return f"{server}/plain"


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings of a small installation. No variable is searched for: `_isolated_environment` has removed them."""
    values = {"data_dir": tmp_path, "base_url": BASE, "database_url": database_url}
    return Settings(_build_sources=((InitSettingsSource(Settings, values),), values))


@pytest.fixture
def ingester(settings: Settings, connections: ConnectionCache) -> Iterator[None]:
    """An ingester in a thread."""
    with running_ingester(settings, connections):
        yield


@pytest.fixture
def service(settings: Settings, database: Database, ingester: None) -> Iterator[AsgiClient]:
    """A client without an API key of the whole service in process; it does not follow redirects."""
    with AsgiClient(build(settings, database)) as client:
        yield client


@dataclass(frozen=True)
class Person:
    """A client with an account; every call sends its API key."""

    account: int
    username: str
    key: str
    client: AsgiClient
    database: Database

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """Send a request below /api, the body as JSON; return the response."""
        headers = {"Authorization": f"Bearer {self.key}", **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, f"/api{path}", headers=headers, **options)

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of a GET that must succeed, with all clicks: a busy machine may count them later."""
        for _ in range(15):  # each waits for two seconds
            response = self.call("GET", path, params=params)
            if STATISTICS_AGE not in response.headers:
                break
        return self._json_of_success(response)

    def post(self, path: str, body: Any = None) -> Any:
        """Return the JSON of a POST that must succeed."""
        return self._json_of_success(self.call("POST", path, body))

    def put(self, path: str, body: Any = None) -> Any:
        """Return the JSON of a PUT that must succeed."""
        return self._json_of_success(self.call("PUT", path, body))

    def delete(self, path: str) -> Any:
        """Return the JSON of a DELETE that must succeed."""
        return self._json_of_success(self.call("DELETE", path))

    def add(self, noun: str, /, **fields: Any) -> int:
        """Create a resource; return its id."""
        return int(self.post(f"/{noun}/add", fields)["id"])

    def details(self, noun: str, item: int) -> dict[str, Any]:
        """Return all fields of a resource."""
        details: dict[str, Any] = self.get(f"/{noun}/{item}")["details"]
        return details

    def update(self, noun: str, item: int, /, **fields: Any) -> Any:
        """Update a resource; return the response's JSON."""
        return self.put(f"/{noun}/{item}/update", fields)

    def remove(self, noun: str, item: int) -> Any:
        """Delete a resource; return the response's JSON."""
        return self.delete(f"/{noun}/{item}/delete")

    def write(self, work: Callable[[Connection], Any]) -> Any:
        """Write to the database directly, for states that the API cannot create."""
        return self.database.write(work)

    def _json_of_success(self, response: Any) -> Any:
        body = response.json()
        assert response.status_code in (200, 201), body
        assert body["error"] == 0
        return body


@pytest.fixture
def ana(service: AsgiClient, database: Database) -> Person:
    """The first account of every test, with administrator rights."""
    return create_person(service, database, "ana")


@pytest.fixture
def ben(service: AsgiClient, database: Database, ana: Person) -> Person:  # created second
    """The second account, which must never see or change resources of `ana`."""
    return create_person(service, database, "ben")


def create_person(service: AsgiClient, database: Database, name: str) -> Person:
    """Create an account with a key of the scope `account`, and no practical rate limit."""

    def work(tx: Connection) -> tuple[int, str]:
        hashed = credentials.hash_password(PASSWORD)
        account = ops.add(tx, email=f"{name}@example.com", username=name, password=hashed, rate_limit=1_000_000)
        return account.id, api_keys.add(tx, account.id, name="first key", scope="account")

    account, key = database.write(work)
    return Person(account, name, key, service, database)
