"""Events of links that no person causes: limits, expiries, destinations that are dead or alive."""

import json
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, delete, select, text, update
from structlog.testing import capture_logs

from tests.support.clicks import NOW_MS, click, run_out
from tests.support.databases import ON_POSTGRESQL
from tests.support.load import until
from tests.support.threads import join
from tests.support.webhooks import WAIT_SECONDS, Hooks
from waypost.clicks.ingest.ingester import Ingester
from waypost.clicks.journal import LATE, TAKEN, Journal
from waypost.core import clock
from waypost.core.errors import Kind, Problem
from waypost.db import audit_log
from waypost.db.database import Database
from waypost.db.schema import audit, link_checks, webhook_messages
from waypost.db.schema import links as links_table
from waypost.items.links import dead_links, expiry_events, limit_events
from waypost.items.links import ops as links
from waypost.items.links.dead_links import DAY, LinkCheck, Verdict
from waypost.items.links.expiry_events import SETTLE_SECONDS


def _add_link(hooks: Hooks) -> int:
    hooks.update(events=["link.limit_reached", "link.dead", "link.alive"])
    fields: Any = {"url": "https://example.com/sale", "title": "Spring sale", "clicklimit": 2}
    return hooks.database.write(lambda tx: links.add(tx, hooks.account, settings=hooks.settings, **fields)).id


def _take(hooks: Hooks, link: int) -> None:
    """Take a click from the limit of a link. It is counted by its line in the journal, unless its process is killed."""
    one_more = update(links_table).where(links_table.c.id == link).values(taken=links_table.c.taken + 1)
    hooks.database.write(lambda tx: tx.execute(one_more))


def _visit(hooks: Hooks, link: int, *, day: int = 0) -> None:
    """Take a click from the limit of a link on a day, and count it."""
    _take(hooks, link)
    _count(hooks, link, TAKEN, day=day)


def _count(hooks: Hooks, link: int, flags: bytes, *, day: int = 0) -> None:
    journal = Journal(hooks.settings.journal_dir)
    assert journal.write(click(link, flags=flags, ms=NOW_MS + day * DAY * 1000))
    journal.close()
    run_out(Ingester(hooks.settings, hooks.database, readers=[limit_events.record_reached]))


def _messages(hooks: Hooks) -> Sequence[Any]:
    hooks.sequence()
    query = select(webhook_messages.c.body).order_by(webhook_messages.c.id)
    return [json.loads(body) for body in hooks.database.read(lambda tx: tx.execute(query).scalars().all())]


def test_last_click_of_each_limit_is_one_event(hooks: Hooks) -> None:
    link = _add_link(hooks)
    _visit(hooks, link)
    assert _messages(hooks) == []
    _visit(hooks, link)
    (message,) = _messages(hooks)
    data = {"id": link, "kind": "link", "label": "Spring sale", "origin": "system", "before": None}
    assert message["type"] == "link.limit_reached"
    assert message["data"] == {**data, "after": {"clicklimit": 2}}
    _visit(hooks, link)  # as a line of another node that is counted later
    assert len(_messages(hooks)) == 1
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=4))
    _visit(hooks, link)
    assert [each["data"]["after"] for each in _messages(hooks)] == [{"clicklimit": 2}, {"clicklimit": 4}]


def _types(hooks: Hooks) -> Sequence[str]:
    return [message["type"] for message in _messages(hooks)]


def _forget_log(hooks: Hooks) -> None:
    """Delete the audit log, as its retention does."""
    hooks.sequence()
    hooks.database.write(lambda tx: tx.execute(delete(audit)))


def test_events_of_a_limit_are_not_repeated_when_the_log_has_lost_them(hooks: Hooks) -> None:
    link = _add_link(hooks)
    hooks.update(events=["link.limit_near", "link.limit_reached"])
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=10))
    for _ in range(8):
        _visit(hooks, link)
    assert _types(hooks) == ["link.limit_near"]
    _forget_log(hooks)
    _visit(hooks, link, day=2)
    assert _types(hooks) == ["link.limit_near"]
    _visit(hooks, link, day=2)
    assert _types(hooks) == ["link.limit_near", "link.limit_reached"]
    _forget_log(hooks)
    _visit(hooks, link, day=4)  # as a line of another node that is counted later
    assert len(_types(hooks)) == 2


