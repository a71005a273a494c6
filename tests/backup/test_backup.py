"""Backup and restore: all rows and files are restored on either database; a backup is complete or absent."""

import errno
import io
import itertools
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from tests.conftest import BASE, Person
from tests.contract.resources import RESOURCES
from tests.support.asgi_client import AsgiClient
from tests.support.backup import files_in, store_in
from tests.support.seed import all_rows, fill_all_tables
from tests.support.threads import join
from waypost.admin import health
from waypost.auth import api_keys
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import last_backup, maintenance, upgrade
from waypost.db.database import Database
from waypost.items.accounts import ops as accounts
from waypost.items.campaigns import ops as campaigns
from waypost.items.links import ops as links
from waypost.server.app import build
from waypost.transfer.backup import archive


def test_restore_returns_every_row_and_file(
    ana: Person, ben: Person, database: Database, empty_database: Database, tmp_path: Path, empty_folder: Path
) -> None:
    fill_all_tables(ana, ben)
    contents = {name: content for name, content in files_in(tmp_path).items() if name.startswith("files/")}
    assert sorted(contents.values()) == [b"\x00\xff" * 5000, b"a" * 3, b"trash"]
    target = tmp_path / "saved.tar.gz"
    assert health.write_fault(database) == ""  # its row belongs to this server, and is not saved
    for _ in range(20):  # until no background task of the service adds a row at the same time
        target.unlink(missing_ok=True)
        before = all_rows(database)
        summary = archive.backup(database, store_in(tmp_path), target)
        if all_rows(database) == before:
            break
    assert all(before.values()), [name for name, rows in before.items() if not rows]
    assert summary == archive.ArchiveSummary(sum(len(rows) for rows in before.values()), 3, 0)
    assert all_rows(database) == before

    assert archive.restore(empty_database, store_in(empty_folder), target) == summary
    assert all_rows(empty_database) == before
    assert files_in(empty_folder) == contents
    assert empty_database.read(upgrade.current_revision) == upgrade.latest_revision()


def test_restored_installation_is_not_in_maintenance(
    database: Database, empty_database: Database, settings: Settings, empty_folder: Path
) -> None:
    database.write(maintenance.switch_on)
    path = empty_folder / "saved.tar.gz"
    archive.backup(database, store_in(settings.data_dir), path)
    archive.restore(empty_database, store_in(empty_folder), path)
    assert empty_database.read(maintenance.since) is None
    assert database.read(maintenance.since) is not None


def test_restored_installation_serves_requests(
    empty_database: Database, archive_file: Path, empty_folder: Path
) -> None:
    archive.restore(empty_database, store_in(empty_folder), archive_file)
    key = empty_database.write(lambda tx: api_keys.add(tx, 1, name="another"))
    with AsgiClient(build(Settings(data_dir=empty_folder, base_url=BASE), empty_database)) as client:
        ana = Person(1, "ana", key, client, empty_database)
        urls = ana.get("/urls", q="LE IN A HAY")["data"]["urls"]
        assert [link["title"] for link in urls] == ["Needle in a haystack"]
        ana.post("/url/add", {"url": "https://example.org/needles"})
        assert ana.get("/urls", q="needle")["data"]["result"] == 2
        assert client.get("/readyz").status_code == 200


