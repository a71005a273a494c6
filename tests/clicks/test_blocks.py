"""Blocks of visits: a filter counts every visit once, whether it is in a block, in `events`, or partly expired."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, text

from tests.support.databases import ON_POSTGRESQL
from waypost.clicks.blocks import compaction
from waypost.clicks.blocks.encoding import Block, encode
from waypost.clicks.blocks.filtered_counts import count
from waypost.clicks.blocks.visit_counts import Counts
from waypost.clicks.ingest.aggregate import DAY, QUARTER
from waypost.clicks.stats.stored_visits import VisitFilter
from waypost.db.database import Database
from waypost.db.schema import events, leases, visit_blocks

_NOW = 20_000 * DAY
_ODD = 'a "quoted" \\ label, %_'
_CHOICES: Mapping[str, Sequence[str]] = {
    "country": ("Germany", "France", "Unknown"),
    "referrer": ("Direct", _ODD, "Ünïcode \U0001f600"),
    "browser": ("Firefox", "Safari"),
    "os": ("Windows", "iOS"),
    "device": ("Desktop", "Mobile"),
    "language": ("de", "pt", ""),
    "source": ("link", "qr"),
}
_FILTERS = (
    VisitFilter(),
    VisitFilter(labels={"country": "France"}),
    VisitFilter(labels={"country": "France", "browser": "Safari", "device": "Mobile"}),
    VisitFilter(labels={"referrer": "Ünïcode \U0001f600", "language": "", "os": "iOS", "source": "qr"}),
    VisitFilter(labels={"referrer": _ODD}),
    VisitFilter(labels={"browser": "nonsense"}),
    VisitFilter(labels={"browser": "%"}),
    VisitFilter(labels={"browser": "firefox"}),
    VisitFilter(kind="link", item=2, labels={"browser": "Firefox"}),
    VisitFilter(kind="campaign", item=1),
    VisitFilter(kind="qr"),
)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 10 visits; three of them are merged."""
    monkeypatch.setattr(compaction, "SMALL", 10)
    monkeypatch.setattr(compaction, "MERGED", 3)


def _add(database: Database, account: int, visits: int, *, first: int, after: int, seed: int = 1) -> None:
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(visits):
        sort = draw.choice(("click", "click", "click", "bot", "preview", "other", "late"))
        labels = {name: draw.choice(labels) for name, labels in _CHOICES.items()}
        kind = draw.choice(("link", "link", "qr", "campaign"))
        own = {"account": account, "kind": kind, "item": draw.choice((1, 2, 3)), "sort": sort}
        is_first = sort == "click" and draw.random() < 0.5
        rows.append({**own, **labels, "at_ms": draw.randrange(first * 1000, after * 1000), "first": is_first})
    rows.sort(key=lambda row: row["at_ms"])
    database.write(lambda tx: tx.execute(insert(events), rows))


def _compact(database: Database, *, days: int = 30, now: int = _NOW) -> bool:
    database.write(lambda tx: tx.execute(delete(leases)))
    return compaction.compact(database, events_days=days, now=now)


def _blocks(database: Database) -> list[int]:
    query = select(visit_blocks.c.visits).order_by(visit_blocks.c.account, visit_blocks.c.last_id)
    return [int(n) for n in database.read(lambda tx: tx.execute(query).scalars().all())]


