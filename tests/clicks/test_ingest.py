"""The ingester counts every complete line of the journal exactly once, on both databases, after any crash."""

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from tests.support.clicks import NOW_MS, click, click_counts, lose_counts, run_out
from tests.support.databases import ON_SQLITE, damage_table
from tests.support.load import until
from tests.support.threads import join
from tests.support.visits import GOOGLEBOT
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import LATE, Journal
from waypost.core.errors import Kind, Problem
from waypost.core.metrics import exposition
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_times

FAULT_POINTS = [
    *("classified", "visitors", "times", "labels", "totals", "events", "positions", "committed", "flushed", "removed"),
]


class Died(BaseException):
    """Raised at a fault point to simulate a crash."""


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
        journal.write(click(link) * 3 + click(link, f"203.0.113.{number + 100}"))
        journal.close()
        with pytest.raises(Died):
            run_out(Ingester(settings, database, fault_point=_fault_at(point, Died())))
        run_out(Ingester(settings, database))
        assert (point, click_counts(database, link)) == (point, {(4 * number, 1 + number)})
    assert not list(settings.journal_dir.glob("*.log"))


@pytest.mark.parametrize("point", ["labels", "committed"])
def test_killed_ingester_loses_nothing(database: Database, settings: Settings, link: int, point: str) -> None:
    code = f"""
import os, pathlib, sys
from waypost.clicks.ingest import ingester as ingester_module
from waypost.clicks.ingest.ingester import Ingester
from waypost.db.database import Database, Durability
from waypost.core.settings import Settings
settings = Settings(data_dir=pathlib.Path(sys.argv[1]), database_url=sys.argv[2])
Ingester(settings, Database(settings.database), fault_point=lambda name: name == {point!r} and os._exit(9)).step()
"""
    journal = Journal(settings.journal_dir)
    journal.write(click(link) * 5)
    killed = subprocess.run([sys.executable, "-c", code, settings.data_dir, settings.database_url], check=False)
    assert killed.returncode == 9
    run_out(Ingester(settings, database))
    assert click_counts(database, link) == {(5, 1)}
    journal.close()


def test_committed_batch_is_not_counted_again_after_lost_connection(
    database: Database, settings: Settings, link: int
) -> None:
    broken = _fault_at("committed", Problem(Kind.UNAVAILABLE, "the connection broke"))
    ingester, stop = Ingester(settings, database, fault_point=broken), threading.Event()
    journal = Journal(settings.journal_dir)
    journal.write(click(link) * 2)
    thread = threading.Thread(target=ingester.run, args=(stop,))
    thread.start()
    try:
        until(lambda: click_counts(database, link) == {(2, 1)})
        journal.write(click(link))
        until(lambda: (3, 1) in click_counts(database, link))
    finally:
        stop.set()
        join(thread)
    assert click_counts(database, link) == {(3, 1)}
    journal.close()


def test_concurrent_ingesters_count_lines_once(database: Database, settings: Settings, link: int) -> None:
    journal = Journal(settings.journal_dir)
    slow, fast = Ingester(settings, database), Ingester(settings, database)
    for number in range(1, 4):  # as on a disk whose locks do not hold
        assert not slow.step() or number == 1
        journal.write(click(link))
        fast.step()
        with pytest.raises(Problem, match="already counted"):
            slow.step()
        assert click_counts(database, link) == {(number, 1)}
        slow = Ingester(settings, database)
    journal.close()


def test_clicks_lost_in_failover_are_counted_again(database: Database, settings: Settings, link: int) -> None:
    journal, ingester = Journal(settings.journal_dir), Ingester(settings, database)
    journal.write(click(link) * 3)
    ingester.step()
    lose_counts(database)
    journal.write(click(link))
    with pytest.raises(Problem, match="already counted"):
        ingester.step()
    run_out(Ingester(settings, database))
    assert click_counts(database, link) == {(4, 1)}
    journal.close()


