"""Each fault of a receiver has its outcome in the log, and no other endpoint suffers from it."""

import socket
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select, text

from tests.support.fake_internet import empty, moved, ok, server
from tests.support.fake_web import running_websites
from tests.support.webhooks import WAIT_SECONDS, Hooks, Receiver
from waypost.db.schema import webhook_attempts, webhook_messages
from waypost.webhooks import endpoints, sender
from waypost.webhooks.sender import MAX_ANSWER_BYTES, Sender


class Outcome(NamedTuple):
    """The status and the answer in the log, the beginning of the error, and the state of the message."""

    status: int
    answer: str = ""
    error: str = ""
    state: str = "waiting"


_FAILED = Outcome(0, error="it did not answer")
_LATE = Outcome(0, error="it takes too long")
_never = threading.Event()


def _reset() -> Iterator[bytes]:
    raise ConnectionResetError
    yield b""


def _endless(begin: bytes, piece: bytes) -> Callable[[], Iterator[bytes]]:
    def answer() -> Iterator[bytes]:
        yield begin
        while True:
            yield piece * 1000

    return answer


def _silent(begin: bytes) -> Callable[[], Iterator[bytes]]:
    """Send the beginning of a response, and nothing more."""

    def answer() -> Iterator[bytes]:
        yield begin
        _never.wait(3)

    return answer


def _pieces(*pieces: bytes) -> Callable[[], Iterable[bytes]]:
    return lambda: pieces


