"""The ingester counts every complete line of the journal exactly once, on both databases, after any crash."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, select, update

from tests.support.load import until
from tests.support.threads import join
from tests.support.visits import CHROME, FIREFOX, GOOGLEBOT
from waypost.clicks.ingest import ingester as ingester_module
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal.entry import LATE, format_line, item_fields
from waypost.clicks.journal.writer import Journal
from waypost.db.database import Database, Durability
from waypost.db.schema import click_labels, click_times, events, segments, visitors
from waypost.db.schema import links as links_table
from waypost.errors import Kind, Problem
from waypost.settings import Settings

FAULT_POINTS = [
    *("classified", "visitors", "times", "labels", "totals", "events", "positions", "committed", "flushed", "removed"),
]
NOW_MS = 1_800_014_400_000  # 2027-01-15 12:00:00 UTC


class Died(BaseException):
    """Raised at a fault point to simulate a crash."""


def _click(link: int, address: str = "203.0.113.1", agent: str = CHROME, flags: bytes = b"", ms: int = NOW_MS) -> bytes:
    fields = (agent.encode(), b"https://t.co/x", b"de")
    return format_line(item_fields(1, "link", link), ms, flags, address.encode(), b"", fields)


def _click_counts(database: Database, link: int) -> set[tuple[int, int]]:
    """(clicks, distinct visitors) of a link in every table that counts them: one pair if they agree."""

    def work(tx: Connection) -> set[tuple[int, int]]:
        row = tx.execute(select(links_table.c.clicks, links_table.c.uniqueclicks).where(links_table.c.id == link)).one()
        names = {(int(row[0]), int(row[1]))}
        for kind, item in (("link", link), ("account", 1)):
            c = click_times.c
            sums = select(func.sum(c.clicks), func.sum(c.uniques)).where(c.kind == kind, c.item == item)
            names.add(tuple(int(n or 0) for n in tx.execute(sums).one()))  # type: ignore[arg-type]  # two of them
            label = click_labels.c
            for dimension in ("browser", "network", "country"):
                own = (label.kind == kind, label.item == item, label.dimension == dimension)
                for days in (label.day == -1, label.day >= 0):
                    n = tx.execute(select(func.sum(label.n)).where(*own, days)).scalar_one()
                    names.add((int(n or 0), int(row[1])))
        c = events.c
        single = select(func.count(), func.count().filter(c.first)).where(c.sort == "click")
        return names | {(int(n), int(firsts)) for n, firsts in tx.execute(single)}

    return database.read(work)


def _run_out(ingester: Ingester) -> None:
    while ingester.step():
        pass


def _fault_at(point: str, error: BaseException) -> Callable[[str], None]:
    left = [point]

    def fault(name: str) -> None:
        if name in left:
            left.remove(name)
            raise error

    return fault


def test_ingester_failure_between_statements_loses_nothing(database: Database, settings: Settings, link: int) -> None:
    for number, point in enumerate(FAULT_POINTS, 1):
        journal = Journal(settings.journal_dir)
        journal.write(_click(link) * 3 + _click(link, f"203.0.113.{number + 100}"))
        journal.close()
        with pytest.raises(Died):
            _run_out(Ingester(settings, database, fault_point=_fault_at(point, Died())))
        _run_out(Ingester(settings, database))
        assert (point, _click_counts(database, link)) == (point, {(4 * number, 1 + number)})
    assert not list(settings.journal_dir.glob("*.log"))


@pytest.mark.parametrize("point", ["labels", "committed"])
def test_killed_ingester_loses_nothing(database: Database, settings: Settings, link: int, point: str) -> None:
    code = f"""
