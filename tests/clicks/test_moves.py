"""Statistics of links that move to another account: each click counts once, for the link and for one account."""

import random
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, literal, select, text

from tests.support.clicks import NOW_MS, click, run_out
from tests.support.load import until
from tests.support.threads import join
from tests.support.visits import GOOGLEBOT
from waypost.clicks import moves
from waypost.clicks.blocks import compaction, encoding
from waypost.clicks.ingest import label_limits
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal
from waypost.clicks.stats import verify
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_labels, click_times, events, visit_blocks, visitors
from waypost.db.schema import links as links_table
from waypost.items.accounts import ops as accounts
from waypost.items.links import account_moves, ops
from waypost.items.links.account_moves import MoveRequest

_DAY_MS = 86_400_000


@pytest.fixture
def links(database: Database, settings: Settings) -> list[int]:
    """Three links of Ana (1). Ben (2) has one more."""

    def work(tx: Connection) -> list[int]:
        for name in ("ana", "ben"):
            accounts.add(tx, email=f"{name}@example.com", username=name, password="*")
        return [ops.add(tx, owner, settings=settings, url="https://example.com/").id for owner in (1, 1, 1, 2)]

    return database.write(work)


def _count(settings: Settings, database: Database, *lines: bytes) -> None:
    journal = Journal(settings.journal_dir)
    for line in lines:
        journal.write(line)
    journal.close()
    run_out(Ingester(settings, database))


def _move(database: Database, settings: Settings, *ids: int, source: int = 1, target: int = 2) -> None:
    request = MoveRequest(source, target)
    fates = database.write(lambda tx: account_moves.move(tx, request, ids, settings=settings))
    assert [fate.refusal for fate in fates] == [""] * len(ids)


def _times(database: Database, kind: str, item: int) -> tuple[int, ...]:
    c = click_times.c
    sums = select(*(func.coalesce(func.sum(c[name]), 0) for name in ("clicks", "uniques", "bots")))
    return tuple(map(int, database.read(lambda tx: tx.execute(sums.where(c.kind == kind, c.item == item)).one())))


def test_counts_of_an_earlier_move_are_joined(database: Database, settings: Settings, links: list[int]) -> None:
    """Lines that are counted again after a restore to a moment before a move name the new account."""
    _count(settings, database, click(links[0]))
    database.write(_add_strays)
    _move(database, settings, links[0])
    assert _times(database, "link", links[0])[0] == 2
    assert _labels(database, "link", links[0], "browser", days=False).total() == 2
    assert (_times(database, "account", 1)[0], _times(database, "account", 2)[0]) == (0, 1)
    assert database.read(_owners) == {2}


def _add_strays(tx: Connection) -> None:
    for table in (click_times, click_labels):
        columns = [literal(2) if column.name == "account" else column for column in table.c]
        names = [column.name for column in table.c]
        tx.execute(insert(table).from_select(names, select(*columns).where(table.c.kind == "link")))


def _owners(tx: Connection) -> set[int]:
    tables = (click_times, click_labels)
    return {owner for c in tables for owner in tx.execute(select(c.c.account).where(c.c.kind == "link")).scalars()}


def _labels(database: Database, kind: str, item: int, dimension: str, *, days: bool) -> Counter[str]:
    c = click_labels.c
    is_day = c.day >= 0 if days else c.day == -1
    query = select(c.label, func.sum(c.n)).where(c.kind == kind, c.item == item, c.dimension == dimension, is_day)
    return Counter({label: int(n) for label, n in database.read(lambda tx: tx.execute(query.group_by(c.label)).all())})


def _assert_consistent(database: Database) -> None:
    """Check that roll-ups equal the visits, and that accounts count the sums of their links."""
    assert database.read(verify.differences) == []

    def work(tx: Connection) -> None:
        of_link = dict(tx.execute(select(links_table.c.id, links_table.c.account)).all())
        for table in (click_times, click_labels, events):
            c = table.c
            rows = tx.execute(select(c.item, c.account).where(c.kind == "link").distinct())
            assert all(of_link[item] == account for item, account in rows), table.name
        for table in (click_times, click_labels):
            numbers = [column.name for column in table.c if not column.primary_key]
            assert all(
                tx.execute(select(func.min(table.c[name]))).scalar() in (None, *range(10**6)) for name in numbers
            )

    database.read(work)


def test_statistics_move_with_links(database: Database, settings: Settings, links: list[int]) -> None:
    first, second, other, of_ben = links
    lines = [
        click(link, f"203.0.113.{n}", ms=NOW_MS - day * _DAY_MS)
        for link in (first, second, other)
        for n in range(3)
        for day in range(2)
    ]
    _count(
        settings,
        database,
        *lines,
        click(first),
        click(first, agent=GOOGLEBOT),
        click(of_ben).replace(b"\t1\tlink", b"\t2\tlink"),
    )
    before = {link: _times(database, "link", link) for link in links}
    assert _times(database, "account", 1) == tuple(map(sum, zip(*(before[link] for link in links[:3]), strict=True)))
    _move(database, settings, first, second)
    assert {link: _times(database, "link", link) for link in links} == before
    assert _times(database, "account", 1) == before[other]
    assert _times(database, "account", 2) == tuple(
        map(sum, zip(*(before[link] for link in (first, second, of_ben)), strict=True))
    )
    for days in (True, False):
        for dimension in ("referrer", "browser", "country"):
            expected = sum(
                (_labels(database, "link", link, dimension, days=days) for link in (first, second, of_ben)),
                Counter[str](),
            )
            assert _labels(database, "account", 2, dimension, days=days) == expected
            assert _labels(database, "account", 1, dimension, days=days) == _labels(
                database, "link", other, dimension, days=days
            )
    _assert_consistent(database)


