"""Clicks that are counted after the deletion of their item are in its totals after the restoration."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlalchemy import Connection, select

from tests.support.databases import ON_POSTGRESQL
from tests.support.server import at_once
from tests.support.threads import join
from tests.support.visits import CHROME, FIREFOX
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import TAKEN, Journal, format_line, item_fields
from waypost.clicks.stats import verify
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import click_times, trash
from waypost.db.schema import links as links_table
from waypost.items.accounts import ops as accounts
from waypost.items.links import bulk
from waypost.items.links import ops as links
from waypost.trash import ops

ACCOUNT = 1


@pytest.fixture
def journal(settings: Settings) -> Iterator[Journal]:
    """The journal of a process that answers visits."""
    with closing(Journal(settings.journal_dir)) as opened:
        yield opened


def _new_link(database: Database, settings: Settings, limit: int | None) -> int:
    def work(tx: Connection) -> int:
        accounts.add(tx, email="ana@example.com", username="ana", password="*")
        return links.add(tx, ACCOUNT, settings=settings, url="https://example.com/", clicklimit=limit).id

    return database.write(work)


def _record_click(journal: Journal, link: int, agent: str, flags: bytes = b"") -> None:
    at_ms, headers = clock.now() * 1000, (agent.encode(), b"", b"")
    journal.write(format_line(item_fields(ACCOUNT, "link", link), at_ms, flags, b"203.0.113.77", b"", headers))


def _move(database: Database, link: int) -> None:
    database.write(lambda tx: ops.move(tx, ACCOUNT, "link", [link], bulk.remove))


def _restore(database: Database) -> None:
    def work(tx: Connection) -> None:
        ops.restore(tx, ACCOUNT, tx.execute(select(trash.c.id)).scalars().all())

    database.write(work)


def _totals(database: Database, link: int) -> tuple[int, int, int]:
    """Return the clicks, the unique clicks and the clicks against the limit of a link."""
    c = links_table.c
    row = database.read(lambda tx: tx.execute(select(c.clicks, c.uniqueclicks, c.taken).where(c.id == link)).one())
    return row.clicks, row.uniqueclicks, row.taken


@pytest.mark.parametrize("limit", [None, 5])
def test_clicks_counted_in_trash_are_added_once(
    database: Database, settings: Settings, journal: Journal, limit: int | None
) -> None:
    link, ingester = _new_link(database, settings, limit), Ingester(settings, database)
    flags = b"" if limit is None else TAKEN
    taken = 3 if limit is None else 0  # the journal has no part in clicks that were taken before the response
    for agent in (CHROME, CHROME, FIREFOX):
        _record_click(journal, link, agent, flags)
    _move(database, link)
    ingester.step()
    for _ in range(2):  # the second deletion must not add them again
        _restore(database)
        assert _totals(database, link) == (3, 2, taken)
        _move(database, link)
    _record_click(journal, link, CHROME, flags)
    ingester.step()
    _restore(database)
    assert _totals(database, link) == (4, 2, taken + (limit is None))
    assert database.read(verify.differences) == []


@pytest.mark.parametrize("point", ["visitors", "times", "labels", "totals", "events"])
def test_clicks_are_exact_if_link_is_deleted_and_restored_while_they_are_counted(
    database: Database, settings: Settings, journal: Journal, point: str
) -> None:
    link = _new_link(database, settings, None)
    reached, resumed = threading.Event(), threading.Event()

    def wait_at_point(name: str) -> None:
        if name == point and not reached.is_set():
            reached.set()
            resumed.wait(0.5)

    ingester = Ingester(settings, database, fault_point=wait_at_point)
    for agent in (CHROME, FIREFOX):
        _record_click(journal, link, agent)
    counting = threading.Thread(target=ingester.step)
    counting.start()
    assert reached.wait(30)
    _move(database, link)
    _restore(database)
    resumed.set()
    join(counting)
    assert _totals(database, link) == (2, 2, 2)
    counted = select(click_times.c.clicks).where(click_times.c.kind == "link", click_times.c.item == link)
    assert database.read(lambda tx: tx.execute(counted).scalars().all()) == [2]


@ON_POSTGRESQL
def test_restoration_waits_for_ingester_that_missed_the_link(
    database: Database, settings: Settings, journal: Journal
) -> None:
    """The ingester adds clicks to no row while the link is in the trash, and has not committed their statistics."""
    link = _new_link(database, settings, None)
    restoring = threading.Thread(target=_restore, args=(database,))

    def at_point(name: str) -> None:
        if name == "times":
            _move(database, link)
        elif name == "totals":
            restoring.start()
            restoring.join(0.5)

    _record_click(journal, link, CHROME)
    Ingester(settings, database, fault_point=at_point).step()
    join(restoring)
    assert _totals(database, link) == (1, 1, 1)


def test_concurrent_restorations_restore_once(database: Database, settings: Settings) -> None:
    link = _new_link(database, settings, None)
    _move(database, link)
    entry = database.read(lambda tx: tx.execute(select(trash.c.id)).scalar_one())

    def restore() -> str:
        try:
            database.write(lambda tx: ops.restore(tx, ACCOUNT, [entry]))
        except Problem as problem:
            return problem.kind.name
        return "restored"

    assert Counter(at_once([restore] * 4)) == {"restored": 1, "NOT_FOUND": 3}
    assert _totals(database, link) == (0, 0, 0)
