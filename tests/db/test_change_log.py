"""Change log: every process reads every change once and in order, or flushes its cache."""

import threading

import pytest
import time_machine
from sqlalchemy import Connection, text

from tests.support.databases import ON_POSTGRESQL
from tests.support.threads import join
from waypost.db import change_log
from waypost.db.change_log import Change, LogPosition
from waypost.db.database import Database
from waypost.visits.cache import Cache, CacheInvalidator, HotResponse
from waypost.visits.link_record import LinkView
from waypost.visits.record_queries import OWN_HOST

NOW = 1_800_000_000
TARGET = LinkView(1, 1, "spring", "https://example.com/", "", None, "", "public")
HOT = HotResponse(b"", b"", 1 << 62)


def _record(database: Database, host: str, alias: str = "") -> None:
    database.write(lambda tx: change_log.record(tx, host, alias))


def _read_since(database: Database, position: LogPosition) -> tuple[LogPosition, list[tuple[str, str]] | None]:
    return database.read(lambda tx: change_log.read_since(tx, position))


def _filled_cache() -> Cache:
    """A cache with two aliases on each of two hosts, all in the fast path."""
    cache = Cache()
    for host in ("", "brand.example"):
        cache.put_domain(host, OWN_HOST, version=0)
        for alias in ("spring", "summer"):
            cache.put_hot((host, alias), HOT, version=0)
            cache.put_resolved((host, alias), TARGET, version=0)
    return cache


def _cached(cache: Cache) -> list[str]:
    """The cached names; those of the fast path must be the same."""
    names = [(host, alias) for host in ("", "brand.example") for alias in ("spring", "summer")]
    cached = [f"{host}/{alias}" for host, alias in names if cache.get_resolved((host, alias))[0]]
    assert cached == sorted(name.decode() for name in cache.hot)
    return cached


ALL = ["/spring", "/summer", "brand.example/spring", "brand.example/summer"]


@pytest.mark.parametrize(
    ("recorded", "remaining"),
    [
        ([], ALL),
        ([("", "unknown")], ALL),
        ([("", "spring")], ALL[1:]),
        ([("", "spring"), ("brand.example", "summer")], ["/summer", "brand.example/spring"]),
        ([("", "Spring")], ALL),
        ([("brand.example", "")], []),
        ([("other.example", "")], []),
    ],
)
def test_change_invalidates_only_its_names(
    database: Database, recorded: list[tuple[str, str]], remaining: list[str]
) -> None:
    cache = _filled_cache()
    invalidator = CacheInvalidator(database, cache)
    for name in recorded:
        _record(database, *name)
    invalidator.catch_up()
    assert _cached(cache) == remaining
    cache = _filled_cache()
    CacheInvalidator(database, cache).catch_up()  # a new reader starts at the end of the log
    assert _cached(cache) == ALL


def _record_and_return(database: Database, *names: tuple[str, str]) -> list[Change]:
    def work(tx: Connection) -> list[Change]:
        for host, alias in names:
            change_log.record(tx, host, alias)
        return change_log.recorded(tx)

    return database.write(work)


