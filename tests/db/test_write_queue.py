"""Writers on SQLite queue, in one process and in several."""

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tests.support.threads import join
from waypost.db import sqlite_file
from waypost.db.database import Database
from waypost.db.sqlite_file import WriteQueue

_SECONDS = 60
_HOLD_SECONDS = 0.05
_WRITES = 10
_MOST = 10  # writes of the other one before ours: 1 or 2, more only on a machine that lets us wait
_SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with a counter."""
    file = tmp_path / "waypost.db"
    with closing(_open(file)) as database:
        sqlite_file.create_files(file)
        database.write(lambda tx: tx.execute(text("CREATE TABLE counters (count INTEGER)")))
        database.write(lambda tx: tx.execute(text("INSERT INTO counters VALUES (0)")))
    return file


def _open(file: Path) -> Database:
    return Database(f"sqlite:///{file}")


def _count(tx: Connection) -> int:
    return int(tx.execute(text("SELECT count FROM counters")).scalar_one())


def _write_without_pause(database: Database, stop: Event | threading.Event, has_begun: Any) -> None:
    def work(tx: Connection) -> None:
        tx.execute(text("UPDATE counters SET count = count + 1"))
        has_begun.set()
        end = time.monotonic() + _HOLD_SECONDS
        while time.monotonic() < end:  # works, as an import does
            pass

    while not stop.is_set():
        database.write(work)


def _write_in_process(file: Path, stop: Event, has_begun: Event) -> None:
    with closing(_open(file)) as database:
        _write_without_pause(database, stop, has_begun)


@contextmanager
def _other_thread(database: Database, _file: Path) -> Iterator[None]:
    stop, has_begun = threading.Event(), threading.Event()
    thread = threading.Thread(target=_write_without_pause, args=(database, stop, has_begun))
    thread.start()
    try:
        assert has_begun.wait(_SECONDS)
        yield
    finally:
        stop.set()
        join(thread)


@contextmanager
def _other_process(_database: Database, file: Path) -> Iterator[None]:
    stop, has_begun = _SPAWN.Event(), _SPAWN.Event()
    process = _SPAWN.Process(target=_write_in_process, args=(file, stop, has_begun))
    process.start()
    try:
        assert has_begun.wait(_SECONDS)
        yield
    finally:
        stop.set()
        process.join(_SECONDS)
        assert process.exitcode == 0


@pytest.mark.parametrize("other", [_other_thread, _other_process])
def test_writer_has_its_turn_while_another_one_writes_without_pause(file: Path, other: Any) -> None:
    with closing(_open(file)) as database, other(database, file):
        for _ in range(_WRITES):
            before = database.read(_count)
            assert database.write(_count) - before <= _MOST


def test_write_of_killed_process_delays_no_other(file: Path) -> None:
    stop, has_begun = _SPAWN.Event(), _SPAWN.Event()
    process = _SPAWN.Process(target=_write_in_process, args=(file, stop, has_begun))
    process.start()
    assert has_begun.wait(_SECONDS)
    process.kill()
    process.join(_SECONDS)
    with closing(_open(file)) as database:
        assert database.write(_count) >= 0


def test_writes_succeed_while_another_process_keeps_its_turn_without_writing(file: Path) -> None:
    with closing(_open(file)) as database, closing(WriteQueue(file)) as queue, queue:
        for _ in range(_WRITES):
            database.write(lambda tx: tx.execute(text("UPDATE counters SET count = count + 1")))
        assert database.read(_count) == _WRITES


@pytest.mark.parametrize("end", ["-queue", "-turn"])
def test_writes_succeed_without_lock_files(file: Path, end: str) -> None:
    lock = file.with_name(file.name + end)
    lock.unlink()
    lock.mkdir()
    with closing(_open(file)) as database:
        database.write(lambda tx: tx.execute(text("UPDATE counters SET count = count + 1")))
        assert database.read(_count) == 1


def test_mark_of_ended_process_holds_back_no_other(file: Path) -> None:
    mark = file.with_name(f"{file.name}-queue")
    mark.write_bytes(b"\1")  # as a process leaves it that is killed at the head of the queue
    with closing(_open(file)) as database:
        assert database.write(_count) == 0
        assert mark.read_bytes() == b"\0"