import os, pathlib, sys
from waypost.clicks.ingest import ingester as ingester_module
from waypost.clicks.ingest.ingester import Ingester
from waypost.db.database import Database, Durability
from waypost.settings import Settings
settings = Settings(data_dir=pathlib.Path(sys.argv[1]), database_url=sys.argv[2])
Ingester(settings, Database(settings.database), fault_point=lambda name: name == {point!r} and os._exit(9)).step()
"""
    journal = Journal(settings.journal_dir)
    journal.write(_click(link) * 5)
    killed = subprocess.run([sys.executable, "-c", code, settings.data_dir, settings.database_url], check=False)
    assert killed.returncode == 9
    _run_out(Ingester(settings, database))
    assert _click_counts(database, link) == {(5, 1)}
    journal.close()


def test_committed_batch_is_not_counted_again_after_lost_connection(
    database: Database, settings: Settings, link: int
) -> None:
    broken = _fault_at("committed", Problem(Kind.UNAVAILABLE, "the connection broke"))
    ingester, stop = Ingester(settings, database, fault_point=broken), threading.Event()
    journal = Journal(settings.journal_dir)
    journal.write(_click(link) * 2)
    thread = threading.Thread(target=ingester.run, args=(stop,))
    thread.start()
    try:
        until(lambda: _click_counts(database, link) == {(2, 1)})
        journal.write(_click(link))
        until(lambda: (3, 1) in _click_counts(database, link))
    finally:
        stop.set()
        join(thread)
    assert _click_counts(database, link) == {(3, 1)}
    journal.close()


def test_concurrent_ingesters_count_lines_once(database: Database, settings: Settings, link: int) -> None:
    journal = Journal(settings.journal_dir)
    slow, fast = Ingester(settings, database), Ingester(settings, database)
    for number in range(1, 4):  # as on a disk whose locks do not hold
        assert not slow.step() or number == 1
        journal.write(_click(link))
        fast.step()
        with pytest.raises(Problem, match="already counted"):
            slow.step()
        assert _click_counts(database, link) == {(number, 1)}
        slow = Ingester(settings, database)
    journal.close()


def test_batches_are_bounded_by_lines_and_bytes(
    database: Database, settings: Settings, link: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingester_module, "_BATCH_LINES", 4)
    for _ in range(3):  # segments of 3 lines
        journal = Journal(settings.journal_dir)
        journal.write(_click(link) * 3)
        journal.close()
    ingester = Ingester(settings, database)
    for counted, level in ((4, 1), (8, 1), (9, 0.25), (9, 0)):
        assert ingester.step() == level
        assert _click_counts(database, link) == {(counted, 1)}
    assert list(settings.journal_dir.glob("*.log")) == []

    monkeypatch.setattr(ingester_module, "_BATCH_BYTES", len(_click(link)) * 5 // 2)
    journal = Journal(settings.journal_dir)
    journal.write(_click(link) * 3)
    assert [ingester.step() > 0.75, ingester.step() > 0.25, ingester.step()] == [True, True, 0]
    assert _click_counts(database, link) == {(12, 1)}
    journal.close()


def test_clicks_lost_in_failover_are_counted_again(database: Database, settings: Settings, link: int) -> None:
    def forget(tx: Connection) -> None:  # as a standby that had not heard of them when it became the first server
        for table in (segments, events, click_times, click_labels, visitors):
            tx.execute(delete(table))
        tx.execute(update(links_table).values(clicks=0, uniqueclicks=0))

    journal, ingester = Journal(settings.journal_dir), Ingester(settings, database)
    journal.write(_click(link) * 3)
    ingester.step()
    database.write(forget)
    journal.write(_click(link))
    with pytest.raises(Problem, match="already counted"):
        ingester.step()
    _run_out(Ingester(settings, database))
    assert _click_counts(database, link) == {(4, 1)}
    journal.close()


def test_segment_whose_counts_were_lost_is_kept(database: Database, settings: Settings, link: int) -> None:
    def forget(tx: Connection) -> None:  # as after a crash of the database server, which loses relaxed transactions
        for table in (segments, events, click_times, click_labels, visitors):
            tx.execute(delete(table))
        tx.execute(update(links_table).values(clicks=0, uniqueclicks=0))

    journal, ingester = Journal(settings.journal_dir), Ingester(settings, database)
    journal.write(_click(link) * 3)
    ingester.step()
    journal.close()
    database.write(forget)
    with pytest.raises(Problem, match="lost the last counts"):
        ingester.step()
    _run_out(Ingester(settings, database))
    assert _click_counts(database, link) == {(3, 1)}
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
    journal.write(_click(link))
    ingester.step()
    journal.close()
    steps.clear()
    monkeypatch.setattr(Database, "write", recorded)
    ingester.step()
    assert steps == ["full", "flushed", "removed", "relaxed"]


def test_second_ingester_waits_for_lock(database: Database, database_url: str, settings: Settings, link: int) -> None:
    counting, resume = threading.Event(), threading.Event()

    def fault(name: str) -> None:
        if name == "classified":
            counting.set()
            assert resume.wait(30)

    other_database = Database(database_url)
    journal = Journal(settings.journal_dir)
    journal.write(_click(link) * 7)
    stops = threading.Event(), threading.Event()
    first = threading.Thread(target=Ingester(settings, database, fault_point=fault).run, args=(stops[0],))
    first.start()
    assert counting.wait(30)
    stopped = threading.Event()
    stopped.set()
    Ingester(settings, other_database).run(stopped)  # an ingester stopped before it got the lock counts nothing
    assert _click_counts(other_database, link) == {(0, 0)}
    second = threading.Thread(target=Ingester(settings, other_database).run, args=(stops[1],))
    second.start()
    resume.set()
    until(lambda: (7, 1) in _click_counts(other_database, link))
    stops[0].set()
    join(first)
    journal.write(_click(link))
    until(lambda: (8, 1) in _click_counts(other_database, link))  # the other one has taken over
    stops[1].set()
    join(second)
    assert _click_counts(other_database, link) == {(8, 1)}
    journal.close()
    other_database.close()


def test_counted_segments_are_deleted(database: Database, settings: Settings, link: int, tmp_path: Path) -> None:
    ingester = Ingester(settings, database)
    one, two = Journal(settings.journal_dir), Journal(settings.journal_dir)
    one.write(_click(link, "203.0.113.77"))
    two.write(_click(link, "2001:db8::7777", FIREFOX))
    assert _found(tmp_path, b"203.0.113.77")
    assert _found(tmp_path, b"2001:db8::7777")
    one.close()
    ingester.step()
    assert len(list(settings.journal_dir.glob("*.log"))) == 1  # the other one is still being written
    two.write(_click(link, "2001:db8::7777", FIREFOX))
    ingester.step()
    two.close()
    ingester.step()
    assert not list(settings.journal_dir.glob("*.log"))
    assert not _found(tmp_path, b"203.0.113.77")
    assert not _found(tmp_path, b"2001:db8::7777")
    assert database.read(lambda tx: tx.execute(select(segments)).all()) == []
    assert _click_counts(database, link) == {(3, 2)}


def test_torn_line_is_not_counted(database: Database, settings: Settings, link: int) -> None:
    folder = settings.journal_dir
    ingester = Ingester(settings, database)
    (folder / "1.log").write_bytes(_click(link) * 2 + _click(link)[:40])
    (folder / "2.log").write_bytes(_click(link)[:-1])
    (folder / "3.log").write_bytes(b"")
    (folder / "4.log").write_bytes(_click(link))
    _run_out(ingester)
    assert _click_counts(database, link) == {(3, 1)}
    assert not list(folder.glob("*.log"))


def test_malformed_line_is_skipped(database: Database, settings: Settings, link: int) -> None:
    valid_line = _click(link)
    fields = valid_line.split(b"\t")
    invalid_lines = [
        b"\n",
        b"\0" * 512 + b"\n",
        b"\t" * 9 + b"\n",
        b"x" * 100_000 + b"\n",
        valid_line[:20] + valid_line,
        *(b"\t".join([*fields[:place], worse, *fields[place + 1 :]]) for place in (0, 1, 3) for worse in _NOT_NUMBERS),
        *(b"\t".join([*fields[:2], worse, *fields[3:]]) for worse in _NOT_KINDS),
    ]
    (settings.journal_dir).mkdir(exist_ok=True)
    (settings.journal_dir / "1.log").write_bytes(b"".join(valid_line + invalid_line for invalid_line in invalid_lines))
    _run_out(Ingester(settings, database))
    assert _click_counts(database, link) == {(len(invalid_lines), 1)}


_NOT_KINDS = (b"", b"\xff", b"no such kind", b"li\0k", b"LINK" * 9)
_NOT_NUMBERS = (b"", b"x", b"-1", b"1.5", b"9" * 30, b"9" * 5000, b"\0", b"\xff")


def test_visits_are_counted_at_their_own_time(database: Database, settings: Settings, link: int) -> None:
    journal = Journal(settings.journal_dir)
    for ms in (0, NOW_MS + 86_400_000, NOW_MS, 4_102_444_800_000):  # a clock may jump
        journal.write(_click(link, ms=ms) + _click(link, ms=ms, flags=LATE) + _click(link, agent=GOOGLEBOT, ms=ms))
    _run_out(Ingester(settings, database))
    assert _click_counts(database, link) == {(4, 4)}
    c = click_times.c
    rows = select(c.at, c.clicks, c.late, c.bots).where(c.kind == "link").order_by(c.at)
    result = database.read(lambda tx: tx.execute(rows).all())
    assert [tuple(row) for row in result] == [
        (at, 1, 1, 1) for at in (0, NOW_MS // 1000, NOW_MS // 1000 + 86_400, 4_102_444_800)
    ]
    journal.close()


def _found(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
