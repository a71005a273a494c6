"""A real service with two workers that keeps files, on a disk and on a real S3."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
from sqlalchemy import select, update

from tests.support.load import add_ana
from tests.support.s3 import Bucket, running_s3
from tests.support.server import Server, processes, serving
from waypost.db import schema
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.settings import Settings
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store

CONTENT = os.urandom(100_000)
LIMIT = 32 * 1024 * 1024
SLOW = 2  # seconds without a step after which a transfer is given up


class House:
    """A running service, the one account in it, and what lies in its storage."""

    def __init__(self, folder: Path, key: str, bucket: Bucket | None) -> None:
        self.folder = folder
        self.key = key
        self.bucket = bucket
        self._server: Server | None = None

    @property
    def server(self) -> Server:
        assert self._server is not None
        return self._server

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", urlsplit(self.server.url).port or 0

    @contextmanager
    def running(self, **more: object) -> Iterator[None]:
        """The service, with two workers."""
        wanted: dict[str, Any] = {**(self.bucket.settings if self.bucket else {}), **more}
        with serving(self.folder, workers=2, transfer_seconds=SLOW, **wanted) as self._server:
            yield
        assert "Traceback" not in self._server.output(), self._server.output()
        assert "testing" not in self._server.output()

    def send(self, alias: str, content: Any = CONTENT, **query: Any) -> Any:
        path = "/api/files/upload/a.bin"
        return self.server.call("POST", path, key=self.key, content=content, params={"custom": alias, **query})

    def fetch(self, alias: str, **headers: str) -> Any:
        return self.server.call("GET", f"/{alias}", headers={"User-Agent": "curl/8.5.0", **headers})

    def downloads(self, alias: str) -> int:
        found = self.server.call("GET", "/api/files", key=self.key, params={"limit": 1000}).json()["list"]
        return int(next(item["downloads"] for item in found if item["shorturl"].endswith(f"/{alias}")))

    def kept(self) -> int:
        """How many objects, and parts of objects, are in the storage."""
        if self.bucket is not None:
            return self.bucket.parts()
        return sum(path.is_file() for path in (self.folder / "files").rglob("*"))

    def rows(self) -> tuple[int, int]:
        """(files, objects that are noted because they are no file's)."""
        with closing(self.database()) as database:
            files, noted = (
                database.read(lambda tx, table=table: len(tx.execute(select(table)).all()))  # type: ignore[misc]  # at once
                for table in (schema.files, schema.orphan_objects)
            )
            return files, noted

    def head(self, *lines: str, path: str = "/api/files/upload/a.bin") -> bytes:
        """The beginning of an upload, as bytes."""
        told = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.key}", *lines, "", ""]
        return "\r\n".join(told).encode()

    def status(self, alias: str) -> int:
        """What a visit is answered with; 0 while nobody answers."""
        try:
            return int(self.fetch(alias).status_code)
        except httpx2.TransportError:
            return 0

    def workers(self) -> list[psutil.Process]:
        return processes(self.server)[0]

    def keep(self) -> None:
        """Tidy up in the storage once, as the service does now and then."""
        storage: dict[str, Any] = self.bucket.settings if self.bucket else {}
        with closing(self.database()) as database:
            StorageCleaner(database, open_store(Settings(data_dir=self.folder, **storage)), grace_days=7).step()

    def database(self) -> Database:
        """The service's database, opened once more."""
        return Database(f"sqlite:///{self.folder / 'waypost.db'}")


@pytest.fixture(scope="session")
def big() -> bytes:
    """What is several parts of an object, and several steps of a claim."""
    return os.urandom(24 * 1024 * 1024)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket on an S3 for the tests of a file."""
    with running_s3("waypost-files") as made:
        yield made


@pytest.fixture(scope="module", params=["disk", "s3"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The service over each kind of storage, running for all tests of a file."""
    folder = tmp_path_factory.mktemp(request.param)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        upgrade(database)
        key = database.write(add_ana)
        database.write(lambda tx: tx.execute(update(schema.plans).values(upload_limit=LIMIT)))
    house = House(folder, key, request.getfixturevalue("bucket") if request.param == "s3" else None)
    with house.running():
        yield house
