"""Transactions on SQLite, which reuse idle connections."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, event, func, insert, null, select, text
from sqlalchemy.pool import Pool

from tests.support.threads import join
from waypost.core.errors import Kind, Problem
from waypost.db.database import Database
from waypost.db.schema import plans
from waypost.db.statements import DriverChange, DriverSelect
from waypost.db.upgrade import upgrade

_COLUMNS = ("name", "status", "rate_limit", "upload_limit")
_ADD = DriverChange(insert(plans).values({**{name: bindparam(name) for name in _COLUMNS}, "name_key": null()}))
_COUNT = DriverSelect(select(func.count()).select_from(plans))
_OTHERS = {"status": "pro", "rate_limit": 60, "upload_limit": 1}


@pytest.fixture
def migrated(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(f"sqlite:///{tmp_path / 'waypost.db'}")) as database:
        upgrade(database)
        yield database


@pytest.fixture
def closed_connections() -> Iterator[list[Any]]:
    closed: list[Any] = []

    def remember(connection: Any, _record: Any) -> None:
        closed.append(connection)

    event.listen(Pool, "close", remember)
    yield closed
    event.remove(Pool, "close", remember)


def _count(tx: Connection) -> int:
    return int(_COUNT.fetch_all(tx)[0][0])


def _count_by_sqlalchemy(tx: Connection) -> int:
    return int(tx.execute(select(func.count()).select_from(plans)).scalar_one())


def _add(database: Database, name: str, **options: Any) -> None:
    database.write(lambda tx: _ADD.execute(tx, name=name, **_OTHERS), **options)


@pytest.mark.parametrize("count", [_count, _count_by_sqlalchemy])
def test_snapshot_does_not_change_and_the_next_one_is_new(migrated: Database, count: Any) -> None:
    def work(tx: Connection) -> tuple[int, int]:
        first = count(tx)
        _add(migrated, f"During {first}")
        return first, count(tx)

    first, again = migrated.read(work)
    assert again == first
    assert migrated.read(work) == (first + 1, first + 1)


@pytest.mark.parametrize("count", [_count, _count_by_sqlalchemy])
def test_autocommit_read_sees_each_change(migrated: Database, count: Any) -> None:
    def work(tx: Connection) -> tuple[int, int]:
        first = count(tx)
        _add(migrated, "During")
        return first, count(tx)

    first, again = migrated.read(work, autocommit=True)
    assert again == first + 1


def test_reads_cannot_write(migrated: Database) -> None:
    for autocommit in (True, False):
        with pytest.raises(Problem) as caught:
            migrated.read(lambda tx: tx.execute(text("DELETE FROM plans")), autocommit=autocommit)
        assert caught.value.kind is Kind.UNAVAILABLE
    assert migrated.read(_count) > 0


@pytest.mark.parametrize("durability", ["full", "process", "relaxed"])
@pytest.mark.parametrize("autocommit", [True, False])
def test_failed_write_leaves_nothing(migrated: Database, durability: str, *, autocommit: bool) -> None:
    before = migrated.read(_count)

    def work(tx: Connection) -> None:
        _ADD.execute(tx, name="First", **_OTHERS)
        tx.execute(insert(plans).values(name="Second", **_OTHERS))
        assert _count(tx) == before + 2
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            migrated.write(work, durability=durability, autocommit=autocommit)  # type: ignore[arg-type]
        assert migrated.read(_count) == before
    _add(migrated, "Third", durability=durability, autocommit=autocommit)
    assert migrated.read(_count) == before + 1


def test_failed_commit_is_reported_and_leaves_nothing(migrated: Database) -> None:
    before = migrated.read(_count)
    unread: list[Any] = []

    def work(tx: Connection) -> None:
        driver: Any = tx.connection.driver_connection
        values = ", ".join(f"('{name}', 'pro', 60, 1)" for name in ("First", "Second"))
        columns = ", ".join(_COLUMNS)
        unread.append(driver.execute(f"INSERT INTO plans ({columns}) VALUES {values} RETURNING id"))

    with pytest.raises(Problem) as caught:
        migrated.write(work, autocommit=True)
    assert caught.value.kind is Kind.UNAVAILABLE
    unread[0].close()
    _add(migrated, "Third", autocommit=True)
    assert migrated.read(_count) == before + 1


def test_writes_of_many_threads_are_all_there(migrated: Database) -> None:
    before = migrated.read(_count)

    def write(number: int) -> None:
        for turn in range(10):
            _add(migrated, f"{number} {turn}", durability="process" if turn % 2 else "full", autocommit=number % 2 == 0)
            assert migrated.read(_count) > before

    threads = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert migrated.read(_count) == before + 120


def test_few_connections_stay_open_after_many_reads(migrated: Database, closed_connections: list[Any]) -> None:
    barrier = threading.Barrier(30)

    def work(tx: Connection) -> int:
        barrier.wait(30)
        return _count(tx)

    threads = [threading.Thread(target=migrated.read, args=(work,)) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert len(closed_connections) >= 30 - 8 - 8  # eight are idle, and the pool keeps eight


def test_no_file_stays_open_after_close(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'waypost.db'}")
    upgrade(database)
    release, started = threading.Event(), threading.Event()

    def work(tx: Connection) -> int:
        started.set()
        assert release.wait(30)
        return _count(tx)

    thread = threading.Thread(target=database.read, args=(work,))
    thread.start()
    assert started.wait(30)
    database.write(lambda tx: tx.execute(text("SELECT 1")), autocommit=True)
    database.close()
    release.set()
    join(thread)
    files = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert [file for file in files if file.startswith(str(tmp_path))] == []


def test_connection_of_writers_is_closed_in_a_turn_of_its_own(migrated: Database) -> None:
    """A statement of another thread that runs then ends the process with a segmentation fault."""
    queue = migrated._write_queue
    assert queue is not None
    _add(migrated, "First")
    turns: list[bool] = []

    def remember(_connection: Any, _record: Any) -> None:
        turns.append(queue.thread_turn.locked())

    for engine in {*migrated._writers.values()}:
        event.listen(engine, "close", remember)
    migrated.close()
    assert turns
    assert all(turns)


def test_missing_file_is_not_created_for_counting(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/waypost.db", creates=False)
    for work in (database.read, database.write):
        with pytest.raises(Problem) as refused:
            work(lambda tx: tx.execute(text("SELECT 1")).one())
        assert refused.value.kind is Kind.UNAVAILABLE
    database.close()
    assert list(tmp_path.iterdir()) == []