def test_restore_never_reuses_ids(
    ana: Person, database: Database, empty_database: Database, tmp_path: Path, empty_folder: Path
) -> None:
    last = {}
    for resource, number in itertools.product(RESOURCES, (1, 2)):
        last[resource.noun] = ana.call("POST", f"{resource.path}/add", resource.body(number)).json()["id"]
    for resource in RESOURCES:
        ana.delete(f"{resource.path}/{last[resource.noun]}/delete")
    ana.write(lambda tx: accounts.add_plan(tx, name="silver", status="pro", rate_limit=1, upload_limit=1))
    archive.backup(database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    archive.restore(empty_database, store_in(empty_folder), tmp_path / "saved.tar.gz")
    with AsgiClient(build(Settings(data_dir=empty_folder, base_url=BASE), empty_database)) as client:
        restored = Person(ana.account, ana.username, ana.key, client, empty_database)
        for resource in RESOURCES:
            new_id = restored.call("POST", f"{resource.path}/add", resource.body(3)).json()["id"]
            assert new_id == last[resource.noun] + 1, resource.noun
        restored.write(lambda tx: accounts.add_plan(tx, name="gold", status="pro", rate_limit=1, upload_limit=1))
        restored.write(lambda tx: api_keys.add(tx, ana.account, name="another"))
        assert [key.id for key in restored.write(lambda tx: api_keys.of(tx, ana.account))] == [2, 1]


def test_backup_during_writes_is_consistent_snapshot(
    ana: Person, database: Database, settings: Settings, tmp_path: Path, empty_folder: Path
) -> None:
    """Each campaign is created with a link in one transaction; the archive must contain both or neither."""
    stop, has_rows = threading.Event(), threading.Event()

    def work(number: int) -> None:
        def both(tx: Connection) -> None:
            campaign = campaigns.add(tx, ana.account, name=f"Campaign no. {number}")
            links.add(tx, ana.account, settings=settings, url="https://example.com/", campaign=campaign.id)

        database.write(both)

    def write() -> None:
        for number in itertools.count():
            work(number)
            if number == 20:
                has_rows.set()
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert has_rows.wait(30)
        archive.backup(database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    finally:
        stop.set()
        join(writer)
    restored = Database(f"sqlite:///{empty_folder / 'waypost.db'}")
    try:
        archive.restore(restored, store_in(empty_folder), tmp_path / "saved.tar.gz")
        rows = all_rows(restored)
    finally:
        restored.close()
    pairs = len(rows["campaigns"])
    assert 20 <= pairs <= len(all_rows(database)["campaigns"])
    assert len(rows["links"]) == len(rows["aliases"]) == pairs
    assert _counted(rows, "links") == _counted(rows, "campaigns") == pairs


def test_archive_is_readable_by_owner_only(installation: Database, tmp_path: Path) -> None:
    abandoned = tmp_path / "saved.tar.gz.killed.partial"
    abandoned.touch()
    os.utime(abandoned, (0, 0))
    archive.backup(installation, store_in(tmp_path), tmp_path / "saved.tar.gz")
    assert (tmp_path / "saved.tar.gz").stat().st_mode & 0o777 == 0o600
    assert not abandoned.exists()


def test_failed_backup_keeps_previous_archive(installation: Database, tmp_path: Path, archive_file: Path) -> None:
    before = archive_file.read_bytes()
    (tmp_path / "files" / "a").mkdir(parents=True)
    (tmp_path / "files" / "a" / "b").symlink_to("b")  # an unreadable file
    with pytest.raises(Problem, match=r"The file storage is not available"):
        archive.backup(installation, store_in(tmp_path), archive_file)
    assert archive_file.read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


def test_backup_into_missing_folder_names_it(installation: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"nowhere/saved\.tar\.gz cannot be written: No such file or directory\."):
        archive.backup(installation, store_in(tmp_path), tmp_path / "nowhere" / "saved.tar.gz")


def test_failed_backup_is_recorded_until_one_is_completed(installation: Database, tmp_path: Path) -> None:
    store, missing, target = store_in(tmp_path), tmp_path / "no" / "a.tar.gz", tmp_path / "saved.tar.gz"
    archive.backup(installation, store, target)
    completed = installation.read(last_backup.get)
    with pytest.raises(Problem) as raised:
        archive.backup(installation, store, missing)
    failure = installation.read(last_backup.failure)
    assert failure is not None
    assert failure.reason == raised.value.message
    assert completed is not None
    assert completed == installation.read(last_backup.get)
    assert completed <= failure.at

    class Interrupted(io.BytesIO):
        def write(self, *_: object) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archive.backup(installation, store, Interrupted())
    failure = installation.read(last_backup.failure)
    assert failure is not None
    assert failure.reason == "It was interrupted."
    archive.backup(installation, store, target)
    assert installation.read(last_backup.failure) is None


def test_error_of_a_backup_is_raised_if_it_cannot_be_recorded(installation: Database, tmp_path: Path) -> None:
    class DamagingDatabase(io.BytesIO):
        def write(self, *_: object) -> int:
            installation.write(lambda tx: tx.exec_driver_sql("ALTER TABLE installation RENAME TO lost"))
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(Problem, match="The output cannot be written: No space left on device"):
        archive.backup(installation, store_in(tmp_path), DamagingDatabase())
    installation.write(lambda tx: tx.exec_driver_sql("ALTER TABLE lost RENAME TO installation"))


def test_backup_of_empty_database_is_rejected(empty_database: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="never started"):
        archive.backup(empty_database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    assert not list(tmp_path.glob("saved.tar.gz*"))


def _counted(rows: dict[str, list[tuple[Any, ...]]], noun: str) -> int:
    """The counted rows of a noun, by the counters of level 1."""
    return sum(
        n for _account, counted_noun, level, _block, n in rows["page_counters"] if (counted_noun, level) == (noun, 1)
    )
