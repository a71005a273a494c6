"""Unresponsive connections are detected by timeouts; slow ones are waited for.

These tests never call `reap_stalled_connections`, so a wait without a timeout fails them.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar, get_args

import pytest
from sqlalchemy import Connection, event, make_url, select, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import Pool

from tests.conftest import Person
from tests.support.databases import ON_POSTGRESQL
from tests.support.tcp_proxy import TcpProxy, running_proxy
from tests.support.threads import join
from waypost.core.errors import Kind, Problem
from waypost.db import change_log, notifications
from waypost.db.database import Database, Durability
from waypost.db.schema import links
from waypost.visits.cache import Cache, CacheInvalidator, HotResponse
from waypost.visits.click_limits import take_click

T = TypeVar("T")
pytestmark = ON_POSTGRESQL
_MAX_SECONDS = 60
_POLLS = 30  # enough for the adaptive timeout to reach its minimum
_SLOW_SECONDS = 0.4


@pytest.fixture
def proxy(database_url: str) -> Iterator[TcpProxy]:
    """A TCP proxy to the database."""
    port = make_url(database_url).port
    assert port is not None
    with running_proxy(port) as running:
        yield running


@pytest.fixture
def proxied(proxy: TcpProxy, database_url: str) -> Iterator[Database]:
    """The database behind the proxy."""
    opened = Database(make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False))
    yield opened
    opened.close()


def _finishes(work: Callable[[], object]) -> None:
    """Run it; fail unless it ends in time."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_MAX_SECONDS)
    assert not thread.is_alive()


def _invalidator(database: Database) -> tuple[CacheInvalidator, Cache]:
    """An invalidator that has followed a fast database for a while, and its cache."""
    cache = Cache()
    cache.put_hot(("", "spring"), HotResponse(b"", b"", 1 << 62), version=0)
    invalidator = CacheInvalidator(database, cache)
    for _ in range(_POLLS):
        notifications.poll(database, _select_one)
    return invalidator, cache


def _record(database: Database) -> None:
    database.write(lambda tx: change_log.record(tx, "", "spring"))


def _select_one(tx: Connection) -> int:
    return int(tx.execute(text("SELECT 1")).scalar_one())


def test_follow_applies_change_despite_unresponsive_connection(
    database: Database, proxied: Database, proxy: TcpProxy
) -> None:
    invalidator, cache = _invalidator(proxied)
    proxy.blackhole()
    _record(database)
    _finishes(invalidator.follow)
    assert cache.hot == {}


def test_unresponsive_connection_causes_probe_of_recently_used_ones(proxied: Database, proxy: TcpProxy) -> None:
    invalidator, _ = _invalidator(proxied)
    assert proxied.read(_select_one) == 1
    proxy.blackhole()
    _finishes(invalidator.follow)
    _finishes(lambda: proxied.read(_select_one))
    _finishes(lambda: proxied.write(_select_one))


def test_catch_up_and_notify_end_despite_unresponsive_connections(
    database: Database, proxied: Database, proxy: TcpProxy
) -> None:
    invalidator, cache = _invalidator(proxied)
    assert proxied.read(_select_one) == 1
    _record(database)
    proxy.blackhole()
    _finishes(invalidator.catch_up)
    assert cache.hot == {}
    proxy.blackhole()
    _finishes(lambda: notifications.notify(proxied))


@pytest.mark.parametrize("durability", get_args(Durability))
def test_write_with_lost_commit_response_is_not_repeated(
    durability: Durability, database: Database, proxied: Database, proxy: TcpProxy
) -> None:
    def limit(tx: Connection) -> int:
        return int(tx.execute(text("SELECT sum(rate_limit) FROM plans")).scalar_one())

    before = database.read(limit)
    proxy.drop_response_to = b"COMMIT"
    update = text("UPDATE plans SET rate_limit = rate_limit + 1 WHERE id = 1")
    with pytest.raises(Problem) as caught:
        proxied.write(lambda tx: tx.execute(update), durability=durability)
    assert caught.value.kind is Kind.UNAVAILABLE
    assert database.read(limit) == before + 1


