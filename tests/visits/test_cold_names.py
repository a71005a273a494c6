"""Names that are not in the cache: one read for those of one turn of the event loop, and its failures."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from sqlalchemy import Connection

from tests.support.protocol import Pipe, ProtocolClient, protocol_client
from waypost.db.database import Database
from waypost.errors import unavailable
from waypost.settings import Settings

T = TypeVar("T")
END = b" HTTP/1.1\r\nHost: go.localhost:8000\r\n\r\n"


class _ObservedDatabase(Database):
    """Counts the reads of names, and can pause or fail them."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.name_reads = 0
        self.is_failing = False
        self.resume = threading.Event()
        self.resume.set()

    def read(self, work: Callable[[Connection], T], *, autocommit: bool = False, timeout: float | None = None) -> T:
        if not autocommit:
            return super().read(work, timeout=timeout)
        self.name_reads += 1
        if self.is_failing:
            raise unavailable()
        result = super().read(work, autocommit=True, timeout=timeout)
        assert self.resume.wait(30)
        return result


@pytest.fixture
def database(database_url: str) -> Iterator[_ObservedDatabase]:
    database = _ObservedDatabase(database_url)
    yield database
    database.close()


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[ProtocolClient]:
    """An application with ten links without a visit."""
    with protocol_client(settings, database) as client:
        for number in range(10):
            client.add_link(f"link{number}")
        client.new_journal_lines()
        yield client


def _begin(client: ProtocolClient, path: str) -> Pipe:
    """Send a request on a connection of its own, without waiting."""
    pipe = client.connect()
    assert pipe.protocol is not None
    client.loop.call_soon(pipe.protocol.data_received, b"GET " + path.encode() + END)
    return pipe


def _finish(client: ProtocolClient, pipes: list[Pipe]) -> list[bytes]:
    """Wait for the responses, and return them."""
    for pipe in pipes:
        client.send(pipe, [])
    return [pipe.receive() for pipe in pipes]


def _wait_until(client: ProtocolClient, is_reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_reached():
        assert time.monotonic() < deadline
        client.loop.run_until_complete(asyncio.sleep(0.001))


def test_cold_names_of_one_turn_need_one_read(client: ProtocolClient, database: _ObservedDatabase) -> None:
    names = [f"link{number}" for number in range(10)] * 2
    responses = _finish(client, [_begin(client, f"/{name}") for name in (*names, "unknown")])
    for name, response in zip(names, responses, strict=False):
        assert b"location: https://example.com/%b\r\n" % name.encode() in response
    assert responses[-1][9:12] == b"404"
    assert (database.name_reads, len(client.new_journal_lines())) == (1, 21)
    assert (client.worker_state.misses, client.worker_state.record_redirects) == (21, 20)


def test_requests_share_read_in_progress(client: ProtocolClient, database: _ObservedDatabase) -> None:
    database.resume.clear()
    first = _begin(client, "/link0")
    _wait_until(client, lambda: database.name_reads == 1)
    second = _begin(client, "/link0")
    client.wait(0)
    database.resume.set()
    assert [response[9:12] for response in _finish(client, [first, second])] == [b"302", b"302"]
    assert database.name_reads == 1


def test_request_after_change_does_not_share_earlier_read(client: ProtocolClient, database: _ObservedDatabase) -> None:
    database.resume.clear()
    first = _begin(client, "/link0")
    _wait_until(client, lambda: database.name_reads == 1)
    change = client.api_request("PUT", "/api/url/1/update", {"url": "https://example.com/new"})
    api = client.connect()
    assert api.protocol is not None
    api.protocol.data_received(change)
    _wait_until(client, lambda: bool(api.written))
    second = _begin(client, "/link0")
    client.wait(0)
    database.resume.set()
    old, new = _finish(client, [first, second])
    assert b"location: https://example.com/link0\r\n" in old
    assert b"location: https://example.com/new\r\n" in new
    assert b"location: https://example.com/new\r\n" in client.request(b"GET /link0" + END)


def test_failed_read_returns_503_and_next_request_recovers(client: ProtocolClient, database: _ObservedDatabase) -> None:
    database.is_failing = True
    assert client.request(b"GET /link0" + END)[9:12] == b"503"
    assert client.new_journal_lines() == []
    database.is_failing = False
    assert client.request(b"GET /link0" + END)[9:12] == b"302"


def test_slow_read_lets_slow_path_shed_load(client: ProtocolClient, database: _ObservedDatabase) -> None:
    loader = client.worker_state.visits.loader
    database.resume.clear()
    pipe = _begin(client, "/link0")
    _wait_until(client, lambda: loader.is_overloaded)
    held = client.worker_state.misses
    other = _begin(client, "/link1")
    client.wait(0)
    assert client.worker_state.misses == held, "not held"
    database.resume.set()
    assert [response[9:12] for response in _finish(client, [pipe, other])] == [b"302", b"302"]
    assert not loader.is_overloaded


def test_held_request_is_answered_when_worker_stops(client: ProtocolClient, database: _ObservedDatabase) -> None:
    database.resume.clear()
    pipe = _begin(client, "/link0")
    _wait_until(client, lambda: database.name_reads == 1)
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    database.resume.set()
    assert _finish(client, [pipe])[0][9:12] == b"302"
    assert pipe.is_closing()


def test_client_that_leaves_while_its_name_is_read_counts_nothing(
    client: ProtocolClient, database: _ObservedDatabase
) -> None:
    database.resume.clear()
    pipe = _begin(client, "/link0")
    _wait_until(client, lambda: database.name_reads == 1)
    pipe.close()
    database.resume.set()
    assert client.request(b"GET /link1" + END)[9:12] == b"302"
    assert [line.split(b"\t")[2] for line in client.new_journal_lines()] == [b"2"]
