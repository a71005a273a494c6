"""A small installation, its archive, and a place that this can be restored into."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from tests.conftest import BASE
from tests.support.nodes import copied
from waypost.backup import archive
from waypost.db.database import Database
from waypost.files import ops as files
from waypost.links import ops as links
from waypost.server import startup
from waypost.settings import Settings
from waypost.storage.factory import open_store
from waypost.storage.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database to restore into, without a table; once on SQLite, once on PostgreSQL."""
    if request.param == "sqlite":
        with closing(Database(f"sqlite:///{tmp_path / 'restored.db'}")) as database:
            yield database
        return
    with copied(request.getfixturevalue("postgres"), "template1") as url, closing(Database(url)) as database:
        yield database


@pytest.fixture
def empty_folder(tmp_path: Path) -> Path:
    """A data folder to restore into."""
    folder = tmp_path / "restored"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def installation(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A small installation with one account, one link and, in its folder, one file."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copy(sqlite_template, folder / "waypost.db")
    put(folder / "files" / "a" / "b", b"\x00\xff" * 5000)
    with closing(Database(f"sqlite:///{folder / 'waypost.db'}")) as database:
        made = startup.make_account(database, email="ana@example.com", username="ana", password="a password")
        settings, title = Settings(data_dir=folder, base_url=BASE), "Needle in a haystack"
        database.write(lambda tx: links.add(tx, made.id, settings=settings, url="https://example.com/", title=title))
        database.write(lambda tx: _file_of(tx, made.id, "a/b"))
        yield database


@pytest.fixture(scope="module")
def archived(installation: Database) -> bytes:
    """Its archive."""
    assert installation.path is not None
    folder = installation.path.parent
    archive.backup(installation, store_in(folder), folder / "saved.tar.gz")
    return (folder / "saved.tar.gz").read_bytes()


@pytest.fixture
def archive_file(archived: bytes, tmp_path: Path) -> Path:
    """That archive, in a file of this test's own."""
    path = tmp_path / "saved.tar.gz"
    path.write_bytes(archived)
    return path


def store_in(folder: Path) -> Store:
    """The store of an installation in a folder."""
    return open_store(Settings(data_dir=folder))


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything in a data folder that is not its database."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("waypost.db"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def put(path: Path, content: bytes) -> None:
    """Write a file, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _file_of(tx: Connection, account: int, name: str) -> None:
    """A file whose bytes somebody put into the store."""
    files.begin(tx, name)
    stored = files.Stored(name, "b.bin", 10_000, b"", "application/zip")
    files.add(tx, account, stored, settings=Settings())