def test_events_of_a_limit_that_the_log_does_not_have_are_recorded(hooks: Hooks) -> None:
    link = _add_link(hooks)
    hooks.update(events=["link.limit_near", "link.limit_reached"])
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=5))
    _forget_log(hooks)
    for day in range(5):
        _visit(hooks, link, day=day)
    assert _types(hooks) == ["link.limit_near", "link.limit_reached"]
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=6))
    _visit(hooks, link, day=9)
    assert _types(hooks)[2:] == ["link.limit_near", "link.limit_reached"]


@pytest.mark.parametrize(("lost_before", "lost_last"), [(0, 1), (1, 0), (1, 1), (0, 3)])
def test_clicks_of_killed_processes_hide_no_event_of_a_limit_older_than_the_log(
    hooks: Hooks, lost_before: int, lost_last: int
) -> None:
    link = _add_link(hooks)
    hooks.update(events=["link.limit_near", "link.limit_reached"])
    hooks.database.write(lambda tx: links.change(tx, hooks.account, link, settings=hooks.settings, clicklimit=11))
    for _ in range(lost_before):
        _take(hooks, link)
    for _ in range(7):
        _visit(hooks, link)
    assert _types(hooks) == []
    _forget_log(hooks)
    for _ in range(lost_last):
        _take(hooks, link)
    for _ in range(3 - lost_before - lost_last):
        _visit(hooks, link, day=2)
    _forget_log(hooks)
    _visit(hooks, link, day=4)
    assert _types(hooks) == ["link.limit_near", "link.limit_reached"]


def test_late_visit_brings_the_event_of_a_last_click_of_a_killed_process(hooks: Hooks) -> None:
    link = _add_link(hooks)
    _count(hooks, link, LATE)  # as of a link that was paused
    _visit(hooks, link)
    _take(hooks, link)
    assert _messages(hooks) == []
    for _ in range(2):
        _count(hooks, link, LATE)
        assert _types(hooks) == ["link.limit_reached"]


def test_dead_and_alive_again_are_one_event_each(hooks: Hooks) -> None:
    link, now = _add_link(hooks), clock.now()

    def check(day: int, status: int, verdict: Verdict) -> None:
        def work(tx: Any) -> None:
            tx.execute(update(link_checks).values(due=now))
            (claimed,), _ = dead_links.claim_batch(tx, now + day * DAY, limit=1, period=7 * DAY)
            at = now + day * DAY
            dead_links.record_result(tx, claimed, status=status, verdict=verdict, now=at, period=7 * DAY)
            outdated = LinkCheck(claimed.account, claimed.link, claimed.url, 1, was_dead=not claimed.was_dead)
            dead_links.record_result(tx, outdated, status=404, verdict="failed", now=at, period=7 * DAY)

        hooks.database.write(work)

    hooks.database.write(lambda tx: dead_links.enroll(tx, now))
    for day in range(4):
        check(day, 404, "failed")
    check(4, 403, "unknown")
    check(5, 200, "ok")
    check(6, 200, "ok")
    sent = _messages(hooks)
    assert [message["type"] for message in sent] == ["link.dead", "link.alive"]
    expected = {"id": link, "kind": "link", "label": "Spring sale", "origin": "system", "before": None}
    assert sent[0]["data"] == {**expected, "after": {"url": "https://example.com/sale"}}


def _expire(hooks: Hooks, times: int = 1) -> None:
    """Look for expired links, as two nodes do."""
    for _ in range(times):
        while expiry_events.step(hooks.database):
            pass


def _add_expiring(hooks: Hooks, expiry: int) -> int:
    def work(tx: Any) -> int:
        link = links.add(tx, hooks.account, settings=hooks.settings, url="https://example.com/", title="Sale").id
        _set_expiry(tx, link, expiry)
        return link

    return hooks.database.write(work)


def _set_expiry(tx: Any, link: int, expiry: int) -> None:
    tx.execute(update(links_table).where(links_table.c.id == link).values(expiry=expiry))


def _expired(hooks: Hooks) -> Sequence[tuple[int, int]]:
    """Return the links that have expired, with their expiry."""
    sent = _messages(hooks)
    assert {message["type"] for message in sent} <= {"link.expired"}
    return [(message["data"]["id"], message["data"]["after"]["expiry"]) for message in sent]


