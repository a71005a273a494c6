"""The migration of the times of edits into the audit log, and nodes of the older version that still write them."""

import io
import json
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, inspect, select, text

from tests.support import old_accounts
from tests.support.databases import ON_BOTH_DATABASES
from waypost.audit import log, merkle, verification
from waypost.audit.log import AuditFilter
from waypost.clicks.ingest import audit_retention
from waypost.core import clock
from waypost.db import audit_sequence, upgrade
from waypost.db.database import Database
from waypost.db.schema import audit
from waypost.transfer.backup import tables

pytestmark = ON_BOTH_DATABASES
_YEAR = 365 * 86_400
_EDIT = text("INSERT INTO edits (account, kind, item, at) VALUES (:account, :kind, :item, :at) ON CONFLICT DO NOTHING")


@pytest.fixture
def older(plain_url: str) -> Iterator[Database]:
    """A database of the version before, with an account."""
    with closing(Database(plain_url)) as database:
        database.write(lambda tx: upgrade.migrate(tx, "0018"))
        database.write(lambda tx: old_accounts.add(tx, "ana"))
        yield database


def _edit(tx: Connection, *rows: tuple[str, int, int]) -> None:
    tx.execute(_EDIT, [{"account": 1, "kind": kind, "item": item, "at": at} for kind, item, at in rows])


def _sequence(database: Database) -> None:
    while database.write(lambda tx: audit_sequence.assign(tx, [merkle.append])):
        pass


def test_edits_become_events_that_verification_and_retention_accept(older: Database) -> None:
    now = clock.now() // 900 * 900
    rows = [("qr", 3, now - 900), ("link", 7, now - 3 * _YEAR), ("link", 7, now - 30 * 86_400)]
    older.write(lambda tx: _edit(tx, *rows))
    upgrade.upgrade(older)
    page = older.read(lambda tx: log.page(tx, 1, AuditFilter(), limit=10))
    shown = [(entry.name, entry.item, entry.at, entry.origin, entry.actor, entry.before) for entry in page.entries]
    assert shown == [
        (f"{kind}.updated", item, at, "system", None, None)
        for kind, item, at in sorted(rows, key=lambda row: row[2], reverse=True)
    ]
    salts = older.read(lambda tx: set(tx.execute(select(audit.c.salt)).scalars()))
    assert {len(salt) for salt in salts} == {32}
    assert len(salts) == 3
    _sequence(older)
    older.write(lambda tx: audit_retention.delete_before(tx, now - _YEAR))
    result = verification.verify(older)
    assert (result.problems, result.expired) == ([], 1)
    if not older.is_sqlite:
        in_rest = text("SELECT name FROM audit_rest WHERE name <> 'audit.purged'")
        assert older.read(lambda tx: tx.execute(in_rest).all()) == [], "each month has a partition"


def test_node_of_older_version_still_records_edits(older: Database) -> None:
    upgrade.upgrade(older)
    older.write(lambda tx: _edit(tx, ("link", 7, 900), ("link", 7, 900)))
    assert older.read(lambda tx: tx.execute(select(audit.c.id)).first()) is None


def test_log_that_has_events_gets_no_earlier_ones(older: Database) -> None:
    def work(tx: Connection) -> None:
        event = {"at": 900_000, "account": 1, "name": "link.updated", "kind": "link", "item": 7, "origin": "api"}
        tx.execute(insert(audit).values(**event, before={"title": "a"}, after={"title": "b"}))
        _edit(tx, ("link", 7, 900), ("link", 7, 900_000))

    older.write(work)
    upgrade.upgrade(older)
    assert older.read(lambda tx: tx.execute(select(audit.c.at)).scalars().all()) == [900_000]
    assert older.read(lambda tx: tx.execute(text("SELECT count(*) FROM edits")).scalar()) == 0


def test_new_database_has_no_table_of_edits(database: Database) -> None:
    assert not database.read(lambda tx: inspect(tx).has_table("edits"))


def test_backup_of_upgraded_database_is_restored_without_the_former_table(older: Database, tmp_path: Path) -> None:
    older.write(lambda tx: _edit(tx, ("link", 7, 900)))
    upgrade.upgrade(older)
    older.write(lambda tx: _edit(tx, ("link", 7, 1800)))
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        older.read(lambda tx: tables.save(tx, archive, {}))
    content.seek(0)
    with tarfile.open(fileobj=content) as archive, closing(Database(f"sqlite:///{tmp_path / 'new.db'}")) as restored:
        manifest = archive.extractfile(tables.MANIFEST)
        assert manifest is not None
        values = json.loads(manifest.read())
        restored.write(lambda tx: tables.load(tx, archive, values))
        assert restored.read(lambda tx: tx.execute(select(audit.c.name, audit.c.at)).all()) == [("link.updated", 900)]
        assert not restored.read(lambda tx: inspect(tx).has_table("edits"))
