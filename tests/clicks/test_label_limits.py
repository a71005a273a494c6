"""Invented referrers and languages get a limited number of rows; sums stay exact. On both databases."""

from collections.abc import Iterable
from contextlib import closing
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from threading import Event, Thread

import pytest
from sqlalchemy import Connection, delete, select, text, update

from tests.support.databases import ON_POSTGRESQL
from tests.support.load import until
from tests.support.threads import join
from tests.support.visits import CHROME
from waypost.clicks.ingest.aggregate import ALL_DAYS, DAY
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.ingest.label_limits import MAX_LABELS_OF_ALL_DAYS, MAX_LABELS_OF_DAY, OTHER, WELL_KNOWN
from waypost.clicks.journal import Journal, format_line, item_fields
from waypost.clicks.stats import reports, verify
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_labels, click_times
from waypost.items.links import ops as links

VISITS = 5000
_INVENTED = ("referrer", "language")
NOON = 1_800_014_400  # 2027-01-15 12:00:00 UTC
TODAY = NOON // DAY
_WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
_CODES = ["".join(letters) for letters in product(ascii_lowercase, repeat=3)]


def _line(link: int, referrer: str, language: str = "en", second: int = NOON, address: bytes = b"203.0.113.1") -> bytes:
    fields = (CHROME.encode(), referrer.encode(), language.encode())
    return format_line(item_fields(1, "link", link), second * 1000, b"", address, b"", fields)


def _count(settings: Settings, database: Database, batches: Iterable[list[bytes]]) -> None:
    """Count the lines, each batch by itself, as a running ingester does; and each by a new process."""
    for lines in batches:
        journal = Journal(settings.journal_dir)
        for line in lines:
            journal.write(line)
        journal.close()
        ingester = Ingester(settings, database)
        while ingester.step():
            pass


def _labels(database: Database, kind: str, item: int, dimension: str) -> dict[int, dict[str, int]]:
    """Return the counts of all labels by day."""
    c = click_labels.c
    query = select(c.day, c.label, c.n).where(c.kind == kind, c.item == item, c.dimension == dimension)
    counts: dict[int, dict[str, int]] = {}
    for day, label, n in database.read(lambda tx: tx.execute(query).all()):
        counts.setdefault(day, {})[label] = n
    return counts