def test_each_expiry_that_passes_is_one_event(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_events, "BATCH", 2)
    hooks.update(events=["link.expired"])
    now = clock.now()
    with time_machine.travel(now, tick=False) as time:
        old = _add_expiring(hooks, now - 100)  # expired before the job ran for the first time
        _expire(hooks)
        ids = [_add_expiring(hooks, now + 60) for _ in range(5)]
        deleted = _add_expiring(hooks, now + 60)
        hooks.database.write(lambda tx: links.remove(tx, hooks.account, deleted))
        time.shift(60 + SETTLE_SECONDS)
        _expire(hooks, 2)
        assert _expired(hooks) == []  # the last second
        time.shift(1)
        _expire(hooks, 2)
        assert _expired(hooks) == [(link, now + 60) for link in ids]
        hooks.database.write(lambda tx: _set_expiry(tx, ids[0], now + 3600))
        _expire(hooks)
        assert len(_expired(hooks)) == 5
        time.shift(7200)
        _expire(hooks, 2)
        assert _expired(hooks)[5:] == [(ids[0], now + 3600)]
        assert old not in dict(_expired(hooks))


def test_expiries_continue_after_the_clock_was_ahead(hooks: Hooks) -> None:
    hooks.update(events=["link.expired"])
    now = clock.now()
    with time_machine.travel(now + 365 * DAY, tick=False) as time:
        _expire(hooks)
        time.move_to(now)
        _expire(hooks)
        link = _add_expiring(hooks, now + 1)
        time.shift(60)
        _expire(hooks, 2)
        assert _expired(hooks) == [(link, now + 1)]


def test_two_processes_record_an_expiry_once(hooks: Hooks) -> None:
    hooks.update(events=["link.expired"])
    now = clock.now()
    with time_machine.travel(now, tick=False) as time:
        _expire(hooks)
        link = _add_expiring(hooks, now + 1)
        time.shift(60)
        threads = [threading.Thread(target=_expire, args=(hooks,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        join(*threads)
        assert _expired(hooks) == [(link, now + 1)]


def test_rolled_back_expiry_is_recorded_by_the_next_run(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    hooks.update(events=["link.expired"])
    now = clock.now()
    with time_machine.travel(now, tick=False) as time:
        _expire(hooks)
        link = _add_expiring(hooks, now + 1)
        time.shift(60)
        with monkeypatch.context() as patch:
            patch.setattr(audit_log, "flush", _fail)
            with pytest.raises(RuntimeError):
                _expire(hooks)
        _expire(hooks)
        assert _expired(hooks) == [(link, now + 1)]


def _fail(_tx: Any) -> None:
    raise RuntimeError


@ON_POSTGRESQL
def test_two_nodes_that_hold_no_lock_of_the_link_record_its_limit_once(hooks: Hooks) -> None:
    """As on a cluster of Citus, where the lock of a link can end before the event is committed."""
    link = _add_link(hooks)
    hooks.database.write(lambda tx: tx.execute(update(links_table).values(taken=2)))
    is_recorded, may_commit = threading.Event(), threading.Event()
    taken: Any = SimpleNamespace(account=hooks.account, kind="link", item=link, taken=True, second=clock.now())

    def first(tx: Connection) -> None:
        limit_events.record_reached(tx, [taken], [True])
        is_recorded.set()
        assert may_commit.wait(WAIT_SECONDS)

    def second(tx: Connection) -> None:
        limit_events.record_reached(tx, [taken], [True])

    threads = [threading.Thread(target=hooks.database.write, args=(work,)) for work in (first, second)]
    threads[0].start()
    assert is_recorded.wait(WAIT_SECONDS)
    threads[1].start()
    waiting = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    until(lambda: not threads[1].is_alive() or hooks.database.read(lambda tx: tx.execute(waiting).scalar_one()))
    may_commit.set()
    join(*threads)
    assert len(_messages(hooks)) == 1


def test_database_that_is_away_is_logged_once_a_minute(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts, stop = iter(range(3)), threading.Event()

    def fail(_database: Database) -> bool:
        if next(attempts) == 2:
            stop.set()
        raise Problem(Kind.UNAVAILABLE, "The database is away.")

    monkeypatch.setattr(expiry_events, "step", fail)
    monkeypatch.setattr(expiry_events, "_POLL_SECONDS", 0)
    with capture_logs() as logs:
        expiry_events.run(hooks.settings, hooks.database, stop)
    assert [log["event"] for log in logs] == ["cannot look for expired links now"]