def test_single_statement_with_lost_response_is_not_repeated(
    database: Database, proxied: Database, proxy: TcpProxy, ana: Person
) -> None:
    link = ana.add("url", url="https://example.com/", clicklimit=5)
    proxied.read(_select_one)
    proxy.drop_response_to = b"UPDATE links"
    with pytest.raises(Problem) as caught:
        proxied.write(
            partial(take_click, account=ana.account, link=link), durability="process", autocommit=True, once=True
        )
    assert caught.value.kind is Kind.UNAVAILABLE
    assert database.read(lambda tx: tx.execute(select(links.c.taken)).scalar_one()) == 1


class _PausedDatabase(Database):
    """Reads with a timeout pause until `resume` is set, before or after they read."""

    def __init__(self, url: str, *, has_read: bool = False) -> None:
        super().__init__(url)
        self.paused, self.resume = threading.Event(), threading.Event()
        self._has_read = has_read

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False, timeout: float | None = None) -> T:
        if timeout is None:
            return super().read(work, autocommit=autocommit)

        def paused_work(tx: Connection) -> T:
            result = work(tx) if self._has_read else None
            self.paused.set()
            assert self.resume.wait(30)
            return work(tx) if result is None else result

        return super().read(paused_work)


@contextmanager
def _paused_catch_up(paused: _PausedDatabase, invalidator: CacheInvalidator) -> Iterator[Callable[[], None]]:
    """Run `catch_up` in a thread until it pauses; calling the result lets it finish."""
    request = threading.Thread(target=invalidator.catch_up)
    request.start()

    def finish() -> None:
        paused.resume.set()
        join(request)

    try:
        assert paused.paused.wait(30)
        yield finish
    finally:
        finish()
        paused.close()


def test_follow_does_not_wait_for_paused_request(database: Database, database_url: str) -> None:
    paused = _PausedDatabase(database_url)
    invalidator, cache = _invalidator(paused)
    _record(database)
    with _paused_catch_up(paused, invalidator):
        _finishes(invalidator.follow)
        assert cache.hot == {}


def test_change_applied_by_request_is_not_invalidated_again_by_follow(database: Database, database_url: str) -> None:
    paused = _PausedDatabase(database_url)
    invalidator, cache = _invalidator(paused)
    with _paused_catch_up(paused, invalidator) as finish:
        _finishes(invalidator.follow)  # reads the log and finds nothing
        _record(database)
        finish()
        assert cache.hot == {}
        cache.put_hot(("", "spring"), HotResponse(b"", b"", 1 << 62), version=cache.version)
        _finishes(invalidator.follow)
        assert len(cache.hot) == 1


def test_change_applied_by_follow_is_not_invalidated_again_by_request(database: Database, database_url: str) -> None:
    paused = _PausedDatabase(database_url, has_read=True)
    _record(database)
    invalidator, cache = _invalidator(paused)
    with pytest.raises(ZeroDivisionError):
        database.write(_roll_back)  # leaves a gap that both readers notice at different times
    _record(database)
    with _paused_catch_up(paused, invalidator) as finish:
        _finishes(invalidator.follow)
        assert cache.hot == {}
        cache.put_hot(("", "spring"), HotResponse(b"", b"", 1 << 62), version=cache.version)
        finish()
        assert len(cache.hot) == 1


def _roll_back(tx: Connection) -> None:
    change_log.record(tx, "", "unknown")
    raise ZeroDivisionError


def test_slow_database_is_waited_for_and_connections_are_kept(
    database: Database, proxied: Database, proxy: TcpProxy
) -> None:
    invalidator, cache = _invalidator(proxied)
    assert proxied.read(_select_one) == 1
    proxy.delay = _SLOW_SECONDS
    _finishes(invalidator.follow)  # it may time out once
    accepted = proxy.accepted
    _record(database)
    for _ in range(3):
        _finishes(invalidator.follow)
    assert cache.hot == {}
    assert proxied.read(_select_one) == 1
    assert proxy.accepted == accepted


def test_two_connections_that_are_lost_in_a_row_are_a_database_that_is_unavailable(database: Database) -> None:
    def lose(*_arguments: object) -> None:
        raise DisconnectionError

    event.listen(Pool, "checkout", lose)
    try:
        with pytest.raises(Problem) as raised:
            database.read(lambda tx: tx.execute(text("SELECT 1")).all())
    finally:
        event.remove(Pool, "checkout", lose)
    assert raised.value.kind is Kind.UNAVAILABLE
    assert database.read(lambda tx: tx.execute(text("SELECT 1")).scalar_one()) == 1
