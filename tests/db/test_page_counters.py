"""Counted pages: the counts by block always agree with the plain list that they stand for (ADR 0002)."""

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, select

from waypost.accounts import ops
from waypost.db import crud, page_counters, schema
from waypost.db.database import Database

NOUNS = ("pixels", "links")
_borders = st.builds(
    lambda border, off: border + off, st.sampled_from([2**10, 2**11, 2**20, 3 * 2**20]), st.integers(-3, 3)
)
IDS = st.one_of(st.integers(1, 50), st.integers(1, 5000), st.integers(1, 2**22), st.integers(1, 2**52), _borders)
EVENTS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(NOUNS), IDS), max_size=60)
often = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@dataclass(frozen=True)
class _Pixel:
    id: int
    name: str


@pytest.fixture
def people(database: Database) -> tuple[int, int]:
    """Two accounts."""

    def add(tx: Connection, name: str) -> int:
        return ops.add(tx, email=f"{name}@example.com", username=name, password="x").id

    return database.write(lambda tx: (add(tx, "ana"), add(tx, "ben")))


def _in_turn(database: Database, work: Callable[[Connection], None]) -> None:
    """One example: whatever it wrote is gone after it."""

    def cleaned(tx: Connection) -> None:
        work(tx)
        tx.execute(delete(schema.pixels))
        tx.execute(delete(schema.page_counters))

    database.write(cleaned)


def _expect(tx: Connection, account: int, noun: str, ids: set[int]) -> None:
    newest = sorted(ids, reverse=True)
    assert page_counters.total(tx, account, noun) == len(newest)
    for offset, item in enumerate(newest):
        ceiling, skip = page_counters.locate(tx, account, noun, offset)
        below = [one for one in newest if one < ceiling]
        assert below[skip] == item
        assert 0 <= skip < 1024  # no more rows than that are ever skipped
    for offset in (len(newest), len(newest) + 1, 10**15):
        ceiling, _ = page_counters.locate(tx, account, noun, offset)
        assert [one for one in newest if one < ceiling] == []


@often
@given(events=EVENTS)
def test_the_counts_know_where_every_row_stands(
    events: list[tuple[int, str, int]], database: Database, people: tuple[int, int]
) -> None:
    def work(tx: Connection) -> None:
        there: dict[tuple[int, str], set[int]] = defaultdict(set)
        for who, noun, item in events:  # what is there is removed, what is not is added
            ids = there[people[who], noun]
            page_counters.increment(tx, people[who], noun, item, -1 if item in ids else 1)
            ids ^= {item}
        for account, noun in itertools.product(people, NOUNS):
            _expect(tx, account, noun, there[account, noun])

    _in_turn(database, work)


@pytest.mark.parametrize("step", [7, 1024, 2**20 + 1])
def test_many_rows_in_steps_of_any_size_are_found(step: int, database: Database, people: tuple[int, int]) -> None:
    def work(tx: Connection) -> None:
        ids = set(range(5, 5 + 150 * step, step))
        for item in ids:
            page_counters.increment(tx, people[0], "pixels", item, 1)
        _expect(tx, people[0], "pixels", ids)
        _expect(tx, people[1], "pixels", set())
        _expect(tx, people[0], "links", set())

    _in_turn(database, work)


@often
@given(
    events=st.lists(st.tuples(st.integers(0, 1), IDS), max_size=50),
    windows=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 12)), min_size=1, max_size=4),
)
def test_a_page_is_what_skipping_every_row_before_it_would_give(
    events: list[tuple[int, int]], windows: list[tuple[int, int]], database: Database, people: tuple[int, int]
) -> None:
    pixels = schema.pixels

    def work(tx: Connection) -> None:
        owner: dict[int, int] = {}
        for who, item in events:
            if item in owner:
                crud.remove(tx, pixels, owner.pop(item), item)
            else:
                owner[item] = people[who]
                crud.add(tx, pixels, people[who], {"id": item, "type": "qapixel", "name": f"{item}", "tag": "x"})
        for account, (limit, number) in itertools.product(people, windows):
            window = crud.PageRequest(limit, number)
            mine = select(pixels.c.id).where(pixels.c.account == account)
            newest = tx.execute(mine.order_by(pixels.c.id.desc())).scalars().all()
            page = crud.page(tx, pixels, account, window, _Pixel)
            assert [one.id for one in page.items] == newest[window.offset : window.offset + limit]
            assert [one.name for one in page.items] == [str(one.id) for one in page.items]
            assert (page.result, page.window) == (len(newest), window)

    _in_turn(database, work)


def test_what_was_refused_is_not_counted(database: Database, people: tuple[int, int]) -> None:
    def work(tx: Connection) -> None:
        crud.add(tx, schema.channels, people[0], {"name": "News"})

    database.write(work)
    for _ in range(2):
        with pytest.raises(Exception, match=r"(?i)unique"):
            database.write(work)
    assert database.read(lambda tx: page_counters.total(tx, people[0], "channels")) == 1
