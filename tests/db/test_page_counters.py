"""Page counters always agree with the plain list of rows (ADR 2)."""

import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select

from waypost.db import crud, page_counters, schema
from waypost.db.database import Database
from waypost.items.accounts import ops

NOUNS = ("pixels", "links")
_near_block_boundaries = st.builds(
    lambda boundary, offset: boundary + offset, st.sampled_from([2**10, 2**11, 2**20, 3 * 2**20]), st.integers(-3, 3)
)
IDS = st.one_of(
    st.integers(1, 50), st.integers(1, 5000), st.integers(1, 2**22), st.integers(1, 2**52), _near_block_boundaries
)
EVENTS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(NOUNS), IDS), max_size=60)
_repeated = settings(
    max_examples=40,
    derandomize=True,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True)
class _Pixel:
    id: int
    name: str


@pytest.fixture
def accounts(database: Database) -> tuple[int, int]:
    """Two accounts."""

    def add(tx: Connection, name: str) -> int:
        return ops.add(tx, email=f"{name}@example.com", username=name, password="x").id

    return database.write(lambda tx: (add(tx, "ana"), add(tx, "ben")))


def _isolated(database: Database, work: Callable[[Connection], None]) -> None:
    """Run one example and delete its rows."""

    def work_and_clean_up(tx: Connection) -> None:
        work(tx)
        tx.execute(delete(schema.pixels))
        tx.execute(delete(schema.page_counters))

    database.write(work_and_clean_up)


def _check_counters(tx: Connection, account: int, noun: str, ids: set[int]) -> None:
    newest = sorted(ids, reverse=True)
    assert page_counters.total(tx, account, noun) == len(newest)
    for offset, item in enumerate(newest):
        ceiling, skip = page_counters.locate(tx, account, noun, offset)
        below = [id_ for id_ in newest if id_ < ceiling]
        assert below[skip] == item
        assert 0 <= skip < 1024  # the most rows that a page skips
    for offset in (len(newest), len(newest) + 1, 10**15):
        ceiling, _ = page_counters.locate(tx, account, noun, offset)
        assert [id_ for id_ in newest if id_ < ceiling] == []


@_repeated
@given(events=EVENTS)
def test_counters_locate_every_row(
    events: list[tuple[int, str, int]], database: Database, accounts: tuple[int, int]
) -> None:
    def work(tx: Connection) -> None:
        present: dict[tuple[int, str], set[int]] = defaultdict(set)
        for owner, noun, item in events:  # removes present rows, adds others
            ids = present[accounts[owner], noun]
            page_counters.increment(tx, accounts[owner], noun, item, -1 if item in ids else 1)
            ids ^= {item}
        for account, noun in itertools.product(accounts, NOUNS):
            _check_counters(tx, account, noun, present[account, noun])

    _isolated(database, work)


@pytest.mark.parametrize("step", [7, 1024, 2**20 + 1])
def test_counters_locate_rows_with_gaps_of_any_size(step: int, database: Database, accounts: tuple[int, int]) -> None:
    def work(tx: Connection) -> None:
        ids = set(range(5, 5 + 150 * step, step))
        for item in ids:
            page_counters.increment(tx, accounts[0], "pixels", item, 1)
        _check_counters(tx, accounts[0], "pixels", ids)
        _check_counters(tx, accounts[1], "pixels", set())
        _check_counters(tx, accounts[0], "links", set())

    _isolated(database, work)


@_repeated
@given(
    events=st.lists(st.tuples(st.integers(0, 1), IDS), max_size=50),
    windows=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 12)), min_size=1, max_size=4),
)
def test_page_equals_slice_of_full_list(
    events: list[tuple[int, int]], windows: list[tuple[int, int]], database: Database, accounts: tuple[int, int]
) -> None:
    pixels = schema.pixels

    def work(tx: Connection) -> None:
        owners: dict[int, int] = {}
        for owner, item in events:
            if item in owners:
                crud.remove(tx, pixels, owners.pop(item), item)
            else:
                owners[item] = accounts[owner]
                crud.add(tx, pixels, accounts[owner], {"id": item, "type": "qapixel", "name": f"{item}", "tag": "x"})
        for account, (limit, number) in itertools.product(accounts, windows):
            window = crud.PageRequest(limit, number)
            query = select(pixels.c.id).where(pixels.c.account == account)
            newest = tx.execute(query.order_by(pixels.c.id.desc())).scalars().all()
            page = crud.page(tx, pixels, account, window, _Pixel)
            assert [pixel.id for pixel in page.items] == newest[window.offset : window.offset + limit]
            assert [pixel.name for pixel in page.items] == [str(pixel.id) for pixel in page.items]
            assert (page.result, page.window) == (len(newest), window)

    _isolated(database, work)


def test_rejected_insert_is_not_counted(database: Database, accounts: tuple[int, int]) -> None:
    def work(tx: Connection) -> None:
        crud.add(tx, schema.channels, accounts[0], {"name": "News"})

    database.write(work)
    for _ in range(2):
        with pytest.raises(Exception, match=r"(?i)unique"):
            database.write(work)
    assert database.read(lambda tx: page_counters.total(tx, accounts[0], "channels")) == 1


def test_concurrent_changes_of_an_account_do_not_deadlock(database: Database, accounts: tuple[int, int]) -> None:
    """One transaction counts rows of two blocks; between them, the other one counts a row of the second block."""
    has_begun, attempts = threading.Event(), []

    def add_one(tx: Connection) -> None:
        attempts.append("one")
        page_counters.increment(tx, accounts[0], "links", 2**10, 1)

    def add_two(tx: Connection) -> None:
        attempts.append("two")
        page_counters.increment(tx, accounts[0], "links", 1, 1)
        has_begun.set()
        time.sleep(0.3)  # until the other one waits
        page_counters.increment(tx, accounts[0], "links", 2**10 + 1, 1)

    with ThreadPoolExecutor(1) as threads:
        second = threads.submit(database.write, add_two)
        assert has_begun.wait(10)
        database.write(add_one)
        second.result()
    assert sorted(attempts) == ["one", "two"]  # after a deadlock, a transaction runs again
    assert database.read(lambda tx: page_counters.total(tx, accounts[0], "links")) == 3
