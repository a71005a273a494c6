"""What strangers may try in a minute, over all processes that have the same data."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import func, select

from tests.support.server import at_once
from waypost.db.database import Database
from waypost.db.schema import attempt_limits as table
from waypost.http.attempt_limiter import AttemptLimiter, Limit

NOW = 1_800_000_000
ONE = Limit("password of link 5 from 203.0.113.7", 10)


@pytest.fixture
def processes(database: Database, database_url: str, tmp_path: Path) -> Iterator[list[AttemptLimiter]]:
    """Three of them: with SQLite of one node, with PostgreSQL of three."""
    folders = [tmp_path if database.is_sqlite else tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    opened = [Database(database_url) for _ in folders]
    found = [AttemptLimiter(folder, one) for folder, one in zip(folders, opened, strict=True)]
    yield found
    for one in found:
        one.close()
    for base in opened:
        base.close()


def test_so_many_are_let_through_and_no_more(processes: list[AttemptLimiter]) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        waits = at_once([lambda n=n: processes[n % 3].acquire(ONE) for n in range(45)])  # type: ignore[misc]
        assert sorted(waits) == [0] * 10 + [60] * 35
        clock.shift(59)
        assert [one.acquire(ONE) for one in processes] == [1, 1, 1]
        clock.shift(1)
        assert [processes[n % 3].acquire(ONE) for n in range(12)] == [0] * 10 + [60] * 2
        clock.shift(-3600)  # a clock that is set back locks nobody out
        assert processes[0].acquire(ONE) == 0


def test_of_several_counts_all_are_lowered_or_none(processes: list[AttemptLimiter]) -> None:
    few, many = Limit("passwords from 203.0.113.7", 3), Limit("passwords", 100)
    with time_machine.travel(NOW, tick=False):
        assert [processes[n % 3].acquire(few, many) > 0 for n in range(20)] == [False] * 3 + [True] * 17
        others = [processes[n % 3].acquire(many) > 0 for n in range(98)]
        assert others == [False] * 97 + [True]  # the refused ones took nothing from it


def test_what_was_right_does_not_count(processes: list[AttemptLimiter]) -> None:
    for n in range(25):
        assert processes[n % 3].acquire(ONE) == 0
        processes[n % 3].release(ONE)


def test_old_counts_are_thrown_away(processes: list[AttemptLimiter], database: Database, tmp_path: Path) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        for n in range(255):
            assert processes[0].acquire(Limit(f"keys from 203.0.113.{n}", 30)) == 0
        clock.shift(61)
        assert processes[0].acquire(ONE) == 0
    url = f"sqlite:///{tmp_path / 'attempt_limits.db'}" if database.is_sqlite else ""
    with closing(Database(url) if url else database) as kept:
        assert kept.read(lambda tx: tx.execute(select(func.count()).select_from(table)).scalar_one()) == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_stranger_waits_for_the_lock_of_the_database_or_takes_it(
    processes: list[AttemptLimiter], tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        trying = threading.Thread(target=processes[0].acquire, args=(ONE,))
        trying.start()
        trying.join()
        assert processes[1].acquire(ONE) == 0
    names = b"".join(path.read_bytes() for path in tmp_path.glob("attempt_limits.db*"))
    assert b"203.0.113.7" not in names
    assert b"link 5" not in names
