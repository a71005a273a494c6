"""Webhooks are delivered at least once: signed, retried after failures and crashes, by all nodes together."""

import subprocess
import sys
import threading
from collections.abc import Iterable

import pytest
import time_machine
from pydantic import SecretStr
from sqlalchemy import Connection, select
from standardwebhooks import Webhook, WebhookVerificationError

from tests.support.fake_internet import empty, moved
from tests.support.webhooks import WAIT_SECONDS, Hooks, Receiver
from waypost.core import clock
from waypost.db.database import Database
from waypost.db.schema import emails
from waypost.items.channels import ops as channels
from waypost.webhooks import deliveries, endpoints, outbox, queue, sender
from waypost.webhooks.sender import Sender

DAY = 86_400


def test_event_is_posted_with_a_valid_signature(hooks: Hooks, receiver: Receiver) -> None:
    hooks.change("Nächste")
    assert hooks.send() == 1
    (request,) = receiver.requests
    payload = request.verified(hooks.secret)
    assert (payload["type"], payload["data"]["label"]) == ("channel.created", "Nächste")
    assert payload["data"].keys() == {"id", "kind", "label", "origin", "before", "after"}
    assert request.headers["content-type"] == "application/json"
    assert (hooks.states, hooks.attempts[0]["status"]) == ([("delivered", 1)], 204)
    with pytest.raises(WebhookVerificationError):
        Webhook(hooks.secret).verify(request.body + " ", request.headers)


def test_change_that_is_rolled_back_is_no_message(hooks: Hooks, receiver: Receiver) -> None:
    def fail(tx: Connection) -> None:
        channels.add(tx, hooks.account, name="Never")
        raise ValueError("undone")

    with pytest.raises(ValueError, match="undone"):
        hooks.database.write(fail)
    hooks.sequence()
    assert (hooks.send(), receiver.requests) == (0, [])


@pytest.mark.parametrize("status", [301, 304, 400, 404, 429, 500, 503])
def test_other_answers_than_success_are_sent_again_with_the_same_id(
    hooks: Hooks, receiver: Receiver, status: int
) -> None:
    receiver.answer = lambda: [empty(status)]
    with time_machine.travel(clock.now(), tick=False) as now:
        hooks.change()
        hooks.send()
        assert hooks.send() == 0
        for pause in queue.RETRY_SECONDS:
            left = hooks.due - clock.now()
            assert 0.8 * pause <= left <= 1.2 * pause
            now.shift(left)
            assert hooks.send() == 1
    assert hooks.states == [("failed", len(queue.RETRY_SECONDS) + 1)]
    assert {attempt["status"] for attempt in hooks.attempts} == {status}
    assert len(set(receiver.ids)) == 1


def test_redirect_is_not_followed(hooks: Hooks, receiver: Receiver) -> None:
    receiver.answer = lambda: [moved(receiver.url.encode())]
    hooks.change()
    hooks.send()
    assert (len(receiver.requests), hooks.states) == (1, [("waiting", 1)])


def test_hanging_server_is_given_up_and_holds_no_other(
    hooks: Hooks, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "TIMEOUT_SECONDS", 1.0)
    hangs, others = (
        threading.Event(),
        hooks.database.write(
            lambda tx: endpoints.add(tx, hooks.account, settings=hooks.settings, url=receiver.url, events=["link.*"])
        )[0],
    )

    def hang() -> Iterable[bytes]:
        hangs.wait(WAIT_SECONDS)
        return [empty(204)]

    receiver.answer = hang
    for name in ("One", "Two", "Three"):
        hooks.change(name)
    assert hooks.sender.step() == 1  # one request at a time to an endpoint that is not proven
    assert hooks.sender.step() == 0
    hooks.database.write(lambda tx: outbox.enqueue_test(tx, hooks.account, others.id))
    assert hooks.sender.step() == 1
    assert hooks.sender.wait(WAIT_SECONDS)
    hangs.set()
    assert hooks.states == [("waiting", 1), ("waiting", 0), ("waiting", 0), ("failed", 1)]
    assert {attempt["error"] for attempt in hooks.attempts} == {"it takes too long"}


