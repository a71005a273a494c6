"""Segments of the journal: counted in bounded batches, and deleted once their counts are on disk."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from tests.support.clicks import click, click_counts, lose_counts, run_out
from tests.support.databases import ON_SQLITE
from tests.support.visits import FIREFOX
from waypost.clicks.ingest import ingester as ingester_module
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database, Durability
from waypost.db.schema import segments


def test_batches_are_bounded_by_lines_and_bytes(
    database: Database, settings: Settings, link: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingester_module, "_BATCH_LINES", 4)
    for _ in range(3):  # segments of 3 lines
        journal = Journal(settings.journal_dir)
        journal.write(click(link) * 3)
        journal.close()
    ingester = Ingester(settings, database)
    for counted, level in ((4, 1), (8, 1), (9, 0.25), (9, 0)):
        assert ingester.step() == level
        assert click_counts(database, link) == {(counted, 1)}
    assert list(settings.journal_dir.glob("*.log")) == []

    monkeypatch.setattr(ingester_module, "_BATCH_BYTES", len(click(link)) * 5 // 2)
    journal = Journal(settings.journal_dir)
    journal.write(click(link) * 3)
    assert [ingester.step() > 0.75, ingester.step() > 0.25, ingester.step()] == [True, True, 0]
    assert click_counts(database, link) == {(12, 1)}
    journal.close()


def test_segment_whose_counts_were_lost_is_kept(database: Database, settings: Settings, link: int) -> None:
    journal, ingester = Journal(settings.journal_dir), Ingester(settings, database)
    journal.write(click(link) * 3)
    ingester.step()
    journal.close()
    lose_counts(database)
    with pytest.raises(Problem, match="lost the last counts"):
        ingester.step()
    run_out(Ingester(settings, database))
    assert click_counts(database, link) == {(3, 1)}
    assert list(settings.journal_dir.glob("*.log")) == []


def test_segment_is_deleted_after_its_counts_are_on_disk(
    database: Database, settings: Settings, link: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    write = Database.write

    def recorded(self: Database, work: Callable[[Connection], object], *, durability: Durability = "full") -> object:
        steps.append(durability)
        return write(self, work, durability=durability)

    journal = Journal(settings.journal_dir)
    ingester = Ingester(settings, database, fault_point=steps.append)
    journal.write(click(link))
    ingester.step()
    journal.close()
    steps.clear()
    monkeypatch.setattr(Database, "write", recorded)
    ingester.step()
    assert steps == ["full", "flushed", "removed", "relaxed"]


@ON_SQLITE
def test_segment_is_deleted_after_database_has_written(database: Database, settings: Settings, link: int) -> None:
    (wal,) = settings.data_dir.glob("*.db-wal")
    written: dict[str, bytes] = {}
    journal = Journal(settings.journal_dir)
    ingester = Ingester(settings, database, fault_point=lambda name: written.update({name: wal.read_bytes()}))
    journal.write(click(link))
    ingester.step()
    journal.close()
    ingester.step()
    assert written["flushed"] != written["committed"]  # a transaction that changes nothing would not flush anything


def test_counted_segments_are_deleted(database: Database, settings: Settings, link: int, tmp_path: Path) -> None:
    ingester = Ingester(settings, database)
    one, two = Journal(settings.journal_dir), Journal(settings.journal_dir)
    one.write(click(link, "203.0.113.77"))
    two.write(click(link, "2001:db8::7777", FIREFOX))
    assert _found(tmp_path, b"203.0.113.77")
    assert _found(tmp_path, b"2001:db8::7777")
    one.close()
    ingester.step()
    assert len(list(settings.journal_dir.glob("*.log"))) == 1  # the other one is still being written
    two.write(click(link, "2001:db8::7777", FIREFOX))
    ingester.step()
    two.close()
    ingester.step()
    assert not list(settings.journal_dir.glob("*.log"))
    assert not _found(tmp_path, b"203.0.113.77")
    assert not _found(tmp_path, b"2001:db8::7777")
    assert database.read(lambda tx: tx.execute(select(segments)).all()) == []
    assert click_counts(database, link) == {(3, 2)}


def test_torn_line_is_not_counted(database: Database, settings: Settings, link: int) -> None:
    folder = settings.journal_dir
    ingester = Ingester(settings, database)
    (folder / "1.log").write_bytes(click(link) * 2 + click(link)[:40])
    (folder / "2.log").write_bytes(click(link)[:-1])
    (folder / "3.log").write_bytes(b"")
    (folder / "4.log").write_bytes(click(link))
    run_out(ingester)
    assert click_counts(database, link) == {(3, 1)}
    assert not list(folder.glob("*.log"))


def _found(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
