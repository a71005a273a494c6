"""A change is seen by every process, in order and without gaps, or the process knows that it missed one."""

import threading

import pytest
import time_machine
from sqlalchemy import Connection, text

from waypost.db import change_log
from waypost.db.change_log import LogPosition
from waypost.db.database import Database
from waypost.visits.cache import Cache, HotResponse
from waypost.visits.cache_invalidation import CacheInvalidator
from waypost.visits.lookup import OWN_HOST, LinkView

NOW = 1_800_000_000
TARGET = LinkView(1, 1, "spring", "https://example.com/", "", None, None, None, "", "public")
HOT = HotResponse(b"", b"", 1 << 62)


def _note(database: Database, host: str, alias: str = "") -> None:
    database.write(lambda tx: change_log.record(tx, host, alias))


def _since(database: Database, place: LogPosition) -> tuple[LogPosition, list[tuple[str, str]] | None]:
    return database.read(lambda tx: change_log.read_since(tx, place))


def _full() -> Cache:
    """A memory of two names on two hosts each, all hot."""
    memory = Cache()
    for host in ("", "brand.example"):
        memory.put_domain(host, OWN_HOST, version=0)
        for alias in ("spring", "summer"):
            memory.put_hot(host.encode(), (host, alias), HOT, version=0)
            memory.put_resolved((host, alias), TARGET, version=0)
    return memory


def _known(memory: Cache) -> list[str]:
    """The names that are remembered, which are those that are hot."""
    names = [(host, alias) for host in ("", "brand.example") for alias in ("spring", "summer")]
    known = [f"{host}/{alias}" for host, alias in names if memory.get_resolved((host, alias))[0]]
    assert known == sorted(name.decode() for name in memory.hot)
    return known


ALL = ["/spring", "/summer", "brand.example/spring", "brand.example/summer"]


@pytest.mark.parametrize(
    ("noted", "left"),
    [
        ([], ALL),
        ([("", "nobody")], ALL),
        ([("", "spring")], ALL[1:]),
        ([("", "spring"), ("brand.example", "summer")], ["/summer", "brand.example/spring"]),
        ([("", "Spring")], ALL),
        ([("brand.example", "")], []),
        ([("other.example", "")], []),
    ],
)
def test_what_changed_is_forgotten_and_nothing_else(
    database: Database, noted: list[tuple[str, str]], left: list[str]
) -> None:
    memory = _full()
    watch = CacheInvalidator(database, memory)
    for name in noted:
        _note(database, *name)
    watch.catch_up()
    assert _known(memory) == left
    memory = _full()
    CacheInvalidator(database, memory).catch_up()  # whoever starts later has nothing to forget
    assert _known(memory) == ALL


def test_what_was_read_before_a_change_is_not_remembered_after_it(database: Database) -> None:
    memory = Cache()
    watch = CacheInvalidator(database, memory)
    version = memory.version
    _note(database, "", "spring")
    watch.catch_up()
    memory.put_resolved(("", "spring"), TARGET, version=version)
    memory.put_hot(b"", ("", "spring"), HOT, version=version)
    memory.put_domain("", OWN_HOST, version=version)
    assert (_known(memory), memory.get_domain("")) == ([], (False, None))


def test_what_is_hot_is_not_remembered_twice() -> None:
    memory = Cache()
    memory.put_resolved(("", "spring"), TARGET, version=0)
    memory.put_hot(b"", ("", "spring"), HOT, version=0)
    assert (memory.get_resolved(("", "spring")), list(memory.hot)) == ((False, None), [b"/spring"])


def test_changes_are_told_once_and_in_order(database: Database) -> None:
    assert database.read(change_log.current_position) == LogPosition()
    assert database.read(lambda tx: change_log.read_since(tx, LogPosition())) == (LogPosition(), [])
    for alias in ("aaa", "bbb", "aaa"):
        _note(database, "", alias)
    newest, names = _since(database, LogPosition())
    assert names == [("", "aaa"), ("", "bbb"), ("", "aaa")]
    assert newest == database.read(change_log.current_position)
    assert _since(database, newest) == (newest, [])