def test_second_ingester_waits_for_lock(database: Database, database_url: str, settings: Settings, link: int) -> None:
    counting, resume = threading.Event(), threading.Event()

    def fault(name: str) -> None:
        if name == "classified":
            counting.set()
            assert resume.wait(30)

    other_database = Database(database_url)
    journal = Journal(settings.journal_dir)
    journal.write(click(link) * 7)
    stops = threading.Event(), threading.Event()
    first = threading.Thread(target=Ingester(settings, database, fault_point=fault).run, args=(stops[0],))
    first.start()
    assert counting.wait(30)
    stopped = threading.Event()
    stopped.set()
    Ingester(settings, other_database).run(stopped)  # an ingester stopped before it got the lock counts nothing
    assert click_counts(other_database, link) == {(0, 0)}
    second = threading.Thread(target=Ingester(settings, other_database).run, args=(stops[1],))
    second.start()
    resume.set()
    until(lambda: (7, 1) in click_counts(other_database, link))
    stops[0].set()
    join(first)
    journal.write(click(link))
    until(lambda: (8, 1) in click_counts(other_database, link))  # the other one has taken over
    stops[1].set()
    join(second)
    assert click_counts(other_database, link) == {(8, 1)}
    journal.close()
    other_database.close()


def test_malformed_line_is_skipped(database: Database, settings: Settings, link: int) -> None:
    valid_line = click(link)
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
    with capture_logs() as logged:
        run_out(Ingester(settings, database))
    assert click_counts(database, link) == {(len(invalid_lines), 1)}
    (entry,) = [entry for entry in logged if entry["event"] == "damaged lines in the click journal"]
    damaged = (entry["segment"], entry["offset"], entry["lines"])
    assert damaged == ("1.log", 2 * len(valid_line) + 1, len(invalid_lines) - 1)  # the first one is empty


_NOT_KINDS = (b"", b"\xff", b"no such kind", b"li\0k", b"LINK" * 9)
_NOT_NUMBERS = (b"", b"x", b"-1", b"1.5", b"9" * 30, b"9" * 5000, b"\0", b"\xff")


def test_visits_are_counted_at_their_own_time(database: Database, settings: Settings, link: int) -> None:
    journal = Journal(settings.journal_dir)
    for ms in (0, NOW_MS + 86_400_000, NOW_MS, 4_102_444_800_000):  # a clock may jump
        journal.write(click(link, ms=ms) + click(link, ms=ms, flags=LATE) + click(link, agent=GOOGLEBOT, ms=ms))
    run_out(Ingester(settings, database))
    assert click_counts(database, link) == {(4, 4)}
    c = click_times.c
    rows = select(c.at, c.clicks, c.late, c.bots).where(c.kind == "link").order_by(c.at)
    result = database.read(lambda tx: tx.execute(rows).all())
    assert [tuple(row) for row in result] == [
        (at, 1, 1, 1) for at in (0, NOW_MS // 1000, NOW_MS // 1000 + 86_400, 4_102_444_800)
    ]
    journal.close()


def test_metrics_of_stopped_ingester_are_complete(database: Database, settings: Settings, link: int) -> None:
    journal, stop = Journal(settings.journal_dir), threading.Event()

    def stop_after_first_batch(fault_point: str) -> None:
        if fault_point == "committed" and not stop.is_set():
            journal.write(click(link))
            stop.set()

    journal.write(click(link) * 2)
    Ingester(settings, database, fault_point=stop_after_first_batch).run(stop)
    journal.close()
    assert "\nwaypost_clicks_ingested_total 3.0\n" in exposition(settings.metrics_dir, {}).decode()


@ON_SQLITE
def test_ingester_waits_while_the_database_is_damaged(database: Database, settings: Settings, link: int) -> None:
    assert database.path is not None
    damage_table(database.path, "links")
    journal, stop = Journal(settings.journal_dir), threading.Event()
    journal.write(click(link))
    attempts: list[str] = []

    def count_attempts(fault_point: str) -> None:
        attempts.append(fault_point)
        if attempts.count("classified") == 3:
            stop.set()

    with capture_logs() as logged:
        Ingester(settings, database, fault_point=count_attempts).run(stop)
    journal.close()
    waits = [entry for entry in logged if entry["event"] == "ingester waits for the database or the disk"]
    assert [entry["reason"] for entry in waits] == ["database disk image is malformed"]
    assert list(settings.journal_dir.glob("*.log"))
