"""Migration from SQLite to PostgreSQL and from a folder to S3: complete, resumable and verified."""

import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import func, insert, select, update

from tests.conftest import Person
from tests.support.backup import copy_of_database
from tests.support.cli import RunCommand
from tests.support.databases import ON_SQLITE
from tests.support.s3 import running_s3
from tests.support.seed import all_rows, fill_all_tables
from waypost.admin import system_checks
from waypost.admin.new_accounts import create_account
from waypost.core.errors import Kind, Problem
from waypost.core.settings import Settings
from waypost.db import upgrade
from waypost.db.database import Database
from waypost.db.schema import events, installation, links
from waypost.db.schema.accounts import WRITE_PROBE
from waypost.items.files import ops as files
from waypost.storage.disk import DiskStore
from waypost.storage.factory import open_store
from waypost.transfer.migrate import database as migrate_database
from waypost.transfer.migrate import storage

_WRITE_PROBES = select(func.count()).where(installation.c.name == WRITE_PROBE)
_CONTENTS = {"a/one": b"\x00\xff" * 5000, "a/two": b"two", "b/three": bytes(range(256)) * 40_000}


class Interrupted(Exception):
    """The migration is interrupted."""


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
    """The empty database, open."""
    with closing(Database(target_url)) as database:
        yield database