_HEAD = b"HTTP/1.1 200 OK\r\n"
_FAULTS: dict[str, tuple[Callable[[], Iterable[bytes]], Outcome]] = {
    "hangs": (_silent(b""), _LATE),
    "hangs in the head": (_silent(_HEAD), _LATE),
    "resets the connection": (_reset, _FAILED),
    "closes without an answer": (_pieces(), _FAILED),
    "closes in the head": (_pieces(_HEAD + b"Content-Le"), _FAILED),
    "sends no HTTP": (_pieces(b"nonsense\r\n\r\n"), _FAILED),
    "sends zeros": (_pieces(bytes(1000)), _FAILED),
    "sends headers without end": (_endless(_HEAD, b"X-More: yes\r\n"), _FAILED),
    "sends one header without end": (_endless(_HEAD + b"X-More: ", b"yes"), _FAILED),
    "sends interim responses without end": (_endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), _FAILED),
    "sends an interim response first": (
        _pieces(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", ok(b"a")),
        Outcome(200, "a", state="delivered"),
    ),
    "changes the protocol": (
        _pieces(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
        _FAILED,
    ),
    "redirects": (_pieces(moved(b"http://127.0.0.1/")), Outcome(302)),
    "is gone": (_pieces(empty(410)), Outcome(410, state="failed")),
    "fails": (_pieces(b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops"), Outcome(500, "oops")),
    "sends less than its length": (
        _pieces(_HEAD + b"Content-Length: 100\r\n\r\nabc"),
        Outcome(200, "abc", state="delivered"),
    ),
    "sends more than its length": (
        _pieces(_HEAD + b"Content-Length: 1\r\n\r\nabc"),
        Outcome(200, "a", state="delivered"),
    ),
    "sends two lengths": (_pieces(_HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"), _FAILED),
    "sends a length that is no number": (_pieces(_HEAD + b"Content-Length: many\r\n\r\nab"), _FAILED),
    "sends a chunk that is none": (
        _pieces(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n"),
        Outcome(200, "a", state="delivered"),
    ),
    "hangs in the body": (
        _silent(_HEAD + b"Content-Length: 100\r\n\r\nab\0c"),
        Outcome(200, "abc", state="delivered"),
    ),
    "sends a body without end": (
        _endless(_HEAD + b"\r\n", b"x"),
        Outcome(200, "x" * MAX_ANSWER_BYTES, state="delivered"),
    ),
    "sends no text": (_pieces(ok(b"\xff\0\xfe")), Outcome(200, "\ufffd\ufffd", state="delivered")),
}


@pytest.mark.parametrize("fault", _FAULTS)
def test_fault_has_its_outcome_in_the_log_and_holds_no_other_endpoint(
    hooks: Hooks, receiver: Receiver, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault.startswith("hangs"):
        monkeypatch.setattr(sender, "TIMEOUT_SECONDS", 1.0)
    other = Receiver()
    receiver.answer, expected = _FAULTS[fault]
    with server(other.respond) as (_, other.port):
        careful = _allowing(hooks, receiver.port, other.port)
        _add_endpoint(hooks, other)
        hooks.change()
        assert careful.step() == 2
        assert careful.wait(WAIT_SECONDS)
    faulty, working = hooks.attempts
    if faulty["status"] == 204:
        faulty, working = working, faulty
    begin = faulty["error"][: len(expected.error)] if expected.error else faulty["error"]
    outcome = Outcome(faulty["status"], faulty["answer"], begin)
    assert outcome == expected._replace(state="waiting")
    assert len(faulty["answer"].encode()) <= MAX_ANSWER_BYTES
    assert sorted(hooks.states) == sorted([(expected.state, 1), ("delivered", 1)])
    assert hooks.row["enabled"] == (expected.state != "failed")
    assert (working["status"], len(other.requests)) == (204, 1)


def test_server_with_another_certificate_gets_nothing_and_holds_no_other_endpoint(
    hooks: Hooks, receiver: Receiver
) -> None:
    with running_websites() as host:
        hooks.update(url=f"https://{host}/")
        careful = _allowing(hooks, receiver.port, int(host.partition(":")[2]))
        _add_endpoint(hooks, receiver)
        hooks.change()
        assert careful.step() == 2
        assert careful.wait(WAIT_SECONDS)
    assert sorted(hooks.states) == [("delivered", 1), ("waiting", 1)]
    assert {attempt["error"] for attempt in hooks.attempts} == {"", "it did not answer (ConnectError)"}


def test_refused_connection_is_a_failure(hooks: Hooks) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as closed:
        port = closed.getsockname()[1]
    hooks.update(url=f"http://127.0.0.1:{port}/")
    hooks.change()
    careful = _allowing(hooks, port)
    assert careful.step() == 1
    assert careful.wait(WAIT_SECONDS)
    assert (hooks.states, hooks.attempts[0]["status"]) == ([("waiting", 1)], 0)


def test_attempt_is_stored_before_its_request_which_is_in_no_transaction(hooks: Hooks, receiver: Receiver) -> None:
    seen: list[Any] = []

    def look() -> Iterable[bytes]:
        c = webhook_attempts.c
        query = select(webhook_messages.c.attempts, c.milliseconds, c.status).join(webhook_attempts)
        seen.extend(map(tuple, hooks.database.read(lambda tx: tx.execute(query).all())))
        seen.append(_open_transactions(hooks))
        return [empty(204)]

    receiver.answer = look
    hooks.change()
    hooks.send()
    assert seen == [(1, None, 0), 0]


def _allowing(hooks: Hooks, *ports: int) -> Sender:
    """Return a sender that may send to ports of this machine."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return Sender(hooks.settings.model_copy(update={"webhook_hosts": hosts}), hooks.database, threading.Event())


def _add_endpoint(hooks: Hooks, receiver: Receiver) -> None:
    hooks.database.write(
        lambda tx: endpoints.add(tx, hooks.account, settings=hooks.settings, url=receiver.url, events=["channel.*"])
    )


def _open_transactions(hooks: Hooks) -> int:
    """Return how many other transactions are open; on SQLite, 1 for any: the checkpoint waits for all of them."""
    if hooks.database.path is not None:
        with closing(sqlite3.connect(hooks.database.path, timeout=0)) as connection:
            return int(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
    statement = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND xact_start IS NOT NULL AND backend_type = 'client backend'"
    )
    return int(hooks.database.read(lambda tx: tx.execute(statement).scalar_one()))