def _attack(link: int, *, days: int = 1) -> list[bytes]:
    return [
        _line(link, f"https://invented-{n}-{day}.example/", _CODES[n], NOON + day * DAY)
        for day in range(days)
        for n in range(VISITS // days)
    ]


@pytest.mark.parametrize("size", [VISITS, 300])
def test_invented_labels_are_limited_and_sums_are_exact(
    database: Database, settings: Settings, link: int, size: int
) -> None:
    lines = _attack(link)
    _count(settings, database, [lines[start : start + size] for start in range(0, VISITS, size)])
    for (kind, item), dimension in product((("link", link), ("account", 1)), _INVENTED):
        counts = _labels(database, kind, item, dimension)
        assert {day: sum(labels.values()) for day, labels in counts.items()} == {TODAY: VISITS, ALL_DAYS: VISITS}
        unusual = {day: len(labels.keys() - WELL_KNOWN[dimension]) for day, labels in counts.items()}
        assert unusual == {TODAY: MAX_LABELS_OF_DAY, ALL_DAYS: MAX_LABELS_OF_ALL_DAYS}
        assert counts[TODAY][OTHER] >= VISITS - MAX_LABELS_OF_DAY - len(WELL_KNOWN[dimension])
    block = database.read(lambda tx: reports.block(tx, 1, "link", link, clicks=VISITS, uniques=1))
    assert int(block.topReferrers[OTHER]) == VISITS - MAX_LABELS_OF_ALL_DAYS


def test_invented_labels_of_many_days_are_limited(database: Database, settings: Settings, link: int) -> None:
    _count(settings, database, [_attack(link, days=10)])
    counts = _labels(database, "link", link, "referrer")
    assert len(counts) == 11
    assert sum(counts[ALL_DAYS].values()) == VISITS
    assert len(counts[ALL_DAYS]) == MAX_LABELS_OF_ALL_DAYS + 1
    assert all(len(counts[TODAY + day]) == MAX_LABELS_OF_DAY + 1 for day in range(10))


def test_known_labels_keep_their_rows_after_attack(database: Database, settings: Settings, link: int) -> None:
    first = [_line(link, "https://blog.example/"), _line(link, "")]
    late = [
        _line(link, f"https://{host}/", "de") for host in ("www.google.com", "t.co", "blog.example", "late.example")
    ]
    _count(settings, database, [first, _attack(link), late])
    for counts in _labels(database, "link", link, "referrer").values():
        assert {label: counts.get(label) for label in ("blog.example", "Direct", "google.com", "x.com")} == {
            "blog.example": 2,
            "Direct": 1,
            "google.com": 1,
            "x.com": 1,
        }
        assert "late.example" not in counts


def test_most_frequent_labels_of_a_batch_get_the_rows(database: Database, settings: Settings, link: int) -> None:
    _count(settings, database, [[*_attack(link), *[_line(link, "https://zz-popular.example/")] * 3]])
    assert _labels(database, "link", link, "referrer")[TODAY]["zz-popular.example"] == 3


def test_other_items_are_not_limited_by_attack(database: Database, settings: Settings, link: int) -> None:
    second = database.write(lambda tx: links.add(tx, 1, settings=settings, url="https://example.com/").id)
    _count(settings, database, [_attack(link), [_line(second, "https://late.example/")]])
    assert _labels(database, "link", second, "referrer") == {day: {"late.example": 1} for day in (TODAY, ALL_DAYS)}


def test_repair_keeps_the_limits_and_the_sums(database: Database, settings: Settings, link: int) -> None:
    Ingester(settings, database)._record_events_start()
    _count(settings, database, [_attack(link)])

    def damage(tx: Connection) -> None:
        c = click_labels.c
        tx.execute(update(click_times).where(click_times.c.kind == "link").values(clicks=1))
        tx.execute(delete(click_labels).where(c.kind == "link", c.day == TODAY, c.n == 1))

    database.write(damage)
    assert len(database.read(verify.differences)) == 1
    database.write(lambda tx: verify.repair(tx, verify.differences(tx)))
    assert database.read(verify.differences) == []
    for name in _INVENTED:
        counts = _labels(database, "link", link, name)
        assert len(counts[TODAY].keys() - WELL_KNOWN[name]) <= MAX_LABELS_OF_DAY
        assert sum(counts[TODAY].values()) == VISITS
        assert len(counts[ALL_DAYS].keys() - WELL_KNOWN[name]) <= MAX_LABELS_OF_ALL_DAYS
        assert sum(counts[ALL_DAYS].values()) >= VISITS + MAX_LABELS_OF_DAY  # the repair adds what the day lacked
        assert min(counts[ALL_DAYS].values()) > 0


def _referrers(node: int, *, hour: int) -> list[bytes]:
    """Return clicks with as many invented referrers as a day keeps, different on each node."""
    names = (f"https://node-{node}-{n}.example/" for n in range(MAX_LABELS_OF_DAY))
    address = b"203.0.113.%d" % (node + 1)  # ingesters that add the same visitor wait for each other
    return [_line(1, name, second=NOON + hour * 3600, address=address) for name in names]


@ON_POSTGRESQL
def test_nodes_at_once_keep_at_most_their_number_times_the_limit(
    database: Database, database_url: str, tmp_path: Path, link: int
) -> None:
    """Both read the labels before the other one has committed: the worst case."""
    assert link == 1
    has_written, may_commit = Event(), Event()

    def pause(step: str) -> None:
        if step == "labels" and not has_written.is_set():
            has_written.set()
            may_commit.wait(30)

    folders = [tmp_path / "first", tmp_path / "second"]
    nodes = [Settings(data_dir=folder, base_url="http://x", database_url=database_url) for folder in folders]
    with closing(Database(database_url)) as first, closing(Database(database_url)) as second:
        ingesters = [Ingester(nodes[0], first, fault_point=pause), Ingester(nodes[1], second)]
        for hours in ((0, 3), (6, 9)):
            threads = []
            for number, ingester in enumerate(ingesters):
                journal = Journal(nodes[number].journal_dir)
                for line in _referrers(number + hours[0], hour=hours[number]):
                    journal.write(line)
                journal.close()
                threads.append(Thread(target=ingester.step))
                threads[-1].start()
                has_written.wait(30)
            until(lambda: may_commit.is_set() or database.read(lambda tx: tx.execute(_WAITING).scalar_one()))
            may_commit.set()
            for thread in threads:
                join(thread)
    counts = _labels(database, "link", link, "referrer")
    unusual = {day: len(labels.keys() - WELL_KNOWN["referrer"]) for day, labels in counts.items()}
    assert unusual[TODAY] == len(nodes) * MAX_LABELS_OF_DAY
    assert unusual[ALL_DAYS] <= len(nodes) * MAX_LABELS_OF_ALL_DAYS
    assert sum(counts[TODAY].values()) == sum(counts[ALL_DAYS].values()) == 4 * MAX_LABELS_OF_DAY
