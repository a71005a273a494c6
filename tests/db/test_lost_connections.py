"""Connections on which nothing comes back any more: who asks does not wait for them, and for a slow database he does.

Nobody cuts them here, as a worker does every second: what waits for one without end never comes back.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, get_args

import pytest
from sqlalchemy import Connection, make_url, text

from tests.support.tcp_proxy import Relay, relaying
from waypost.db import change_log, notifications
from waypost.db.database import Database, Durability
from waypost.errors import Kind, Problem
from waypost.visits.cache import Cache, HotResponse
from waypost.visits.cache_invalidation import CacheInvalidator

T = TypeVar("T")
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
_ENOUGH_SECONDS = 60
_LOOKS = 30  # after which one knows that the database is quick
_SLOW_SECONDS = 0.4


@pytest.fixture
def relay(database_url: str) -> Iterator[Relay]:
    """The way to the database, for the one of whom it is told here."""
    port = make_url(database_url).port
    assert port is not None
    with relaying(port) as way:
        yield way


@pytest.fixture
def far(relay: Relay, database_url: str) -> Iterator[Database]:
    """The database, over the relay."""
    opened = Database(make_url(database_url).set(port=relay.port).render_as_string(hide_password=False))
    yield opened
    opened.close()


def _ends(work: Callable[[], object]) -> None:
    """Do it, and fail if it does not end."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_ENOUGH_SECONDS)
    assert not thread.is_alive()


def _watch(database: Database) -> tuple[CacheInvalidator, Cache]:
    """One who has followed the log for a while, over a database that answered quickly."""
    memory = Cache()
    memory.put_hot(b"", ("", "spring"), HotResponse(b"", b"", 1 << 62), version=0)
    watch = CacheInvalidator(database, memory)
    for _ in range(_LOOKS):
        notifications.poll(database, _one)
    return watch, memory


def _note(database: Database) -> None:
    database.write(lambda tx: change_log.record(tx, "", "spring"))


def _one(tx: Connection) -> int:
    return int(tx.execute(text("SELECT 1")).scalar_one())


def test_a_change_is_taken_in_by_the_next_look_though_the_connection_fell_silent(
    database: Database, far: Database, relay: Relay
) -> None:
    watch, memory = _watch(far)
    relay.silence()
    _note(database)
    _ends(watch.follow)
    assert memory.hot == {}


def test_after_one_connection_was_found_silent_those_that_were_used_a_moment_ago_are_not_trusted(
    far: Database, relay: Relay
) -> None:
    watch, _ = _watch(far)
    assert far.read(_one) == 1
    relay.silence()
    _ends(watch.follow)
    _ends(lambda: far.read(_one))
    _ends(lambda: far.write(_one))


def test_who_made_a_change_does_not_wait_for_a_silent_connection_to_take_it_in_and_to_tell_it(
    database: Database, far: Database, relay: Relay
) -> None:
    watch, memory = _watch(far)
    assert far.read(_one) == 1
    _note(database)
    relay.silence()
    _ends(watch.catch_up)
    assert memory.hot == {}
    relay.silence()
    _ends(lambda: notifications.notify(far))


@pytest.mark.parametrize("durability", get_args(Durability))
def test_what_may_have_been_committed_is_not_done_again(
    durability: Durability, database: Database, far: Database, relay: Relay
) -> None:
    def limit(tx: Connection) -> int:
        return int(tx.execute(text("SELECT sum(rate_limit) FROM plans")).scalar_one())

    before = database.read(limit)
    relay.loses = b"COMMIT"
    update = text("UPDATE plans SET rate_limit = rate_limit + 1 WHERE id = 1")
    with pytest.raises(Problem) as told:
        far.write(lambda tx: tx.execute(update), durability=durability)
    assert told.value.kind is Kind.UNAVAILABLE
    assert database.read(limit) == before + 1


class _Held(Database):
    """One whose hasty readers are held up until they may go on, as by a lost connection, before or after they read."""

    def __init__(self, url: str, *, has_read: bool = False) -> None:
        super().__init__(url)
        self.held, self.go_on = threading.Event(), threading.Event()
        self._has_read = has_read

    def read(self, work: Callable[[Connection], T], *, timeout: float | None = None) -> T:
        if timeout is None:
            return super().read(work)

        def held_up(tx: Connection) -> T:
            result = work(tx) if self._has_read else None
            self.held.set()
            self.go_on.wait()
            return work(tx) if result is None else result

        return super().read(held_up)


@contextmanager
def _held_up(far: _Held, watch: CacheInvalidator) -> Iterator[Callable[[], None]]:
    """A request that takes in what changed, from when it is held up; called, it goes on to its end."""
    request = threading.Thread(target=watch.catch_up)
    request.start()

    def go_on() -> None:
        far.go_on.set()
        request.join()

    try:
        far.held.wait()
        yield go_on
    finally:
        go_on()
        far.close()


def test_who_follows_does_not_wait_for_a_request_that_is_held_up(database: Database, database_url: str) -> None:
    far = _Held(database_url)
    watch, memory = _watch(far)
    _note(database)
    with _held_up(far, watch):
        _ends(watch.follow)
        assert memory.hot == {}


def test_what_a_request_has_taken_in_is_not_forgotten_again_by_who_follows(
    database: Database, database_url: str
) -> None:
    far = _Held(database_url)
    watch, memory = _watch(far)
    with _held_up(far, watch) as go_on:
        _ends(watch.follow)  # reads on, and finds nothing
        _note(database)
        go_on()
        assert memory.hot == {}
        memory.put_hot(b"", ("", "spring"), HotResponse(b"", b"", 1 << 62), version=memory.version)
        _ends(watch.follow)
        assert len(memory.hot) == 1


def test_what_who_follows_has_taken_in_is_not_forgotten_again_by_a_request_that_read_the_same(
    database: Database, database_url: str
) -> None:
    far = _Held(database_url, has_read=True)
    _note(database)
    watch, memory = _watch(far)
    with pytest.raises(ZeroDivisionError):
        database.write(_fail)  # so that a number is missing, which each of the two misses at a moment of its own
    _note(database)
    with _held_up(far, watch) as go_on:
        _ends(watch.follow)
        assert memory.hot == {}
        memory.put_hot(b"", ("", "spring"), HotResponse(b"", b"", 1 << 62), version=memory.version)
        go_on()
        assert len(memory.hot) == 1


def _fail(tx: Connection) -> None:
    change_log.record(tx, "", "nobody")
    raise ZeroDivisionError


def test_a_database_that_is_slow_is_waited_for_and_its_connections_are_kept(
    database: Database, far: Database, relay: Relay
) -> None:
    watch, memory = _watch(far)
    assert far.read(_one) == 1
    relay.delay = _SLOW_SECONDS
    _ends(watch.follow)  # it may be impatient once
    made = relay.accepted
    _note(database)
    for _ in range(3):
        _ends(watch.follow)
    assert memory.hot == {}
    assert far.read(_one) == 1
    assert relay.accepted == made