def test_clicks_in_journal_count_for_new_account_once_and_visitors_are_known(
    database: Database, settings: Settings, links: list[int]
) -> None:
    first = links[0]
    _count(settings, database, click(first, "203.0.113.1"))
    _move(database, settings, first)
    _count(settings, database, click(first, "203.0.113.1"), click(first, "203.0.113.2"))  # lines name Ana
    late = click(first, "203.0.113.2").replace(b"\t1\tlink", b"\t2\tlink")
    _count(settings, database, late)
    assert _times(database, "link", first) == (4, 2, 0)
    assert _times(database, "account", 2) == (4, 2, 0)
    assert _times(database, "account", 1) == (0, 0, 0)
    _move(database, settings, first, source=2, target=1)
    _count(settings, database, late, click(first, "203.0.113.3"))
    assert _times(database, "account", 1) == _times(database, "link", first) == (6, 3, 0)
    assert _times(database, "account", 2) == (0, 0, 0)
    _assert_consistent(database)
    rows = database.read(lambda tx: set(tx.execute(select(visitors.c.account)).scalars()))
    assert rows == {1}


def test_labels_above_limit_of_account_are_subtracted_from_other(
    database: Database, settings: Settings, links: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_limits, "MAX_LABELS_OF_DAY", 5)
    monkeypatch.setattr(label_limits, "MAX_LABELS_OF_ALL_DAYS", 7)
    chance = random.Random(1)
    sites = [f"site-{n}.example" for n in range(12)]
    for _ in range(6):
        _count(
            settings,
            database,
            *(
                click(chance.choice(links[:3])).replace(b"t.co", chance.choice(sites).encode())
                for _ in range(chance.randrange(1, 30))
            ),
        )
    for number, link in enumerate(links[:3], 1):
        _move(database, settings, link)
        _assert_consistent(database)
        for account in (1, 2):
            for days in (True, False):
                labels = _labels(database, "account", account, "referrer", days=days)
                assert labels.total() == _times(database, "account", account)[0], (number, account, days)
    assert _labels(database, "account", 1, "referrer", days=True) == {}


@pytest.mark.parametrize(
    ("counts", "stored", "taken"),
    [
        ({"a": 2, "b": 1}, {"a": 5, "b": 1}, {"a": 2, "b": 1}),
        ({"a": 3}, {"Other": 4, "b": 9}, {"Other": 3}),
        ({"a": 3}, {"a": 1, "Other": 1, "b": 9, "c": 2}, {"a": 1, "Other": 1, "b": 1}),
        ({"Other": 2}, {"a": 1, "b": 1}, {"a": 1, "b": 1}),
        ({}, {"a": 1}, {}),
    ],
)
def test_subtraction_keeps_sum_and_is_never_negative(
    counts: dict[str, int], stored: dict[str, int], taken: dict[str, int]
) -> None:
    assert moves.subtracted(counts, stored) == taken


def _visits_in_blocks(tx: Connection) -> int:
    return int(tx.execute(select(func.coalesce(func.sum(visit_blocks.c.visits), 0))).scalar_one())


def test_block_of_visits_that_moved_since_they_were_read_is_not_written(
    database: Database, settings: Settings, links: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SMALL", 10)
    _count(settings, database, *(click(links[0]) + click(links[1]) for _ in range(10)))

    def encode_and_move(rows: Sequence[Any]) -> encoding.Block:
        monkeypatch.setattr(compaction, "encode", encoding.encode)
        _move(database, settings, links[0])
        return encoding.encode(rows)

    monkeypatch.setattr(compaction, "encode", encode_and_move)
    assert compaction.add_block(database, 1, 10**6)
    assert database.read(_visits_in_blocks) == 0
    assert compaction.add_block(database, 1, 10**6)
    assert compaction.add_block(database, 2, 10**6)
    assert database.read(_visits_in_blocks) == 20
    _move(database, settings, links[1])
    assert database.read(_visits_in_blocks) == 0  # both begin with visits that moved
    _assert_consistent(database)


def test_move_waits_for_batch_that_is_counted(database: Database, settings: Settings, links: list[int]) -> None:
    """On PostgreSQL the batch has read that no link was moved, and is still writing."""
    mover = threading.Thread(target=_move, args=(database, settings, links[0]))

    def fault(name: str) -> None:
        if name == "visitors":
            mover.start()
            until(lambda: database.is_sqlite or database.read(_has_waiting_lock))

    journal = Journal(settings.journal_dir)
    journal.write(click(links[0]) * 3)
    Ingester(settings, database, fault_point=fault).step()
    join(mover)
    assert _times(database, "account", 2) == _times(database, "link", links[0]) == (3, 1, 0)
    journal.write(click(links[0]))
    journal.close()
    run_out(Ingester(settings, database))
    assert _times(database, "account", 2) == (4, 1, 0)
    _assert_consistent(database)


def _has_waiting_lock(tx: Connection) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'moved_items'::regclass AND NOT granted"
    return tx.execute(text(waiting)).scalar() == 1
