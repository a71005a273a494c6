"""Fixtures for backups: a small installation, its archive, and an empty target."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.conftest import BASE
from tests.support.nodes import database_copy
from waypost.admin import new_accounts
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.items.files import ops as files
from waypost.items.links import ops as links
from waypost.storage.factory import open_store
from waypost.storage.store import Store
from waypost.transfer.backup import archive


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without tables; once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        with closing(Database(f"sqlite:///{tmp_path / 'restored.db'}")) as database:
            yield database
        return
    with database_copy(request.getfixturevalue("postgres"), "template1") as url, closing(Database(url)) as database:
        yield database


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "restored"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def installation(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """An installation with one account, one link and one file."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copy(sqlite_template, folder / "waypost.db")
    write_file(folder / "files" / "a" / "b", b"\x00\xff" * 5000)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        owner = new_accounts.create_account(database, email="ana@example.com", username="ana", password="a password")
        settings, title = Settings(data_dir=folder, base_url=BASE), "Needle in a haystack"
        database.write(lambda tx: links.add(tx, owner.id, settings=settings, url="https://example.com/", title=title))
        database.write(lambda tx: _add_file(tx, owner.id, "a/b"))
        yield database


@pytest.fixture(scope="module")
def archived(installation: Database) -> bytes:
    """The archive of the installation."""
    assert installation.path is not None
    folder = installation.path.parent
    archive.backup(installation, store_in(folder), folder / "saved.tar.gz")
    return (folder / "saved.tar.gz").read_bytes()


@pytest.fixture
def archive_file(archived: bytes, tmp_path: Path) -> Path:
    """The archive in a file of this test."""
    path = tmp_path / "saved.tar.gz"
    path.write_bytes(archived)
    return path


def store_in(folder: Path) -> Store:
    """Return the storage of an installation."""
    return open_store(Settings(data_dir=folder))


def copy_of_database(path: Path, folder: Path) -> Database:
    """Copy the SQLite database of a running service to a new data folder, as that of a stopped installation."""
    folder.mkdir()
    with closing(sqlite3.connect(path)) as original, closing(sqlite3.connect(folder / "waypost.db")) as duplicate:
        original.backup(duplicate)
    return Database(f"sqlite:///{folder / 'waypost.db'}")


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files in a data folder but the database."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("waypost.db"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def write_file(path: Path, content: bytes) -> None:
    """Write a file; create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _add_file(tx: Connection, account: int, name: str) -> None:
    """Add a file whose bytes are in the storage already."""
    files.register_upload(tx, name)
    stored = files.StoredObject(name, "b.bin", 10_000, b"", "application/zip")
    files.add(tx, account, stored, settings=Settings())