@pytest.fixture
def folder(sqlite_template: Path, tmp_path: Path) -> Path:
    """The data folder of a stopped installation: one account, a link with unusual characters, 5000 visits."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "waypost.db").write_bytes(sqlite_template.read_bytes())
    with closing(_open(folder)) as database:
        account = create_account(database, email="ana@example.com", username="ana").id
        link = {"account": account, "alias": "spring", "url": "https://example.com/ü?a=%20", "title": "'\"\\\U0001f600"}
        database.write(lambda tx: tx.execute(insert(links).values(**link, created=7, deeplink={"apple": "ü"})))
        visit = {"account": account, "kind": "link", "item": 1, "sort": "click", "first": True, "country": "Ü"}
        visits = [{**visit, "at_ms": 1_800_000_000_000 + n * 60_000} for n in range(5000)]
        database.write(lambda tx: tx.execute(insert(events), visits))
    return folder


def _open(folder: Path) -> Database:
    return Database(f"sqlite:///{folder / 'waypost.db'}")


def _no_progress(_label: str, _done: int, _of: int) -> None:
    """Ignore the progress."""


@ON_SQLITE
def test_migration_copies_every_row(
    ana: Person, ben: Person, database: Database, target: Database, tmp_path: Path
) -> None:
    fill_all_tables(ana, ben)
    with closing(copy_of_database(tmp_path / "waypost.db", tmp_path / "stopped")) as source:
        before = all_rows(source)
        assert all(before.values())
        copied = migrate_database.migrate(source, target, _no_progress)
        probes = source.read(lambda tx: tx.execute(_WRITE_PROBES).scalar_one())  # `all_rows` leaves them out
        assert (copied.rows, copied.resumed) == (sum(len(rows) for rows in before.values()) + probes, 0)
        assert all_rows(target) == all_rows(source) == before
    assert target.read(upgrade.current_revision) == upgrade.latest_revision()
    # New rows get ids that were never used.
    highest = max(row[0] for row in before["links"])
    new = {"account": 1, "alias": "new", "url": "https://example.com/", "created": 1}
    assert target.write(lambda tx: tx.execute(insert(links).values(new).returning(links.c.id)).scalar_one()) > highest


@pytest.mark.parametrize("calls", [3, 20, 40, 60])
def test_interrupted_migration_resumes(folder: Path, target: Database, target_url: str, calls: int) -> None:
    labels: list[str] = []

    def stop(label: str, _done: int, _of: int) -> None:
        labels.append(label)
        if len(labels) == calls:
            raise Interrupted

    with closing(_open(folder)) as source:
        with pytest.raises(Interrupted):
            migrate_database.migrate(source, target, stop)
        findings = system_checks.run(Settings(data_dir=folder, database_url=target_url))
        errors = [finding.id for finding in findings if finding.level == "error"]
        assert errors == ["W012"]  # the service refuses to start
        copied = migrate_database.migrate(source, target, _no_progress)
        assert copied.rows == sum(len(rows) for rows in all_rows(source).values())
        assert all_rows(target) == all_rows(source)
    findings = system_checks.run(Settings(data_dir=folder, database_url=target_url))
    assert not [finding for finding in findings if finding.level == "error"]


def test_changed_row_in_target_fails_verification(folder: Path, target: Database) -> None:
    def change(label: str, _done: int, _of: int) -> None:
        if label == "check":
            target.write(lambda tx: tx.execute(update(links).values(title="another")))

    with (
        closing(_open(folder)) as source,
        pytest.raises(Problem, match="links in the target differs from the source: 1 rows, 1 expected"),
    ):
        migrate_database.migrate(source, target, change)


def test_migration_of_other_installation_is_not_resumed(folder: Path, target: Database) -> None:
    def stop(_label: str, done: int, _of: int) -> None:
        if done > 2000:
            raise Interrupted

    with closing(_open(folder)) as source:
        with pytest.raises(Interrupted):
            migrate_database.migrate(source, target, stop)
        source.write(
            lambda tx: tx.execute(update(installation).where(installation.c.name == "secret").values(value=b"x" * 32))
        )
        with pytest.raises(Problem, match="Another installation"):
            migrate_database.migrate(source, target, _no_progress)


def test_running_source_and_used_target_are_rejected(folder: Path, target: Database) -> None:
    with closing(_open(folder)) as source:
        (folder / "journal").mkdir()
        with migrate_database._ingester_lock(folder / "journal"), pytest.raises(Problem, match="Stop it first"):
            migrate_database.migrate(source, target, _no_progress)
        with pytest.raises(Problem, match="Only SQLite can be migrated"):
            migrate_database.migrate(target, source, _no_progress)
        migrate_database.migrate(source, target, _no_progress)
        with pytest.raises(Problem, match="tables in the target already"):
            migrate_database.migrate(source, target, _no_progress)


def test_source_is_locked_during_migration(folder: Path, target: Database) -> None:
    def write(label: str, _done: int, _of: int) -> None:
        if label == "copy":
            with (
                closing(sqlite3.connect(folder / "waypost.db", timeout=0)) as other,
                pytest.raises(sqlite3.Error),
            ):
                other.execute("DELETE FROM links")

    with closing(_open(folder)) as source:
        migrate_database.migrate(source, target, write)


def test_migrate_database_command_copies_data_folder(
    run: RunCommand, folder: Path, target_url: str, target: Database
) -> None:
    completed = run("migrate-database", folder, target_url)
    assert (completed.code, "and verified" in completed.out) == (0, True), completed.err
    with closing(_open(folder)) as source:
        assert all_rows(target) == all_rows(source)
    again = run("migrate-database", folder, target_url)
    assert (again.code, "tables in the target already" in again.err) == (1, True)
    assert run("migrate-database", folder, "mysql://nowhere/x").code == 2
    assert run("migrate-database", folder / "nothing", target_url).code == 2


@pytest.fixture
def database_with_files(folder: Path) -> Iterator[Database]:
    """The installation with three files."""
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


def test_interrupted_storage_migration_resumes(database_with_files: Database, folder: Path, tmp_path: Path) -> None:
    source, target = DiskStore(folder / "files"), DiskStore(tmp_path / "new")

    def stop(_label: str, done: int, _of: int) -> None:
        if done:
            raise Interrupted

    with pytest.raises(Interrupted):
        storage.migrate(database_with_files, source, target, stop)
    (tmp_path / "new" / "a" / "two").write_bytes(b"t")  # a partial copy, as after an interruption
    assert storage.migrate(database_with_files, source, target, _no_progress) == storage.StorageResult(
        copied=2, skipped=1, missing=0
    )
    assert _contents(tmp_path / "new") == _contents(folder / "files") == _CONTENTS


def test_damaged_copy_is_replaced_and_damaged_original_is_reported(
    database_with_files: Database, folder: Path, tmp_path: Path
) -> None:
    source, target = DiskStore(folder / "files"), DiskStore(tmp_path / "new")
    storage.migrate(database_with_files, source, target, _no_progress)
    (tmp_path / "new" / "a" / "two").write_bytes(b"twu")
    assert storage.migrate(database_with_files, source, target, _no_progress).skipped == 3
    assert _contents(tmp_path / "new") == _CONTENTS
    (folder / "files" / "a" / "two").unlink()
    (tmp_path / "new" / "a" / "two").unlink()
    assert storage.migrate(database_with_files, source, target, _no_progress).missing == 1
    (folder / "files" / "a" / "two").write_bytes(b"tvo")
    with pytest.raises(Problem, match="was copied with errors") as caught:
        storage.migrate(database_with_files, source, target, _no_progress)
    assert caught.value.kind is Kind.INVALID


def test_migrate_storage_command_copies_to_s3_and_back(
    run: RunCommand,
    database_with_files: Database,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running_s3("waypost-moved") as bucket:
        settings: dict[str, Any] = {"data_dir": folder, **bucket.settings}
        for name, value in settings.items():
            monkeypatch.setenv(f"WAYPOST_{name.upper()}", str(value))
        completed = run("migrate-storage", folder / "files", bucket.settings["storage_url"])
        assert (completed.code, "3 files copied, 0 already present" in completed.out) == (0, True), completed.err
        assert sorted(bucket.objects()) == sorted(f"waypost/{name}" for name in _CONTENTS)
        store = open_store(Settings(**settings))
        assert {name: b"".join(store.load(name)[1]) for name in _CONTENTS} == _CONTENTS
        back = run("migrate-storage", bucket.settings["storage_url"], tmp_path / "back")
        assert (back.code, "3 files copied" in back.out) == (0, True), back.err
        again = run("migrate-storage", bucket.settings["storage_url"], tmp_path / "back")
        assert "0 files copied, 3 already present" in again.out
        shutil.rmtree(tmp_path / "back")
        wrong = run("migrate-storage", bucket.settings["storage_url"] + "/else", tmp_path / "back")
        assert (wrong.code, "Files missing from the source: 3" in wrong.err) == (1, True)
        run("migrate-storage", bucket.settings["storage_url"], tmp_path / "back")
    assert _contents(tmp_path / "back") == _CONTENTS


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("data/files", "s3://x", "s3://x must be s3:// and a bucket"),
        ("s3://x", "other", "s3://x must be s3:// and a bucket"),
        ("missing", "other", "the folder missing does not exist"),
        ("file", "other", "the folder file does not exist"),
        ("data/files", "data/files/", "must not be the same as FROM"),
        ("s3://files/x", "s3://files/x", "must not be the same as FROM"),
    ],
)
def test_migrate_storage_rejects_wrong_arguments(
    source: str, target: str, message: str, run_migrated: RunCommand, working_folder: Path
) -> None:
    (working_folder / "data" / "files").mkdir()
    (working_folder / "file").touch()
    completed = run_migrated("migrate-storage", source, target)
    assert (completed.code, completed.out, "Traceback" in completed.err) == (2, "", False)
    assert message in completed.err
    assert not (working_folder / "other").exists()
