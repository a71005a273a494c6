"""A real server with two workers that stores files on disk or on a real S3."""

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
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.db.upgrade import upgrade
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store

CONTENT = os.urandom(100_000)
LIMIT = 32 * 1024 * 1024
IDLE_TIMEOUT = 2  # seconds without progress after which a transfer is aborted


class FileServer:
    """A running server, the API key of its only account, and access to its storage."""

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
        """Run the server with two workers."""
        options: dict[str, Any] = {**(self.bucket.settings if self.bucket else {}), **more}
        with serving(self.folder, workers=2, transfer_seconds=IDLE_TIMEOUT, **options) as self._server:
            yield
        assert "Traceback" not in self._server.output(), self._server.output()
        assert "testing" not in self._server.output()

    def upload(self, alias: str, content: Any = CONTENT, **query: Any) -> Any:
        path = "/api/files/upload/a.bin"
        return self.server.call("POST", path, key=self.key, content=content, params={"custom": alias, **query})

    def fetch(self, alias: str, **headers: str) -> Any:
        return self.server.call("GET", f"/{alias}", headers={"User-Agent": "curl/8.5.0", **headers})

    def downloads(self, alias: str) -> int:
        files = self.server.call("GET", "/api/files", key=self.key, params={"limit": 1000}).json()["list"]
        return int(next(item["downloads"] for item in files if item["shorturl"].endswith(f"/{alias}")))

    def object_count(self) -> int:
        """Return the number of objects, and parts of objects, in the storage."""
        if self.bucket is not None:
            return self.bucket.parts()
        return sum(path.is_file() for path in (self.folder / "files").rglob("*"))

    def row_counts(self) -> tuple[int, int]:
        """Return the numbers of files and orphan objects in the database."""
        with closing(self.database()) as database:
            files, orphans = (
                database.read(lambda tx, table=table: len(tx.execute(select(table)).all()))  # type: ignore[misc]  # at once
                for table in (schema.files, schema.orphan_objects)
            )
            return files, orphans

    def request_head(self, *lines: str, path: str = "/api/files/upload/a.bin") -> bytes:
        """Return the request line and headers of an upload."""
        head = [f"POST {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.key}", *lines, "", ""]
        return "\r\n".join(head).encode()

    def status(self, alias: str) -> int:
        """Return the status of a visit; 0 while the server is unreachable."""
        try:
            return int(self.fetch(alias).status_code)
        except httpx2.TransportError:
            return 0

    def worker_processes(self) -> list[psutil.Process]:
        return processes(self.server)[0]

    def clean_up(self) -> None:
        """Run one step of the storage cleaner."""
        storage: dict[str, Any] = self.bucket.settings if self.bucket else {}
        with closing(self.database()) as database:
            settings = Settings(data_dir=self.folder, **storage)
            StorageCleaner(database, open_store(settings), settings).run_due()

    def database(self) -> Database:
        """Open the server's database."""
        return Database(f"sqlite:///{self.folder / 'waypost.db'}")


@pytest.fixture(scope="session")
def big() -> bytes:
    """Content for several parts of an S3 upload and several steps of a download grant."""
    return os.urandom(24 * 1024 * 1024)


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    """A bucket on S3, shared by the tests of a module."""
    with running_s3("waypost-files") as s3_bucket:
        yield s3_bucket


def new_file_server(folder: Path, bucket: Bucket | None = None, **limits: int) -> FileServer:
    """Return a server with a new database, that does not run yet. `limits` are those of its plan."""
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        upgrade(database)
        key = database.write(add_ana)
        if limits:
            database.write(lambda tx: tx.execute(update(schema.plans).values(**limits)))
    return FileServer(folder, key, bucket)


@pytest.fixture(scope="module", params=["disk", "s3"])
def file_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileServer]:
    """A server for each kind of storage, shared by the tests of a module."""
    folder = tmp_path_factory.mktemp(request.param)
    bucket = request.getfixturevalue("bucket") if request.param == "s3" else None
    file_server = new_file_server(folder, bucket, upload_limit=LIMIT)
    with file_server.running():
        yield file_server
