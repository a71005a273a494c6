"""Bio pages in backups and migrations: pictures keep their URLs, those of a page in the trash too."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import BASE, Person
from tests.support.asgi_client import AsgiClient
from tests.support.backup import copy_of_database, store_in
from tests.support.bios import follow, new_bio_with_all_parts, open_bio, state_of
from tests.support.databases import ON_SQLITE
from tests.support.trash import entries, move, restore
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.server.app import build
from waypost.transfer.backup import archive
from waypost.transfer.migrate import database as migrate_database


@dataclass(frozen=True)
class _Pages:
    """The states of a page and of one in the trash, by their ids."""

    states: Mapping[int, Any]
    in_trash: int


def _new_pages(person: Person) -> _Pages:
    bios = [new_bio_with_all_parts(person, alias) for alias in ("ana-costa", "in-trash")]
    for bio in bios:
        follow(person, bio, "Shop")
    pages = _Pages({bio: state_of(person, bio) for bio in bios}, bios[1])
    move(person.database, person, "bio", pages.in_trash)
    return pages


@contextmanager
def _served(person: Person, database: Database, folder: Path) -> Iterator[Person]:
    """Serve another database; yields the account there."""
    with AsgiClient(build(Settings(data_dir=folder, base_url=BASE), database)) as client:
        yield Person(person.account, person.username, person.key, client, database)


def _check(person: Person, pages: _Pages) -> None:
    """Check the page and the one in the trash, after new pages got their ids."""
    other = new_bio_with_all_parts(person, "another")
    assert other == pages.in_trash + 1
    restore(person.database, person, entries(person.database, person))
    for bio, state in pages.states.items():
        assert state_of(person, bio) == state
    shown = open_bio(person).text
    assert "<form" in shown
    assert "Sale" in shown


def test_pages_survive_backup_and_restore(
    ana: Person, database: Database, empty_database: Database, empty_folder: Path, tmp_path: Path
) -> None:
    pages, path = _new_pages(ana), tmp_path / "saved.tar.gz"
    archive.backup(database, store_in(tmp_path), path)
    archive.restore(empty_database, store_in(empty_folder), path)
    with _served(ana, empty_database, empty_folder) as restored:
        _check(restored, pages)


@ON_SQLITE
@pytest.mark.parametrize("empty_database", ["postgresql"], indirect=True)
def test_pages_survive_migration_to_postgresql_and_restore_to_sqlite(
    ana: Person, empty_database: Database, empty_folder: Path, tmp_path: Path
) -> None:
    pages, path = _new_pages(ana), tmp_path / "saved.tar.gz"
    with closing(copy_of_database(tmp_path / "waypost.db", tmp_path / "stopped")) as source:
        migrate_database.migrate(source, empty_database, lambda *_: None)
    archive.backup(empty_database, store_in(tmp_path), path)
    with _served(ana, empty_database, empty_folder) as migrated:
        _check(migrated, pages)
    back = tmp_path / "back"
    back.mkdir()
    with closing(Database(f"sqlite:///{back / 'waypost.db'}")) as database:
        archive.restore(database, store_in(back), path)
        with _served(ana, database, back) as restored:
            _check(restored, pages)
