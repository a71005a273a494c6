"""Retention: visitors of a day, their salt, single visits and the change log."""

import threading
from pathlib import Path

import pytest
import time_machine
from sqlalchemy import func, insert, select

from tests.conftest import BASE
from tests.support.databases import ON_SQLITE
from tests.support.threads import join
from tests.support.visits import CHROME, FIREFOX
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import Journal, format_line, item_fields
from waypost.core.settings import Settings
from waypost.db import change_log
from waypost.db.database import Database
from waypost.db.schema import changes as changes_table
from waypost.db.schema import events, metadata, visitor_salts, visitors
from waypost.db.schema import links as links_table

MIDNIGHT = 1_799_971_200  # 2027-01-15 00:00:00 UTC
DAY = 86_400


def _record_visit(settings: Settings, link: int, second: int, agent: str = CHROME) -> None:
    words = (agent.encode(), b"", b"")
    kept = Journal(settings.journal_dir)
    kept.write(format_line(item_fields(1, "link", link), second * 1000, b"", b"203.0.113.77", b"", words))
    kept.close()


def _rows(database: Database, name: str) -> int:
    table = metadata.tables[name]
    return database.read(lambda tx: int(tx.execute(select(func.count()).select_from(table)).scalar_one()))


def _clicks(database: Database, link: int) -> tuple[int, int]:
    c = links_table.c
    row = database.read(lambda tx: tx.execute(select(c.clicks, c.uniqueclicks).where(c.id == link)).one())
    return int(row[0]), int(row[1])


def test_visitors_are_deleted_two_hours_after_their_day(database: Database, settings: Settings, link: int) -> None:
    with time_machine.travel(MIDNIGHT + DAY - 1, tick=False) as clock:
        ingester = Ingester(settings, database)
        for agent in (CHROME, CHROME, FIREFOX):
            _record_visit(settings, link, MIDNIGHT + DAY - 1, agent)
        ingester.step()
        ingester.delete_expired()
        assert (_rows(database, "visitors"), _rows(database, "visitor_salts")) == (2, 1)
        clock.move_to(MIDNIGHT + DAY + 7199)
        _record_visit(settings, link, MIDNIGHT + DAY - 1)  # a line that was long on its way: he was there on that day
        ingester.step()
        ingester.delete_expired()
        assert (_clicks(database, link), _rows(database, "visitors"), _rows(database, "visitor_salts")) == (
            (4, 2),
            2,
            1,
        )
        _record_visit(settings, link, MIDNIGHT + DAY + 7199)
        ingester.step()
        assert (_clicks(database, link), _rows(database, "visitors"), _rows(database, "visitor_salts")) == (
            (5, 3),
            3,
            2,
        )
        clock.move_to(MIDNIGHT + DAY + 7300)
        ingester.delete_expired()
        assert (_clicks(database, link), _rows(database, "visitors"), _rows(database, "visitor_salts")) == (
            (5, 3),
            1,
            1,
        )
        _record_visit(settings, link, MIDNIGHT + DAY + 7300)
        ingester.step()
        assert _clicks(database, link) == (6, 3)  # the new day's visitors are known as before


def test_visitor_digest_depends_on_salt_of_day(database: Database, settings: Settings, link: int) -> None:
    with time_machine.travel(MIDNIGHT, tick=False) as clock:
        for day in range(2):
            clock.move_to(MIDNIGHT + day * DAY)
            _record_visit(settings, link, MIDNIGHT + day * DAY)
            Ingester(settings, database).step()
    days = database.read(lambda tx: tx.execute(select(visitors.c.day, visitors.c.digest)).all())
    assert len({row.day for row in days}) == len({bytes(row.digest) for row in days}) == 2
    salts = database.read(lambda tx: tx.execute(select(visitor_salts.c.salt)).scalars().all())
    assert len({bytes(salt) for salt in salts}) == 2


@pytest.mark.parametrize(("days", "kept"), [(0, 1), (1, 2), (2, 3), (36_500, 4)])
def test_visits_are_kept_for_configured_days(
    database: Database, database_url: str, tmp_path: Path, days: int, kept: int
) -> None:
    now = MIDNIGHT + 10 * DAY
    ages = (0, DAY, 2 * DAY, 3 * DAY)  # a visit is over when it is older than that, to the second
    _insert_events(database, [(now - age) * 1000 for age in sorted(ages, reverse=True)])
    keeping = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url, events_days=days)
    with time_machine.travel(now, tick=False):
        Ingester(keeping, database).delete_expired()
    assert _rows(database, "events") == kept


def test_zero_event_days_stores_no_visits(database: Database, database_url: str, tmp_path: Path, link: int) -> None:
    keeping = Settings(data_dir=tmp_path, base_url=BASE, database_url=database_url, events_days=0)
    _record_visit(keeping, link, MIDNIGHT)
    Ingester(keeping, database).step()
    assert (_rows(database, "events"), _clicks(database, link)) == (0, (1, 1))


@ON_SQLITE
def test_old_visits_are_deleted_in_batches(database: Database, settings: Settings) -> None:
    _insert_events(database, [MIDNIGHT * 1000] * 45_000)
    ingester = Ingester(settings, database)
    with time_machine.travel(MIDNIGHT + 365 * DAY, tick=False) as clock:
        left = []
        for _ in range(4):
            ingester.delete_expired()
            left.append(_rows(database, "events"))
        assert left == [25_000, 5_000, 0, 0]
        _insert_events(database, [MIDNIGHT * 1000])
        ingester.delete_expired()
        assert _rows(database, "events") == 1  # nothing more before a minute is over
        clock.shift(60)
        ingester.delete_expired()
        assert _rows(database, "events") == 0
        _insert_events(database, [0])
        clock.shift(-30 * DAY)  # a clock that is set back stops nothing
        ingester.delete_expired()
        assert _rows(database, "events") == 0


def test_change_log_is_purged_after_an_hour_except_newest(database: Database, settings: Settings) -> None:
    with time_machine.travel(MIDNIGHT, tick=False) as clock:
        database.write(lambda tx: change_log.record(tx, "", "aaa"))
        database.write(lambda tx: change_log.record(tx, "", "bbb"))
        for seconds, expected in ((3600, ["aaa", "bbb"]), (61, ["bbb"]), (DAY, ["bbb"])):
            clock.shift(seconds)
            Ingester(settings, database).delete_expired()
            aliases = database.read(lambda tx: tx.execute(select(changes_table.c.alias)).scalars().all())
            assert aliases == expected


def test_running_ingester_deletes_expired_data(database: Database, settings: Settings) -> None:
    _insert_events(database, [0])
    ingester, stop = Ingester(settings, database), threading.Event()
    thread = threading.Thread(target=ingester.run, args=(stop,))
    thread.start()
    try:
        while _rows(database, "events"):
            assert thread.is_alive()
    finally:
        stop.set()
        join(thread)


def _insert_events(database: Database, moments: list[int]) -> None:
    common = {"account": 1, "kind": "link", "item": 1, "sort": "click", "first": True}
    database.write(lambda tx: tx.execute(insert(events), [{**common, "at_ms": ms} for ms in moments]))
