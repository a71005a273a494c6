"""Servers that hang, queues of very many messages, and clocks that are wrong hold no message of others."""

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pytest
import time_machine
from sqlalchemy import Connection, event, insert

from tests.support.fake_internet import empty
from tests.support.webhooks import WAIT_SECONDS, Hooks, Receiver
from waypost.core import clock
from waypost.core.errors import Problem
from waypost.db.schema import webhook_messages
from waypost.webhooks import catalog, deliveries, endpoints, outbox, queue, sender

_AGES = 10_000
"""Seconds since the first message of a long queue was due."""


def _add_endpoints(hooks: Hooks, receiver: Receiver, number: int) -> Sequence[int]:
    def add(tx: Connection) -> Sequence[int]:
        added = partial(endpoints.add, tx, hooks.account, settings=hooks.settings, url=receiver.url, events=["link.*"])
        return [added()[0].id for _ in range(number)]

    return hooks.database.write(add)


def _add_messages(hooks: Hooks, endpoint: int, times: Iterable[int]) -> None:
    """Insert messages that are due at these times."""

    def message(number: int, due: int) -> dict[str, Any]:
        row = outbox.values(hooks.account, endpoint, f"msg_{endpoint}_{number}", "channel.created", "{}")
        return {**row, "state": "waiting", "due": due}

    rows = [message(number, due) for number, due in enumerate(times)]
    hooks.database.write(lambda tx: tx.execute(insert(webhook_messages), rows))


def _enqueue_tests(hooks: Hooks, targets: Iterable[int]) -> None:
    def work(tx: Connection) -> None:
        for endpoint in targets:
            outbox.enqueue_test(tx, hooks.account, endpoint)

    hooks.database.write(work)


@pytest.fixture
def hang(receiver: Receiver) -> Iterable[threading.Event]:
    """The receiver answers when the event is set."""
    ended = threading.Event()

    def answer() -> Iterable[bytes]:
        ended.wait(WAIT_SECONDS)
        return [empty(204)]

    receiver.answer = answer
    yield ended
    ended.set()


def test_servers_that_hang_hold_no_place_of_others(
    hooks: Hooks, receiver: Receiver, hang: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "_THREADS", 2)
    monkeypatch.setattr(sender, "_SLOW_SECONDS", 600.0)
    _enqueue_tests(hooks, _add_endpoints(hooks, receiver, 5))
    assert [hooks.sender.step(), hooks.sender.step()] == [2, 0]
    monkeypatch.setattr(sender, "_SLOW_SECONDS", 0.0)
    monkeypatch.setattr(sender, "_MAX_THREADS", 4)
    assert [hooks.sender.step(), hooks.sender.step()] == [2, 0]
    hang.set()
    assert hooks.sender.wait(WAIT_SECONDS)
    assert hooks.send() == 1