@pytest.mark.parametrize("value", ["7200", "date", "9" * 40, "soon", "-5"])
def test_retry_after_delays_the_next_attempt_within_a_day(hooks: Hooks, receiver: Receiver, value: str) -> None:
    with time_machine.travel(1_800_000_000, tick=False):
        sent = "Fri, 15 Jan 2027 10:00:00 GMT" if value == "date" else value
        receiver.answer = lambda: [f"HTTP/1.1 503 No\r\nRetry-After: {sent}\r\nContent-Length: 0\r\n\r\n".encode()]
        hooks.change()
        hooks.send()
        expected = {"7200": 7200, "date": 7200, "9" * 40: DAY}.get(value)
        assert hooks.due - clock.now() == expected if expected else hooks.due - clock.now() <= 6


def test_internal_address_is_refused_unless_it_is_allowed(hooks: Hooks, receiver: Receiver) -> None:
    strict = Sender(hooks.settings.model_copy(update={"webhook_hosts": ""}), hooks.database, threading.Event())
    hooks.change()
    strict.step()
    assert strict.wait(WAIT_SECONDS)
    assert (receiver.requests, hooks.attempts[0]["error"]) == ([], "127.0.0.1 has an internal address")


def test_410_disables_the_endpoint_and_keeps_later_messages(hooks: Hooks, receiver: Receiver) -> None:
    receiver.answer = lambda: [empty(410)]
    hooks.change("One")
    hooks.change("Two")
    hooks.send()
    hooks.change("Three")
    assert (hooks.row["enabled"], hooks.row["disabledreason"]) == (False, "gone")
    assert hooks.states == [("failed", 1), ("failed", 0), ("failed", 0)]
    receiver.answer = lambda: [empty(204)]
    hooks.update(enabled=True)
    assert hooks.database.write(lambda tx: deliveries.replay(tx, hooks.account, hooks.endpoint)) == 3
    while hooks.send():
        pass
    assert (hooks.row["failing"], hooks.row["disabledreason"]) == (None, "")
    assert [state for state, _ in hooks.states] == ["delivered"] * 3


def test_endpoint_that_fails_for_five_days_is_disabled(hooks: Hooks) -> None:
    def fail(tx: Connection) -> queue.Reason | None:
        (due,) = queue.find_due(tx, clock.now(), busy=[], per_endpoint=1).messages
        (claimed,) = queue.claim(tx, clock.now(), [due.id])
        notice = queue.record(tx, claimed, queue.Result(500, 3), clock.now())
        return notice.reason if notice else None

    reasons = []
    with time_machine.travel(clock.now(), tick=False) as now:
        for _ in range(6):
            assert hooks.row["enabled"]
            hooks.change(f"Day {clock.now()}")
            reasons.append(hooks.database.write(fail))
            now.shift(DAY)
    assert reasons == [None, "warned", None, None, None, "failing"]
    assert (hooks.row["enabled"], hooks.row["disabledreason"]) == (False, "failing")


def test_owner_of_a_failing_endpoint_gets_e_mail_on_the_first_day_and_at_the_end(
    hooks: Hooks, receiver: Receiver
) -> None:
    sends_mail = hooks.settings.model_copy(update={"smtp_url": SecretStr("smtp://127.0.0.1:1")})
    hooks.sender = Sender(sends_mail, hooks.database, threading.Event())
    receiver.answer = lambda: [empty(500)]
    query = select(emails.c.recipient, emails.c.text).order_by(emails.c.id)
    stored = []
    with time_machine.travel(clock.now(), tick=False) as now:
        for day in range(7):
            hooks.change(f"Day {day}")
            hooks.send()
            now.shift(DAY)
            stored.append(hooks.database.read(lambda tx: tx.execute(query).all()))
    assert [len(each) for each in stored] == [0, 1, 1, 1, 1, 2, 2]
    path = f"/dashboard/webhooks/{hooks.endpoint}"
    assert [(row.recipient, path in row.text) for row in stored[-1]] == [("ana@example.com", True)] * 2


