"""Two PostgreSQL servers of which one follows the other: changes go to the new first one, and never back to the old."""

import signal
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from sqlalchemy import Connection, text

from tests.support.load import until
from tests.support.postgres import FAST, Postgres, own_postgres
from waypost.db import change_log, notifications, schema
from waypost.db.database import Database
from waypost.errors import Problem
from waypost.server import system_checks
from waypost.settings import Settings
from waypost.visits.cache import Cache, HotResponse
from waypost.visits.cache_invalidation import CacheInvalidator

_ENOUGH_SECONDS = 60


@dataclass(frozen=True)
class Pair:
    """The first server and its standby. Each row of `notes` is a change that was taken."""

    first: Postgres
    standby: Postgres

    def opened(self) -> Database:
        """A database that knows of both, the first one first."""
        hosts = "&".join(f"host=127.0.0.1:{one.port}" for one in (self.first, self.standby))
        return Database(f"postgresql://postgres@/postgres?{hosts}&target_session_attrs=read-write")

    def part(self) -> None:
        """Let the standby lag behind: it hears of no change any more."""
        _asked(self.standby, "ALTER SYSTEM SET primary_conninfo = ''")
        _asked(self.standby, "SELECT pg_reload_conf()")
        until(lambda: _asked(self.standby, "SELECT 1 FROM pg_stat_wal_receiver") == [])

    def promote(self) -> None:
        """Let the standby become the first server."""
        _asked(self.standby, "SELECT pg_promote()")


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two servers."""
    with own_postgres(*FAST) as first:
        _asked(first, "CREATE TABLE notes (note text)")
        with first.followed() as standby:
            until(lambda: _asked(standby, "SELECT to_regclass('notes')") != [(None,)])
            yield Pair(first, standby)
            with suppress(psutil.NoSuchProcess):  # it was killed
                first.signal(signal.SIGCONT)


def _asked(server: Postgres, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(f"{server.url}/postgres", autocommit=True) as line:
        done = line.execute(statement.encode())
        return done.fetchall() if done.description else []


def _notes(server: Postgres) -> list[str]:
    with psycopg.connect(f"{server.url}/postgres") as line:
        return [note for (note,) in line.execute("SELECT note FROM notes ORDER BY note")]


def _execute(statement: str, tx: Connection) -> None:
    tx.execute(text(statement))


def _noted(database: Database, note: str) -> bool:
    try:
        database.write(lambda tx: _execute(f"INSERT INTO notes VALUES ('{note}')", tx))
    except Problem:
        return False
    return True


def _is_seen(database: Database) -> bool:
    try:
        notifications.poll(database, lambda tx: _execute("SELECT 1", tx))
    except Problem:
        return False
    return True


def test_after_a_first_server_was_killed_its_standby_takes_the_changes(pair: Pair) -> None:
    with closing(pair.opened()) as database:
        assert _noted(database, "before")
        until(lambda: _notes(pair.standby) == ["before"])
        pair.first.kill()
        assert not _noted(database, "while there is no first server")
        pair.promote()
        until(lambda: _noted(database, "promoted"))
        assert _is_seen(database)
        pair.first.start()  # by mistake, as it was
        with closing(pair.opened()) as begun_later:
            for one in (database, begun_later):
                assert _noted(one, "returned")
                one.close()  # so that it needs new connections
                assert _noted(one, "returned")
    assert (_notes(pair.first), len(_notes(pair.standby))) == (["before"], 6)


def test_a_standby_alone_is_told_of_before_the_service_starts(pair: Pair, tmp_path: Path) -> None:
    [found] = system_checks.run(Settings(database_url=f"{pair.standby.url}/postgres", data_dir=tmp_path))
    assert (found.id, found.level, "during recovery" in found.text) == ("W014", "warning", True)


def test_a_first_server_that_stood_still_and_goes_on_is_not_used_any_more(pair: Pair) -> None:
    with closing(pair.opened()) as database:
        assert _is_seen(database)
        assert _noted(database, "before")  # after that: a connection used this moment is not asked whether it lives
        until(lambda: _notes(pair.standby) == ["before"])
        pair.first.signal(signal.SIGSTOP)
        waiting = threading.Thread(target=_noted, args=(database, "into the void"))
        waiting.start()
        pair.promote()
        until(lambda: _is_seen(database))
        database.reap_stalled_connections()  # as every process does once a second
        waiting.join(_ENOUGH_SECONDS)
        assert not waiting.is_alive()
        pair.first.signal(signal.SIGCONT)
        for number in range(5):
            assert _noted(database, f"after {number}")
            database.close()  # so that it needs new connections
    assert {"before", *(f"after {number}" for number in range(5))} <= set(_notes(pair.standby))
    assert _notes(pair.first) == ["before"]


def test_who_was_kept_waiting_asks_every_server_before_the_next_change(pair: Pair) -> None:
    with closing(pair.opened()) as database:
        assert _noted(database, "before")
        until(lambda: _notes(pair.standby) == ["before"])
        pair.promote()  # and the old one answers all the same
        slow = threading.Thread(target=database.write, args=(lambda tx: _execute("SELECT pg_sleep(4)", tx),))
        slow.start()
        while slow.is_alive():
            database.reap_stalled_connections()
            slow.join(0.1)
        assert _noted(database, "after")
    assert (_notes(pair.first), _notes(pair.standby)) == (["before"], ["after", "before"])


def test_a_change_that_the_standby_had_not_taken_over_is_forgotten_with_all_that_was_known(pair: Pair) -> None:
    with closing(pair.opened()) as database:
        database.write(schema.changes.create)
        database.write(lambda tx: change_log.record(tx, "", "summer"))
        until(lambda: _asked(pair.standby, "SELECT to_regclass('changes')") != [(None,)])
        until(lambda: _asked(pair.standby, "SELECT alias FROM changes") == [("summer",)])
        memory = Cache()
        watch = CacheInvalidator(database, memory)

        def has_forgotten() -> bool:
            watch.follow()
            return memory.hot == {}

        def remember() -> None:
            memory.put_hot(b"", ("", "spring"), HotResponse(b"", b"", 1 << 62), version=memory.version)

        pair.part()
        remember()
        database.write(lambda tx: change_log.record(tx, "", "spring"))
        until(has_forgotten)
        remember()
        pair.first.kill()
        assert not has_forgotten()  # nobody knows better yet
        pair.promote()
        until(has_forgotten)