def test_server_that_becomes_slow_gets_one_request_at_a_time(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks.change("Fast")
    hooks.send()
    ended = threading.Event()
    receiver.answer = lambda: [empty(204)] if ended.wait(WAIT_SECONDS) else []
    started = []
    for name, seconds in (("One", 600.0), ("Two", 600.0), ("Three", 0.0)):
        monkeypatch.setattr(sender, "_SLOW_SECONDS", seconds)
        hooks.change(name)
        started.append(hooks.sender.step())
    assert started == [1, 1, 0]
    ended.set()
    assert hooks.sender.wait(WAIT_SECONDS)


def test_long_queue_of_one_endpoint_delays_no_other(hooks: Hooks, receiver: Receiver, hang: threading.Event) -> None:
    first, now = clock.now() - _AGES, clock.now()
    recent, old = _add_endpoints(hooks, receiver, 2)
    _add_messages(hooks, hooks.endpoint, range(first, first + 5 * queue.WINDOW))
    _add_messages(hooks, recent, [now])
    _add_messages(hooks, old, [first + 3 * queue.WINDOW])
    assert hooks.sender.step() == 2  # the oldest one, and the recent one
    assert hooks.sender.step() == 1  # the one in the middle
    assert hooks.sender.step() == 0
    hang.set()
    assert hooks.sender.wait(WAIT_SECONDS)
    assert hooks.send() > 0


def test_queue_with_equal_times_is_read_to_its_end(hooks: Hooks, receiver: Receiver, hang: threading.Event) -> None:
    """As after all failed messages are sent again."""
    (other,) = _add_endpoints(hooks, receiver, 1)
    due = clock.now() - _AGES
    for endpoint in (hooks.endpoint, other):
        _add_messages(hooks, endpoint, [due] * 3 * queue.WINDOW)
    assert sum(hooks.sender.step() for _ in range(3)) == 2
    hang.set()
    assert hooks.sender.wait(WAIT_SECONDS)


def test_statements_of_the_queue_use_its_index(hooks: Hooks) -> None:
    def work(tx: Connection) -> Sequence[str]:
        statements: list[Any] = []
        is_sqlite = tx.dialect.name == "sqlite"
        if not is_sqlite:
            tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        event.listen(tx, "before_cursor_execute", lambda *arguments: statements.append(arguments[2:4]))
        queue.find_due(tx, 100, busy=[7], per_endpoint=4)
        queue.find_due(tx, 100, busy=[7], per_endpoint=4, after=(50, 2))
        queue.count_due(tx, 100)
        queue.has_impossible(tx)
        queue.correct_impossible(tx)
        explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
        return [str(tx.exec_driver_sql(f"{explain} {sql}", values).all()) for sql, values in tuple(statements)]

    plans = hooks.database.write(work)
    assert len(plans) == 9
    for plan in plans:
        assert "webhook_messages_due" in plan
        assert "SCAN webhook_messages" not in plan


def test_times_of_a_clock_that_was_ahead_are_corrected(hooks: Hooks, receiver: Receiver) -> None:
    with time_machine.travel(clock.now() + 365 * 86_400):
        hooks.change("Ahead")
    receiver.answer = lambda: [b"HTTP/1.1 503 No\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n"]
    _enqueue_tests(hooks, [hooks.endpoint])
    hooks.change("Now")
    assert (hooks.send(), hooks.send()) == (1, 1)
    due = hooks.due
    receiver.answer = lambda: [empty(204)]
    assert hooks.send() == 0
    hooks.sender.correct_times()
    assert (hooks.send(), hooks.due) == (1, due)
    assert hooks.states == [("delivered", 1), ("failed", 1), ("waiting", 1)]


def test_message_without_a_thread_is_sent_after_its_lease(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the machine allows no more threads."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    hooks.change()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        hooks.sender.step()
    assert hooks.send() == 0
    with time_machine.travel(clock.now() + queue.LEASE_SECONDS):
        assert hooks.send() == 1
    assert hooks.states == [("delivered", 2)]


def test_disabled_endpoint_gets_tests_next_to_a_long_queue(hooks: Hooks, receiver: Receiver) -> None:
    hooks.update(enabled=False)
    _add_messages(hooks, hooks.endpoint, [clock.now() - _AGES] * 2 * queue.WINDOW)
    _enqueue_tests(hooks, [hooks.endpoint])
    assert hooks.send() == 1
    assert catalog.TEST in receiver.requests[0].body


def test_disabled_endpoint_with_a_long_queue_gets_nothing_and_loses_nothing(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "BATCH", 2)
    monkeypatch.setattr(deliveries, "MAX_REPLAYED", 3)
    now = clock.now()
    _add_messages(hooks, hooks.endpoint, [now - _AGES] * 5 + [now + _AGES])
    due = hooks.database.read(lambda tx: queue.find_due(tx, now, busy=[], per_endpoint=9)).messages
    hooks.update(enabled=False)
    assert [state for state, _ in hooks.states].count("failed") == 2
    assert not hooks.database.write(lambda tx: queue.claim(tx, now, [each.id for each in due]))
    assert hooks.send() == 0
    states = sorted(state for state, _ in hooks.states)
    assert states in (["failed"] * 5 + ["waiting"], ["failed"] * 6)  # a later one fails when its time comes
    assert not receiver.requests
    hooks.update(enabled=True)
    replay = partial(deliveries.replay, account=hooks.account, endpoint=hooks.endpoint)
    with pytest.raises(Problem, match="more than 3 messages"):
        hooks.database.write(partial(replay, first=0))
    assert hooks.database.write(partial(replay, first=0, last=1)) == 0
    assert [hooks.database.write(replay) for _ in range(3)] == [3, states.count("failed") - 3, 0]
    while hooks.send():
        pass
    assert [state for state, _ in hooks.states].count("delivered") == states.count("failed")