def test_success_ends_the_failure(hooks: Hooks, receiver: Receiver) -> None:
    receiver.answer = lambda: [empty(500)]
    hooks.change("One")
    hooks.send()
    assert hooks.row["failing"] is not None
    receiver.answer = lambda: [empty(204)]
    hooks.change("Two")
    hooks.send()
    assert hooks.row["failing"] is None


def test_rotated_secret_signs_together_with_the_old_one_for_a_day(hooks: Hooks, receiver: Receiver) -> None:
    with time_machine.travel(clock.now(), tick=False) as now:
        _, secret = hooks.database.write(lambda tx: endpoints.rotate(tx, hooks.account, hooks.endpoint))
        hooks.change("One")
        hooks.send()
        for valid in (hooks.secret, secret):
            receiver.requests[0].verified(valid)
        now.shift(endpoints.ROTATION_SECONDS)
        hooks.change("Two")
        hooks.send()
        receiver.requests[1].verified(secret)
        with pytest.raises(WebhookVerificationError):
            receiver.requests[1].verified(hooks.secret)


_KILLED = """
import os, pathlib, sys, threading
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.webhooks.sender import Sender
point, folder, url, hosts = sys.argv[1:]
settings = Settings(data_dir=pathlib.Path(folder), database_url=url, webhook_hosts=hosts)
kill = lambda name: name == point and os.kill(os.getpid(), 9)
sender = Sender(settings, Database(settings.database), threading.Event(), fault_point=kill)
sender.step()
sender.wait(30)
"""


@pytest.mark.parametrize("point", ["claimed", "sent", "stored"])
def test_killed_sender_loses_nothing(hooks: Hooks, receiver: Receiver, point: str) -> None:
    hooks.change()
    parameters = (point, hooks.settings.data_dir, hooks.settings.database_url, hooks.settings.webhook_hosts)
    killed = subprocess.run([sys.executable, "-c", _KILLED, *map(str, parameters)], check=False, timeout=60)
    assert killed.returncode == -9
    assert len(receiver.requests) == (0 if point == "claimed" else 1)
    assert hooks.send() == 0
    with time_machine.travel(clock.now() + queue.LEASE_SECONDS):
        assert hooks.send() == (0 if point == "stored" else 1)
    assert len(set(receiver.ids)) == 1
    assert hooks.states == [("delivered", 1 if point == "stored" else 2)]


def test_two_nodes_share_the_messages(hooks: Hooks, receiver: Receiver, database: Database) -> None:
    for number in range(20):
        hooks.change(f"Channel {number}")
    stop = threading.Event()
    nodes = [Sender(hooks.settings, database, stop) for _ in range(2)]
    threads = [threading.Thread(target=node.run) for node in nodes]
    for thread in threads:
        thread.start()
    ended = threading.Event()
    for _ in range(1000):
        if all(state == "delivered" for state, _ in hooks.states):
            break
        ended.wait(0.02)
    stop.set()
    for thread in threads:
        thread.join(WAIT_SECONDS)
    assert hooks.states == [("delivered", 1)] * 20
    assert len(receiver.ids) == len(set(receiver.ids)) == 20


def test_message_of_a_reset_sequence_has_the_same_id(hooks: Hooks, receiver: Receiver) -> None:
    """As after a power cut, in which SQLite loses its last transactions."""

    def forget(tx: Connection) -> None:
        tx.exec_driver_sql("DELETE FROM webhook_attempts")
        tx.exec_driver_sql("DELETE FROM webhook_messages")
        tx.exec_driver_sql("UPDATE audit SET position = NULL")
        tx.exec_driver_sql("DELETE FROM installation WHERE name = 'audit size'")

    hooks.change()
    hooks.send()
    hooks.database.write(forget)
    hooks.sequence()
    hooks.send()
    assert receiver.ids[0] == receiver.ids[1]


def test_old_messages_are_deleted(hooks: Hooks) -> None:
    with time_machine.travel(clock.now() - 31 * DAY):
        hooks.change("Old")
    hooks.change("New")
    hooks.sender.delete_expired()
    assert len(hooks.states) == 1
