"""From SQLite to PostgreSQL, from a folder to S3: everything arrives, in two tries too, or somebody is told why."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import insert, update

from tests.conftest import Person
from tests.support.cli import Run
from tests.support.s3 import running_s3
from tests.support.seed import rows_of, use_everything
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.schema import events, installation, links
from waypost.errors import Kind, Problem
from waypost.files import ops as files
from waypost.migrate import database as migrate_database
from waypost.migrate import storage
from waypost.server import system_checks
from waypost.server.startup import make_account
from waypost.settings import Settings
from waypost.storage.disk import Disk
from waypost.storage.factory import open_store

_CONTENTS = {"a/one": b"\x00\xff" * 5000, "a/two": b"two", "b/three": bytes(range(256)) * 40_000}


class Stopped(Exception):
    """Somebody pulled the plug."""


@pytest.fixture
def target_url(postgres: str) -> Iterator[str]:
    """The URL of an empty database."""
    with psycopg.connect(f"{postgres}/postgres", autocommit=True) as admin:
        admin.execute("DROP DATABASE IF EXISTS moved WITH (FORCE)")
        admin.execute("CREATE DATABASE moved")
        yield f"{postgres}/moved"
        admin.execute("DROP DATABASE moved WITH (FORCE)")


@pytest.fixture
def target(target_url: str) -> Iterator[Database]:
    """That database, open."""
    with closing(Database(target_url)) as opened:
        yield opened


@pytest.fixture
def folder(sqlite_template: Path, tmp_path: Path) -> Path:
    """The data folder of a small installation that does not run: 5000 visits, one account, one link with odd words."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "waypost.db").write_bytes(sqlite_template.read_bytes())
    with closing(_open(folder)) as database:
        account = make_account(database, email="ana@example.com", username="ana").id
        link = {"account": account, "alias": "spring", "url": "https://example.com/ü?a=%20", "title": "'\"\\\U0001f600"}
        database.write(lambda tx: tx.execute(insert(links).values(**link, created=7, deeplink={"apple": "ü"})))
        visit = {"account": account, "kind": "link", "item": 1, "sort": "click", "first": True, "country": "Ü"}
        visits = [{**visit, "at_ms": 1_800_000_000_000 + n * 60_000} for n in range(5000)]
        database.write(lambda tx: tx.execute(insert(events), visits))
    return folder


def _open(folder: Path) -> Database:
    return Database(f"sqlite:///{folder / 'waypost.db'}")


def _silent(_what: str, _done: int, _of: int) -> None:
    """Tells nobody."""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_row_of_every_table_arrives(
    ana: Person, ben: Person, database: Database, target: Database, tmp_path: Path
) -> None:
    use_everything(ana, ben)
    copy = tmp_path / "stopped"
    copy.mkdir()
    with (
        closing(sqlite3.connect(tmp_path / "waypost.db")) as here,
        closing(sqlite3.connect(copy / "waypost.db")) as to,
    ):
        here.backup(to)
    with closing(_open(copy)) as source:
        before = rows_of(source)
        assert all(before.values())
        moved = migrate_database.migrate(source, target, _silent)
        assert (moved.rows, moved.resumed) == (sum(len(rows) for rows in before.values()), 0)
        assert rows_of(target) == rows_of(source) == before
    assert target.read(upgrade.current_revision) == upgrade.latest_revision()
    # New rows get numbers that nobody ever had.
    highest = max(row[0] for row in before["links"])
    new = {"account": 1, "alias": "new", "url": "https://example.com/", "created": 1}
    assert target.write(lambda tx: tx.execute(insert(links).values(new).returning(links.c.id)).scalar_one()) > highest


@pytest.mark.parametrize("calls", [3, 20, 40, 60])
def test_a_move_that_broke_off_goes_on(folder: Path, target: Database, target_url: str, calls: int) -> None:
    told: list[str] = []

    def stop(what: str, _done: int, _of: int) -> None:
        told.append(what)
        if len(told) == calls:
            raise Stopped

    with closing(_open(folder)) as source:
        with pytest.raises(Stopped):
            migrate_database.migrate(source, target, stop)
        found = system_checks.run(Settings(data_dir=folder, database_url=target_url))
        assert [one.id for one in found if one.level == "error"] == ["W012"]  # nobody starts on a half of it
        moved = migrate_database.migrate(source, target, _silent)
        assert moved.rows == sum(len(rows) for rows in rows_of(source).values())
        assert rows_of(target) == rows_of(source)
    assert not [
        one for one in system_checks.run(Settings(data_dir=folder, database_url=target_url)) if one.level == "error"
    ]


def test_what_somebody_changed_in_the_target_is_found(folder: Path, target: Database) -> None:
    def change(what: str, _done: int, _of: int) -> None:
        if what == "check of accounts":
            target.write(lambda tx: tx.execute(update(links).values(title="another")))

    with (
        closing(_open(folder)) as source,
        pytest.raises(Problem, match="links in the target differs from the source: 1 rows, 1 expected"),
    ):
        migrate_database.migrate(source, target, change)