def test_own_changes_are_applied_without_reading_the_log(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = _filled_cache()
    invalidator = CacheInvalidator(database, cache)
    own_changes = _record_and_return(database, ("", "spring"), ("brand.example", "summer"))
    with monkeypatch.context() as patches:
        patches.setattr(change_log, "read_since", lambda *_: pytest.fail("the log was read"))
        invalidator.catch_up(own_changes)
    assert _cached(cache) == ["/summer", "brand.example/spring"]
    cache = _filled_cache()
    invalidator = CacheInvalidator(database, cache)
    invalidator.catch_up(_record_and_return(database, ("", "summer")))
    invalidator.catch_up()
    assert _cached(cache) == ["/spring", "brand.example/spring", "brand.example/summer"]


def test_own_changes_after_those_of_another_process_lead_to_a_read(database: Database) -> None:
    cache = _filled_cache()
    invalidator = CacheInvalidator(database, cache)
    _record(database, "", "summer")
    own_changes = _record_and_return(database, ("", "spring"))
    _record(database, "brand.example", "spring")
    invalidator.catch_up(own_changes)
    assert _cached(cache) == ["brand.example/summer"]


def test_value_read_before_change_is_not_cached_after_it(database: Database) -> None:
    invalidator = CacheInvalidator(database, cache := Cache())
    version = cache.version
    _record(database, "", "spring")
    invalidator.catch_up()
    cache.put_resolved(("", "spring"), TARGET, version=version)
    cache.put_hot(("", "spring"), HOT, version=version)
    cache.put_domain("", OWN_HOST, version=version)
    assert (_cached(cache), cache.get_domain("")) == ([], (False, None))


def test_fast_path_entry_replaces_cached_entry() -> None:
    cache = Cache()
    cache.put_resolved(("", "spring"), TARGET, version=0)
    cache.put_hot(("", "spring"), HOT, version=0)
    assert (cache.get_resolved(("", "spring")), list(cache.hot)) == ((False, None), [b"/spring"])


def test_changes_are_read_once_and_in_order(database: Database) -> None:
    assert database.read(change_log.current_position) == LogPosition()
    assert database.read(lambda tx: change_log.read_since(tx, LogPosition())) == (LogPosition(), [])
    for alias in ("aaa", "bbb", "aaa"):
        _record(database, "", alias)
    end, names = _read_since(database, LogPosition())
    assert names == [("", "aaa"), ("", "bbb"), ("", "aaa")]
    assert end == database.read(change_log.current_position)
    assert _read_since(database, end) == (end, [])


def test_reader_stalled_beyond_retention_flushes_cache(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        _record(database, "", "first")
        active_cache, stalled_cache = _filled_cache(), _filled_cache()
        active, stalled = CacheInvalidator(database, active_cache), CacheInvalidator(database, stalled_cache)
        for alias in ("spring", "another", "last"):
            _record(database, "", alias)
        active.catch_up()
        clock.shift(2 * 3600)
        database.write(change_log.purge)
        active.catch_up()
        stalled.catch_up()
        assert (_cached(active_cache), _cached(stalled_cache)) == (ALL[1:], [])
        _record(database, "", "summer")
        stalled_cache.put_hot(("", "spring"), HOT, version=stalled_cache.version)
        stalled_cache.put_resolved(("", "spring"), TARGET, version=stalled_cache.version)
        active.catch_up()
        stalled.catch_up()
        assert (_cached(active_cache), _cached(stalled_cache)) == (ALL[2:], ["/spring"])


def test_reader_of_empty_log_stalled_beyond_retention_flushes_cache(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        cache = _filled_cache()
        invalidator = CacheInvalidator(database, cache)
        for alias in ("spring", "summer", "last"):
            _record(database, "", alias)
        clock.shift(2 * 3600)
        database.write(change_log.purge)
        invalidator.catch_up()
        assert _cached(cache) == []


def test_stalled_reader_flushes_cache_despite_clock_differences(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        _record(database, "", "first")
        clock.shift(-100)
        cache = _filled_cache()
        invalidator = CacheInvalidator(database, cache)
        for alias in ("spring", "last"):
            _record(database, "", alias)
        clock.shift(3600 + 50)  # the first change is within the retention time, the later ones are not
        database.write(change_log.purge)
        invalidator.catch_up()
        assert _cached(cache) == []


def test_concurrent_changes_are_both_read(database: Database) -> None:
    _record(database, "", "first")
    position = database.read(change_log.current_position)
    started, resume = threading.Event(), threading.Event()

    def slow() -> None:
        def work(tx: Connection) -> None:
            change_log.record(tx, "", "slow")
            started.set()
            assert resume.wait(30)

        database.write(work)

    first, second = threading.Thread(target=slow), threading.Thread(target=_record, args=(database, "", "fast"))
    first.start()
    assert started.wait(30)
    second.start()
    second.join(0.5)  # on SQLite it waits for the other transaction
    end, early = _read_since(database, position)
    resume.set()
    join(first, second)
    _, late = _read_since(database, end)
    assert sorted([*(early or []), *(late or [])]) == [("", "fast"), ("", "slow")]


@ON_POSTGRESQL
def test_change_committed_out_of_order_reaches_old_and_new_readers(database: Database) -> None:
    old_cache, new_cache = _filled_cache(), _filled_cache()
    _record(database, "", "first")
    old_reader = CacheInvalidator(database, old_cache)
    started, resume = threading.Event(), threading.Event()

    def slow(tx: Connection) -> None:
        change_log.record(tx, "", "spring")
        for number in range(1000):  # the most that one transaction records
            change_log.record(tx, "", f"other-{number}")
        started.set()
        assert resume.wait(30)

    thread = threading.Thread(target=database.write, args=(slow,))
    thread.start()
    try:
        assert started.wait(30)
        with pytest.raises(ZeroDivisionError):
            database.write(_roll_back)
        _record(database, "", "summer")  # does not wait for the open transaction
        old_reader.catch_up()
        new_reader = CacheInvalidator(database, new_cache)
        assert (_cached(old_cache), _cached(new_cache)) == (["/spring", *ALL[2:]], ALL)
    finally:
        resume.set()
        join(thread)
    for _ in range(2):
        old_reader.catch_up()
        new_reader.catch_up()
    assert (_cached(old_cache), _cached(new_cache)) == (ALL[2:], ALL[1:])


def _roll_back(tx: Connection) -> None:
    """Record a change and roll it back: its id stays missing."""
    change_log.record(tx, "", "unknown")
    raise ZeroDivisionError


@pytest.mark.parametrize("stalled_seconds", [200, 2 * 3600])
@ON_POSTGRESQL
def test_stalled_reader_checks_gaps_after_resuming(database: Database, stalled_seconds: int) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        for alias in ("first", "late", "last"):
            _record(database, "", alias)
        end = database.read(change_log.current_position).end
        assert end is not None
        position = LogPosition(end, {end.id - 1: NOW - stalled_seconds})
        assert _read_since(database, position) == (LogPosition(end), [("", "late")])
        clock.shift(stalled_seconds)
        database.write(change_log.purge)
        is_purged = stalled_seconds > 3600
        after, names = _read_since(database, position)
        assert (after.end, names) == (end, None if is_purged else [("", "late")])
        missing = LogPosition(end, {end.id + 100: NOW + stalled_seconds - 200})  # its transaction was rolled back
        assert _read_since(database, missing) == (LogPosition(end), [])


@pytest.mark.parametrize("later", [[], ["summer", "other", "other"]])
def test_failover_that_undoes_changes_flushes_cache_once(database: Database, later: list[str]) -> None:
    _record(database, "", "first")
    cache = _filled_cache()
    invalidator = CacheInvalidator(database, cache)
    for alias in ("spring", "another"):
        _record(database, "", alias)
    invalidator.catch_up()
    assert _cached(cache) == ALL[1:]
    database.write(lambda tx: _undo(tx, 2))
    for alias in later:  # with ids that are assigned again
        _record(database, "", alias)
    invalidator.catch_up()
    assert _cached(cache) == []
    cache.put_hot(("", "spring"), HOT, version=cache.version)
    cache.put_resolved(("", "spring"), TARGET, version=cache.version)
    invalidator.catch_up()
    assert _cached(cache) == ["/spring"]


def _undo(tx: Connection, count: int) -> None:
    """Remove the newest changes, as on a standby that lacked them; their ids are assigned again."""
    last = tx.execute(text("SELECT max(id) FROM changes")).scalar_one()
    tx.execute(text("DELETE FROM changes WHERE id > :kept"), {"kept": last - count})
    if tx.dialect.name == "sqlite":
        tx.execute(text("UPDATE sqlite_sequence SET seq = :kept WHERE name = 'changes'"), {"kept": last - count})
    else:
        tx.execute(text("SELECT setval(pg_get_serial_sequence('changes', 'id'), :kept)"), {"kept": last - count})