def test_a_process_that_slept_too_long_forgets_everything(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        _note(database, "", "first")
        awake, asleep = _full(), _full()
        watching, sleeping = CacheInvalidator(database, awake), CacheInvalidator(database, asleep)
        for alias in ("spring", "another", "last"):
            _note(database, "", alias)
        watching.catch_up()
        clock.shift(2 * 3600)
        database.write(change_log.purge)
        watching.catch_up()
        sleeping.catch_up()
        assert (_known(awake), _known(asleep)) == (ALL[1:], [])
        _note(database, "", "summer")
        asleep.put_hot(b"", ("", "spring"), HOT, version=asleep.version)
        asleep.put_resolved(("", "spring"), TARGET, version=asleep.version)
        watching.catch_up()
        sleeping.catch_up()
        assert (_known(awake), _known(asleep)) == (ALL[2:], ["/spring"])


def test_a_process_from_before_the_first_change_can_sleep_too_long(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        memory = _full()
        watch = CacheInvalidator(database, memory)
        for alias in ("spring", "summer", "last"):
            _note(database, "", alias)
        clock.shift(2 * 3600)
        database.write(change_log.purge)
        watch.catch_up()
        assert _known(memory) == []


def test_who_slept_finds_out_though_the_clocks_of_those_who_made_changes_differ(database: Database) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        _note(database, "", "first")
        clock.shift(-100)
        memory = _full()
        watch = CacheInvalidator(database, memory)
        for alias in ("spring", "last"):
            _note(database, "", alias)
        clock.shift(3600 + 50)  # by which time the first one is not old, and those after it are
        database.write(change_log.purge)
        watch.catch_up()
        assert _known(memory) == []


def test_no_change_is_overlooked_that_is_made_at_the_same_time(database: Database) -> None:
    _note(database, "", "first")
    place = database.read(change_log.current_position)
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        def work(tx: Connection) -> None:
            change_log.record(tx, "", "slow")
            begun.set()
            go_on.wait()

        database.write(work)

    first, second = threading.Thread(target=slow), threading.Thread(target=_note, args=(database, "", "fast"))
    first.start()
    begun.wait()
    second.start()
    second.join(0.5)  # it may have to wait for the other one
    last, early = _since(database, place)
    go_on.set()
    first.join()
    second.join()
    _, late = _since(database, last)
    assert sorted([*(early or []), *(late or [])]) == [("", "fast"), ("", "slow")]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_change_that_is_committed_after_later_ones_is_seen_by_who_was_there_and_who_comes(database: Database) -> None:
    memory, later = _full(), _full()
    _note(database, "", "first")
    watching = CacheInvalidator(database, memory)
    begun, go_on = threading.Event(), threading.Event()

    def slow(tx: Connection) -> None:
        change_log.record(tx, "", "spring")
        for number in range(1000):  # as many as one change may have
            change_log.record(tx, "", f"other-{number}")
        begun.set()
        go_on.wait()

    thread = threading.Thread(target=database.write, args=(slow,))
    thread.start()
    try:
        begun.wait()
        with pytest.raises(ZeroDivisionError):
            database.write(_fail)
        _note(database, "", "summer")  # waits for nobody
        watching.catch_up()
        coming = CacheInvalidator(database, later)
        assert (_known(memory), _known(later)) == (["/spring", *ALL[2:]], ALL)
    finally:
        go_on.set()
        thread.join()
    for _ in range(2):
        watching.catch_up()
        coming.catch_up()
    assert (_known(memory), _known(later)) == (ALL[2:], ALL[1:])


def _fail(tx: Connection) -> None:
    """Note a change that never comes: its number is missing for ever."""
    change_log.record(tx, "", "nobody")
    raise ZeroDivisionError


@pytest.mark.parametrize("stood_still", [200, 2 * 3600])
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_who_stood_still_looks_for_what_was_not_committed_before(database: Database, stood_still: int) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        for alias in ("first", "late", "last"):
            _note(database, "", alias)
        end = database.read(change_log.current_position).end
        assert end is not None
        seen = LogPosition(end, {end.id - 1: NOW - stood_still})
        assert _since(database, seen) == (LogPosition(end), [("", "late")])
        clock.shift(stood_still)
        database.write(change_log.purge)
        gone = stood_still > 3600
        after, names = _since(database, seen)
        assert (after.end, names) == (end, None if gone else [("", "late")])
        missing = LogPosition(end, {end.id + 100: NOW + stood_still - 200})  # whose transaction came to nothing
        assert _since(database, missing) == (LogPosition(end), [])


@pytest.mark.parametrize("later", [[], ["summer", "other", "other"]])
def test_who_has_seen_changes_that_a_fail_over_undid_forgets_everything_once(
    database: Database, later: list[str]
) -> None:
    _note(database, "", "first")
    memory = _full()
    watch = CacheInvalidator(database, memory)
    for alias in ("spring", "another"):
        _note(database, "", alias)
    watch.catch_up()
    assert _known(memory) == ALL[1:]
    database.write(lambda tx: _undo(tx, 2))
    for alias in later:  # under numbers that are given again
        _note(database, "", alias)
    watch.catch_up()
    assert _known(memory) == []
    memory.put_hot(b"", ("", "spring"), HOT, version=memory.version)
    memory.put_resolved(("", "spring"), TARGET, version=memory.version)
    watch.catch_up()
    assert _known(memory) == ["/spring"]


def _undo(tx: Connection, newest: int) -> None:
    """What a server never took over: the newest changes are gone, and their numbers are given again."""
    last = tx.execute(text("SELECT max(id) FROM changes")).scalar_one()
    tx.execute(text("DELETE FROM changes WHERE id > :kept"), {"kept": last - newest})
    if tx.dialect.name == "sqlite":
        tx.execute(text("UPDATE sqlite_sequence SET seq = :kept WHERE name = 'changes'"), {"kept": last - newest})
    else:
        tx.execute(text("SELECT setval(pg_get_serial_sequence('changes', 'id'), :kept)"), {"kept": last - newest})