def test_another_installation_does_not_go_on_with_it(folder: Path, target: Database) -> None:
    def stop(what: str, _done: int, _of: int) -> None:
        if what == "events":
            raise Stopped

    with closing(_open(folder)) as source:
        with pytest.raises(Stopped):
            migrate_database.migrate(source, target, stop)
        source.write(
            lambda tx: tx.execute(update(installation).where(installation.c.name == "secret").values(value=b"x" * 32))
        )
        with pytest.raises(Problem, match="Another installation"):
            migrate_database.migrate(source, target, _silent)


def test_a_service_that_runs_is_not_moved_nor_into_one_that_is_used(folder: Path, target: Database) -> None:
    with closing(_open(folder)) as source:
        (folder / "journal").mkdir()
        with migrate_database._ingester_lock(folder / "journal"), pytest.raises(Problem, match="Stop it first"):
            migrate_database.migrate(source, target, _silent)
        with pytest.raises(Problem, match="Only SQLite can be migrated"):
            migrate_database.migrate(target, source, _silent)
        migrate_database.migrate(source, target, _silent)
        with pytest.raises(Problem, match="tables in the target already"):
            migrate_database.migrate(source, target, _silent)


def test_nobody_can_write_while_everything_is_copied(folder: Path, target: Database) -> None:
    def write(what: str, _done: int, _of: int) -> None:
        if what == "links":
            with (
                closing(sqlite3.connect(folder / "waypost.db", timeout=0)) as other,
                pytest.raises(sqlite3.Error),
            ):
                other.execute("DELETE FROM links")

    with closing(_open(folder)) as source:
        migrate_database.migrate(source, target, write)


def test_the_command_moves_a_data_folder(run: Run, folder: Path, target_url: str, target: Database) -> None:
    ran = run("migrate-database", folder, target_url)
    assert (ran.code, "and checked" in ran.out) == (0, True), ran.err
    with closing(_open(folder)) as source:
        assert rows_of(target) == rows_of(source)
    again = run("migrate-database", folder, target_url)
    assert (again.code, "tables in the target already" in again.err) == (1, True)
    assert run("migrate-database", folder, "mysql://nowhere/x").code == 2
    assert run("migrate-database", folder / "nothing", target_url).code == 1


@pytest.fixture
def filled(folder: Path) -> Iterator[Database]:
    """The installation with three files in its folder."""
    for name, content in _CONTENTS.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_bytes(content)
    with closing(_open(folder)) as database:
        for name, content in _CONTENTS.items():
            stored = files.StoredObject(
                name, "b.bin", len(content), hashlib.sha256(content).digest(), "application/zip"
            )
            database.write(partial(files.register_upload, name=name))
            database.write(partial(files.add, account=1, stored=stored, settings=Settings()))
        yield database


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_bytes_of_files_arrive_in_two_tries_too(filled: Database, folder: Path, tmp_path: Path) -> None:
    source, target = Disk(folder / "files"), Disk(tmp_path / "new")

    def stop(_what: str, done: int, _of: int) -> None:
        if done:
            raise Stopped

    with pytest.raises(Stopped):
        storage.migrate(filled, source, target, stop)
    (tmp_path / "new" / "a" / "two").write_bytes(b"t")  # as a plug leaves it that is pulled while a file is written
    assert storage.migrate(filled, source, target, _silent) == storage.StorageResult(copied=2, skipped=1, missing=0)
    assert _contents(tmp_path / "new") == _contents(folder / "files") == _CONTENTS


def test_a_copy_that_went_wrong_is_made_again_and_an_original_is_told(
    filled: Database, folder: Path, tmp_path: Path
) -> None:
    source, target = Disk(folder / "files"), Disk(tmp_path / "new")
    storage.migrate(filled, source, target, _silent)
    (tmp_path / "new" / "a" / "two").write_bytes(b"twu")
    assert storage.migrate(filled, source, target, _silent).skipped == 3
    assert _contents(tmp_path / "new") == _CONTENTS
    (folder / "files" / "a" / "two").unlink()
    (tmp_path / "new" / "a" / "two").unlink()
    assert storage.migrate(filled, source, target, _silent).missing == 1
    (folder / "files" / "a" / "two").write_bytes(b"tvo")
    with pytest.raises(Problem, match="was copied with errors") as refused:
        storage.migrate(filled, source, target, _silent)
    assert refused.value.kind is Kind.INVALID


def test_the_command_moves_files_to_s3_and_back(
    run: Run,
    filled: Database,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_s3("waypost-moved") as bucket:
        given: dict[str, Any] = {"data_dir": folder, **bucket.settings}
        for name, value in given.items():
            monkeypatch.setenv(f"WAYPOST_{name.upper()}", str(value))
        ran = run("migrate-storage", folder / "files", bucket.settings["storage_url"])
        assert (ran.code, "3 files are copied, 0 were there" in ran.out) == (0, True), ran.err
        assert sorted(bucket.objects()) == sorted(f"waypost/{name}" for name in _CONTENTS)
        store = open_store(Settings(**given))
        assert {name: b"".join(store.load(name)[1]) for name in _CONTENTS} == _CONTENTS
        back = run("migrate-storage", bucket.settings["storage_url"], tmp_path / "back")
        assert (back.code, "3 files are copied" in back.out) == (0, True), back.err
        again = run("migrate-storage", bucket.settings["storage_url"], tmp_path / "back")
        assert "0 files are copied, 3 were there" in again.out
    assert _contents(tmp_path / "back") == _CONTENTS
