"""Failover between two PostgreSQL servers: writes go to the promoted standby, never back to the old primary."""

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
from tests.support.postgres import FAST_OPTIONS, Postgres, own_postgres
from waypost.admin import system_checks
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db import change_log, notifications, schema
from waypost.db.database import Database
from waypost.visits.cache import Cache, CacheInvalidator, HotResponse

_MAX_SECONDS = 60


@dataclass(frozen=True)
class ReplicationPair:
    """A primary and its standby. Each row of `notes` is an accepted write."""

    primary: Postgres
    standby: Postgres

    def open_database(self) -> Database:
        """Open a database whose URL names both servers, the primary first."""
        hosts = "&".join(f"host=127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        return Database(f"postgresql://postgres@/postgres?{hosts}&target_session_attrs=read-write")

    def stop_replication(self) -> None:
        """Let the standby lag: it receives no more changes."""
        _execute_on(self.standby, "ALTER SYSTEM SET primary_conninfo = ''")
        _execute_on(self.standby, "SELECT pg_reload_conf()")
        until(lambda: _execute_on(self.standby, "SELECT 1 FROM pg_stat_wal_receiver") == [])

    def promote(self) -> None:
        """Make the standby the primary."""
        _execute_on(self.standby, "SELECT pg_promote()")


@pytest.fixture
def replication() -> Iterator[ReplicationPair]:
    """A primary and a standby."""
    with own_postgres(*FAST_OPTIONS) as primary:
        _execute_on(primary, "CREATE TABLE notes (note text)")
        with primary.running_standby() as standby:
            until(lambda: _execute_on(standby, "SELECT to_regclass('notes')") != [(None,)])
            yield ReplicationPair(primary, standby)
            with suppress(psutil.NoSuchProcess):  # the test killed it
                primary.signal(signal.SIGCONT)


def _execute_on(server: Postgres, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _notes(server: Postgres) -> list[str]:
    with psycopg.connect(f"{server.url}/postgres") as connection:
        return [note for (note,) in connection.execute("SELECT note FROM notes ORDER BY note")]


def _execute(statement: str, tx: Connection) -> None:
    tx.execute(text(statement))


def _write_note(database: Database, note: str) -> bool:
    try:
        database.write(lambda tx: _execute(f"INSERT INTO notes VALUES ('{note}')", tx))
    except Problem:
        return False
    return True


def _can_poll(database: Database) -> bool:
    try:
        notifications.poll(database, lambda tx: _execute("SELECT 1", tx))
    except Problem:
        return False
    return True


def test_killed_primary_is_replaced_by_promoted_standby(replication: ReplicationPair) -> None:
    with closing(replication.open_database()) as database:
        assert _write_note(database, "before")
        until(lambda: _notes(replication.standby) == ["before"])
        replication.primary.kill()
        assert not _write_note(database, "without a primary")
        replication.promote()
        until(lambda: _write_note(database, "promoted"))
        assert _can_poll(database)
        replication.primary.start()  # by mistake, as a second primary
        with closing(replication.open_database()) as new_database:
            for either in (database, new_database):
                assert _write_note(either, "returned")
                either.close()  # forces new connections
                assert _write_note(either, "returned")
    assert (_notes(replication.primary), len(_notes(replication.standby))) == (["before"], 6)


def test_doctor_warns_about_database_that_is_only_standby(replication: ReplicationPair, tmp_path: Path) -> None:
    [finding] = system_checks.run(Settings(database_url=f"{replication.standby.url}/postgres", data_dir=tmp_path))
    assert (finding.id, finding.level, "during recovery" in finding.text) == ("W014", "warning", True)


def test_resumed_old_primary_is_not_used_after_promotion(replication: ReplicationPair) -> None:
    with closing(replication.open_database()) as database:
        assert _can_poll(database)
        assert _write_note(database, "before")  # last, so that the connection is fresh and not probed
        until(lambda: _notes(replication.standby) == ["before"])
        replication.primary.signal(signal.SIGSTOP)
        waiting = threading.Thread(target=_write_note, args=(database, "to the stopped primary"))
        waiting.start()
        replication.promote()
        until(lambda: _can_poll(database))
        database.reap_stalled_connections()  # every process does this once a second
        waiting.join(_MAX_SECONDS)
        assert not waiting.is_alive()
        replication.primary.signal(signal.SIGCONT)
        for number in range(5):
            assert _write_note(database, f"after {number}")
            database.close()  # forces new connections
    assert {"before", *(f"after {number}" for number in range(5))} <= set(_notes(replication.standby))
    assert _notes(replication.primary) == ["before"]


def test_slow_response_makes_next_write_check_all_servers(replication: ReplicationPair) -> None:
    with closing(replication.open_database()) as database:
        assert _write_note(database, "before")
        until(lambda: _notes(replication.standby) == ["before"])
        replication.promote()  # the old primary still responds
        slow = threading.Thread(target=database.write, args=(lambda tx: _execute("SELECT pg_sleep(4)", tx),))
        slow.start()
        while slow.is_alive():
            database.reap_stalled_connections()
            slow.join(0.1)
        assert _write_note(database, "after")
    assert (_notes(replication.primary), _notes(replication.standby)) == (["before"], ["after", "before"])


def test_failover_to_lagging_standby_flushes_cache(replication: ReplicationPair) -> None:
    with closing(replication.open_database()) as database:
        database.write(schema.changes.create)
        database.write(lambda tx: change_log.record(tx, "", "summer"))
        until(lambda: _execute_on(replication.standby, "SELECT to_regclass('changes')") != [(None,)])
        until(lambda: _execute_on(replication.standby, "SELECT alias FROM changes") == [("summer",)])
        cache = Cache()
        invalidator = CacheInvalidator(database, cache)

        def is_flushed() -> bool:
            invalidator.follow()
            return cache.hot == {}

        def fill_cache() -> None:
            cache.put_hot(("", "spring"), HotResponse(b"", b"", 1 << 62), version=cache.version)

        replication.stop_replication()
        fill_cache()
        database.write(lambda tx: change_log.record(tx, "", "spring"))
        until(is_flushed)
        fill_cache()
        replication.primary.kill()
        assert not is_flushed()  # no server can tell yet
        replication.promote()
        until(is_flushed)
