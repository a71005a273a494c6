"""Backup and restore: everything comes back equal, between both databases, and a backup is whole or not there."""

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from tests.conftest import BASE, Person
from tests.contract.resources import FAMILIES
from tests.support.asgi_client import Inside
from tests.support.backup import files_in, store_in
from tests.support.seed import rows_of, use_everything
from waypost.accounts import ops as accounts
from waypost.app import build
from waypost.auth import api_keys
from waypost.backup import archive
from waypost.campaigns import ops as campaigns
from waypost.db import schema, upgrade
from waypost.db.database import Database
from waypost.errors import Problem
from waypost.links import ops as links
from waypost.settings import Settings


def test_everything_comes_back_row_by_row(
    ana: Person, ben: Person, database: Database, empty_database: Database, tmp_path: Path, empty_folder: Path
) -> None:
    use_everything(ana, ben)
    before = rows_of(database)
    assert all(before.values()), [name for name, rows in before.items() if not rows]
    kept = {f"files/{name}": (tmp_path / "files" / name).read_bytes() for name in _named(database)}
    assert sorted(kept.values()) == [b"\x00\xff" * 5000, b"a" * 3]
    target = tmp_path / "saved.tar.gz"
    written = archive.backup(database, store_in(tmp_path), target)
    assert written == archive.ArchiveSummary(sum(len(rows) for rows in before.values()), 2, 0)
    assert rows_of(database) == before

    assert archive.restore(empty_database, store_in(empty_folder), target) == written
    assert rows_of(empty_database) == before
    assert files_in(empty_folder) == kept
    assert empty_database.read(upgrade.current_revision) == upgrade.latest_revision()


def test_what_was_restored_is_a_working_service(
    empty_database: Database, archive_file: Path, empty_folder: Path
) -> None:
    archive.restore(empty_database, store_in(empty_folder), archive_file)
    key = empty_database.write(lambda tx: api_keys.add(tx, 1, name="another"))
    with Inside(build(Settings(data_dir=empty_folder, base_url=BASE), empty_database)) as client:
        ana = Person(1, "ana", key, client, empty_database)
        found = ana.get("/urls", q="LE IN A HAY")["data"]["urls"]
        assert [link["title"] for link in found] == ["Needle in a haystack"]
        ana.post("/url/add", {"url": "https://example.org/needles"})
        assert ana.get("/urls", q="needle")["data"]["result"] == 2
        assert client.get("/readyz").status_code == 200


def test_an_id_is_not_given_again_after_a_restore(
    ana: Person, database: Database, empty_database: Database, tmp_path: Path, empty_folder: Path
) -> None:
    last = {}
    for family, number in itertools.product(FAMILIES, (1, 2)):
        last[family.noun] = ana.call("POST", f"{family.one}/add", family.body(number)).json()["id"]
    for family in FAMILIES:
        ana.delete(f"{family.one}/{last[family.noun]}/delete")
    ana.write(lambda tx: accounts.add_plan(tx, name="silver", status="pro", rate_limit=1, upload_limit=1))
    archive.backup(database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    archive.restore(empty_database, store_in(empty_folder), tmp_path / "saved.tar.gz")
    with Inside(build(Settings(data_dir=empty_folder, base_url=BASE), empty_database)) as client:
        again = Person(ana.account, ana.username, ana.key, client, empty_database)
        for family in FAMILIES:
            made = again.call("POST", f"{family.one}/add", family.body(3)).json()["id"]
            assert made == last[family.noun] + 1, family.noun
        again.write(lambda tx: accounts.add_plan(tx, name="gold", status="pro", rate_limit=1, upload_limit=1))
        again.write(lambda tx: api_keys.add(tx, ana.account, name="another"))
        assert [key.id for key in again.write(lambda tx: api_keys.of(tx, ana.account))] == [2, 1]


def test_a_backup_is_one_moment_while_somebody_writes(
    ana: Person, database: Database, settings: Settings, tmp_path: Path, empty_folder: Path
) -> None:
    """Every campaign is made in one transaction with a link in it: no archive may have one without the other."""
    stop, many = threading.Event(), threading.Event()

    def work(number: int) -> None:
        def both(tx: Connection) -> None:
            made = campaigns.add(tx, ana.account, name=f"Campaign no. {number}")
            links.add(tx, ana.account, settings=settings, url="https://example.com/", campaign=made.id)

        database.write(both)

    def write() -> None:
        for number in itertools.count():
            work(number)
            if number == 20:
                many.set()
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert many.wait(30)
        archive.backup(database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    finally:
        stop.set()
        writer.join()
    restored = Database(f"sqlite:///{empty_folder / 'waypost.db'}")
    try:
        archive.restore(restored, store_in(empty_folder), tmp_path / "saved.tar.gz")
        rows = rows_of(restored)
    finally:
        restored.close()
    pairs = len(rows["campaigns"])
    assert 20 <= pairs <= len(rows_of(database)["campaigns"])
    assert len(rows["links"]) == len(rows["aliases"]) == pairs
    assert _tallied(rows, "links") == _tallied(rows, "campaigns") == pairs


def test_only_its_owner_may_read_an_archive(installation: Database, tmp_path: Path) -> None:
    (tmp_path / "saved.tar.gz.partial").touch(0o666)  # left behind by a crash
    archive.backup(installation, store_in(tmp_path), tmp_path / "saved.tar.gz")
    assert (tmp_path / "saved.tar.gz").stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "saved.tar.gz.partial").exists()


def test_a_backup_replaces_an_older_one_only_when_it_is_whole(
    installation: Database, tmp_path: Path, archive_file: Path
) -> None:
    before = archive_file.read_bytes()
    (tmp_path / "files" / "a").mkdir(parents=True)
    (tmp_path / "files" / "a" / "b").symlink_to("b")  # a file that cannot be read
    with pytest.raises(Problem, match=r"saved\.tar\.gz cannot be written: Too many levels of symbolic links\."):
        archive.backup(installation, store_in(tmp_path), archive_file)
    assert archive_file.read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


def test_a_folder_that_is_not_there_is_named(installation: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"nowhere/saved\.tar\.gz cannot be written: No such file or directory\."):
        archive.backup(installation, store_in(tmp_path), tmp_path / "nowhere" / "saved.tar.gz")


def test_there_is_no_backup_of_nothing(empty_database: Database, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="never started"):
        archive.backup(empty_database, store_in(tmp_path), tmp_path / "saved.tar.gz")
    assert not list(tmp_path.glob("saved.tar.gz*"))


def _named(database: Database) -> list[str]:
    return list(database.read(lambda tx: tx.execute(select(schema.files.c.object)).scalars().all()))


def _tallied(rows: dict[str, list[tuple[Any, ...]]], noun: str) -> int:
    """How many rows of a noun are counted, by the coarser of the two levels."""
    return sum(n for _account, counted, level, _block, n in rows["page_counters"] if (counted, level) == (noun, 1))
