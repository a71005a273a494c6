"""Items leave the trash after 30 days; bytes of files are kept until then, in backups and moves too."""

from pathlib import Path
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, func, select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.backup import store_in
from tests.support.files import CONTENT, new_file
from tests.support.trash import entries, move, new_items, restore
from tests.support.visits import new_link, visit
from waypost.clicks.ingest.ingester import Ingester
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.db import page_counters, schema
from waypost.db.database import Database
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.disk import DiskStore
from waypost.transfer.backup import archive
from waypost.transfer.migrate import storage
from waypost.trash import ops

DAY = 86_400


def _stored(ana: Person) -> int:
    """Return the bytes that count toward the storage of the account."""
    account = select(schema.accounts.c.stored).where(schema.accounts.c.id == ana.account)
    return ana.database.read(lambda tx: int(tx.execute(account).scalar_one()))


def _total(ana: Person) -> int:
    return ana.database.read(lambda tx: page_counters.total(tx, ana.account, "trash"))


def _objects(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((folder / "files").rglob("*")) if path.is_file()]


def _clean(database: Database, settings: Settings) -> None:
    StorageCleaner(database, store_in(settings.data_dir), settings).run_due()


def test_item_is_deleted_for_good_after_30_days(
    ana: Person, service: AsgiClient, database: Database, settings: Settings
) -> None:
    link, file = new_link(ana, "spring"), new_file(ana, "a.bin", CONTENT, custom="mine")
    move(database, ana, "url", link)
    move(database, ana, "file", file)
    ingester = Ingester(settings, database)
    with time_machine.travel(clock.now() + 30 * DAY - 60, tick=True) as traveler:
        ingester.delete_expired()
        _clean(database, settings)
        assert (len(entries(database, ana)), _total(ana), _stored(ana)) == (2, 2, len(CONTENT))
        assert _objects(settings.data_dir) == [CONTENT]
        traveler.shift(120)
        ingester.delete_expired()
        _clean(database, settings)
        assert (entries(database, ana), _total(ana), _stored(ana)) == ([], 0, 0)
        assert _objects(settings.data_dir) == []
    assert visit(service, "spring").status_code == 404
    new_link(ana, "spring")


def test_expired_items_are_deleted_in_batches(ana: Person, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ops, "PURGED_AT_ONCE", 2)
    move(database, ana, "url", *[new_link(ana, f"link-{number}") for number in range(5)])
    later = clock.now() + 31 * DAY
    assert [database.write(lambda tx: ops.purge_expired(tx, later)) for _ in range(3)] == [True, True, False]
    assert (entries(database, ana), _total(ana)) == ([], 0)


def test_file_in_trash_keeps_its_bytes_and_counts_toward_storage(
    ana: Person, service: AsgiClient, database: Database, settings: Settings
) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine")
    move(database, ana, "file", file)
    _clean(database, settings)
    assert _stored(ana) == len(CONTENT)
    restore(database, ana, entries(database, ana))
    assert _stored(ana) == len(CONTENT)
    assert ana.details("file", file)["size"] == len(CONTENT)
    move(database, ana, "file", file)
    database.write(lambda tx: ops.purge(tx, ana.account, entries(database, ana)))
    _clean(database, settings)
    assert (_stored(ana), _objects(settings.data_dir)) == (0, [])


def test_file_that_expired_long_ago_has_no_bytes_to_release(
    ana: Person, database: Database, settings: Settings
) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", expiry="2026-12-31")
    with time_machine.travel(clock.now() + 400 * DAY, tick=True) as traveler:
        _clean(database, settings)
        traveler.shift(400 * DAY)
        _clean(database, settings)
        assert _stored(ana) == 0
        move(database, ana, "file", file)
        database.write(lambda tx: ops.purge(tx, ana.account, entries(database, ana)))
        assert _stored(ana) == 0


def test_file_in_trash_survives_backup_and_restore(
    ana: Person, database: Database, empty_database: Database, empty_folder: Path, settings: Settings
) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine")
    move(database, ana, "file", file)
    target = settings.data_dir / "saved.tar.gz"
    assert archive.backup(database, store_in(settings.data_dir), target).files == 1
    assert archive.restore(empty_database, store_in(empty_folder), target).files == 1
    assert _objects(empty_folder) == [CONTENT]
    restore(empty_database, ana, entries(empty_database, ana))
    names = select(schema.files.c.object).where(schema.files.c.id == file)
    name = empty_database.read(lambda tx: tx.execute(names).scalar_one())
    assert (empty_folder / "files" / name).read_bytes() == CONTENT


def test_file_in_trash_moves_with_storage(ana: Person, database: Database, settings: Settings, tmp_path: Path) -> None:
    move(database, ana, "file", new_file(ana, "a.bin", CONTENT, custom="mine"))
    target = DiskStore(tmp_path / "target")
    storage.migrate(database, store_in(settings.data_dir), target, lambda *_: None)
    assert [path.read_bytes() for path in (tmp_path / "target").rglob("*") if path.is_file()] == [CONTENT]


def test_items_of_all_kinds_leave_nothing_behind(
    ana: Person, service: AsgiClient, database: Database, settings: Settings
) -> None:
    ids = new_items(ana)
    for noun, item in ids.items():
        if noun != "domain":
            move(database, ana, noun, item)
    database.write(lambda tx: ops.purge(tx, ana.account, entries(database, ana)))

    def reserved(tx: Connection) -> list[Any]:
        c = schema.aliases.c
        return list(tx.execute(select(c.alias).where(c.account == ana.account, c.item.is_not(None), c.kind.is_(None))))

    assert database.read(reserved) == []
    parts = (schema.bio_blocks, schema.bio_pictures, schema.submissions, schema.link_pixels, schema.trash)
    for table in parts:
        count = select(func.count()).select_from(table)
        assert database.read(lambda tx, count=count: tx.execute(count).scalar_one()) == 0, table.name  # type: ignore[misc]