def _expected(database: Database, account: int, visit_filter: VisitFilter, first: int, after: int) -> Counts:
    """Count the rows of `events` one by one."""
    counts = Counts()
    c = events.c
    query = select(events).where(c.account == account, c.at_ms >= first * 1000, c.at_ms < after * 1000)
    names = {"click": 0, "bot": 2, "preview": 3, "other": 4, "late": 5}
    for row in database.read(lambda tx: tx.execute(query.where(visit_filter.condition())).mappings().all()):
        times = counts.times[row["at_ms"] // 1000 // QUARTER * QUARTER]
        times[names[row["sort"]]] += 1
        times[1] += row["first"]
        if row["sort"] == "click":
            counts.items[row["kind"], row["item"]] += 1
            for name in _CHOICES:
                counts.labels[name][row[name]] += 1
    return counts


def _check(database: Database, account: int, first: int = _NOW - 30 * DAY, after: int = _NOW) -> None:
    for visit_filter in _FILTERS:
        actual = database.read(lambda tx: count(tx, account, visit_filter, first, after))  # noqa: B023  # called at once
        assert actual == _expected(database, account, visit_filter, first, after), visit_filter


@pytest.mark.usefixtures("small_blocks")
def test_visits_in_blocks_and_after_them_are_counted_once(database: Database) -> None:
    _add(database, 1, 47, first=_NOW - 9 * DAY, after=_NOW - DAY)
    _add(database, 2, 12, first=_NOW - 9 * DAY, after=_NOW, seed=2)
    _check(database, 1)
    assert not _compact(database)
    assert _blocks(database) == [30, 10, 10]
    _check(database, 1)
    _check(database, 2)
    _add(database, 1, 5, first=_NOW - DAY, after=_NOW, seed=3)
    _check(database, 1)
    _check(database, 1, _NOW - 5 * DAY - 3 * QUARTER, _NOW - 2 * DAY + QUARTER)


@pytest.mark.usefixtures("small_blocks")
def test_late_visit_is_counted_in_its_own_time(database: Database) -> None:
    _add(database, 1, 20, first=_NOW - DAY, after=_NOW)
    _compact(database)
    _add(database, 1, 11, first=_NOW - 3 * DAY, after=_NOW - 2 * DAY, seed=2)
    _compact(database)
    _check(database, 1)
    _check(database, 1, _NOW - 3 * DAY, _NOW - 2 * DAY)


@pytest.mark.usefixtures("small_blocks")
def test_block_loses_expired_visits(database: Database) -> None:
    _add(database, 1, 30, first=_NOW - 20 * DAY, after=_NOW)
    _compact(database)
    assert _blocks(database) == [30]
    before = (_NOW - 10 * DAY) * 1000
    database.write(lambda tx: tx.execute(delete(events).where(events.c.at_ms < before)))
    left = database.read(lambda tx: tx.execute(select(func.count()).select_from(events)).scalar_one())
    _compact(database, days=10)
    assert _blocks(database) == [left]
    _check(database, 1)
    database.write(lambda tx: tx.execute(delete(events)))
    _compact(database, days=10, now=_NOW + 11 * DAY)
    assert _blocks(database) == []


@pytest.mark.usefixtures("small_blocks")
def test_blocks_are_deleted_when_single_visits_are_not_kept(database: Database) -> None:
    _add(database, 1, 10, first=_NOW - DAY, after=_NOW)
    _compact(database)
    assert _blocks(database) == [10]
    _compact(database, days=0)
    assert _blocks(database) == []


@pytest.mark.usefixtures("small_blocks")
def test_lease_keeps_other_processes_out(database: Database) -> None:
    _add(database, 1, 10, first=_NOW - DAY, after=_NOW)
    _compact(database)
    _add(database, 1, 10, first=_NOW - DAY, after=_NOW)
    assert not compaction.compact(database, events_days=30, now=_NOW)
    assert _blocks(database) == [10]


@pytest.mark.usefixtures("small_blocks")
def test_process_that_lost_its_lease_puts_no_visit_into_a_second_block(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(database, 1, 25, first=_NOW - DAY, after=_NOW)

    def interrupted(rows: Sequence[Any]) -> Block:
        monkeypatch.setattr(compaction, "encode", encode)
        assert not _compact(database)  # as another process does
        return encode(rows)

    monkeypatch.setattr(compaction, "encode", interrupted)
    assert not _compact(database)
    assert _blocks(database) == [10, 10]
    _check(database, 1)


@pytest.mark.usefixtures("small_blocks")
def test_run_ends_after_some_blocks_and_continues(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "_MAX_BLOCKS_OF_RUN", 2)
    _add(database, 1, 55, first=_NOW - DAY, after=_NOW)
    assert _compact(database)
    assert _compact(database)
    assert not _compact(database)
    assert sum(_blocks(database)) == 50
    _check(database, 1)


def test_no_block_is_stored_for_a_deleted_account(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "SMALL", 5)
    _add(database, 1, 5, first=_NOW - DAY, after=_NOW)

    def delete_meanwhile(rows: Sequence[Any]) -> Any:
        database.write(lambda tx: tx.execute(delete(events)))
        return encode(rows)

    monkeypatch.setattr(compaction, "encode", delete_meanwhile)
    _compact(database)
    assert _blocks(database) == []


@ON_POSTGRESQL
def test_postgresql_does_not_compress_blocks(database: Database) -> None:
    query = "SELECT attstorage FROM pg_attribute WHERE attrelid = 'visit_blocks'::regclass AND attname = 'content'"
    assert database.read(lambda tx: tx.execute(text(query)).scalar()) in (b"e", "e")
