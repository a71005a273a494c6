"""Visits that wait for the database on the fast path: cold names and click limits, in batches, and their failures."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.observed_database import ObservedDatabase
from tests.support.protocol import ProtocolClient, protocol_client
from waypost.core.settings import Settings
from waypost.visits import batcher, writers
from waypost.visits.fast_path import FastPathProtocol

pytestmark = ON_BOTH_DATABASES  # visits that wait for a read or a click in the event loop or in a thread
END = b" HTTP/1.1\r\nHost: go.localhost:8000\r\n\r\n"


@pytest.fixture
def database(database_url: str) -> Iterator[ObservedDatabase]:
    database = ObservedDatabase(database_url)
    yield database
    database.close()


@pytest.fixture
def client(settings: Settings, database: ObservedDatabase, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProtocolClient]:
    """An application with ten links without a visit. On SQLite its disk was slow, so that threads read the names."""
    monkeypatch.setattr(batcher, "_QUICK_SECONDS", 0.0)
    monkeypatch.setattr(batcher, "_SLOW_DISK_SECONDS", 60.0)
    with protocol_client(settings, database) as client:
        for number in range(10):
            client.add_link(f"link{number}")
        for number in range(2):
            client.request(b"GET /unknown%d" % number + END)
        client.new_journal_lines()
        client.worker_state.misses = database.name_reads = 0
        yield client


def test_cold_names_of_one_turn_need_one_read(client: ProtocolClient, database: ObservedDatabase) -> None:
    names = [f"link{number}" for number in range(10)] * 2
    responses = client.finish([client.begin(f"/{name}") for name in (*names, "unknown")])
    for name, response in zip(names, responses, strict=False):
        assert b"location: https://example.com/%b\r\n" % name.encode() in response
    assert responses[-1][9:12] == b"404"
    assert (database.name_reads, len(client.new_journal_lines())) == (1, 21)
    assert (client.worker_state.misses, client.worker_state.record_redirects) == (21, 20)


def test_requests_share_read_in_progress(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.resume.clear()
    first = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    second = client.begin("/link0")
    client.wait(0)
    database.resume.set()
    assert [response[9:12] for response in client.finish([first, second])] == [b"302", b"302"]
    assert database.name_reads == 1


def test_request_after_change_does_not_share_earlier_read(
    client: ProtocolClient, database: ObservedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "_STALL_SECONDS", 60.0)  # the change may take long
    database.resume.clear()
    first = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    change = client.api_request("PUT", "/api/url/1/update", {"url": "https://example.com/new"})
    api = client.connect()
    assert api.protocol is not None
    api.protocol.data_received(change)
    client.wait_until(lambda: bool(api.written))
    second = client.begin("/link0")
    client.wait(0)
    database.resume.set()
    old, new = client.finish([first, second])
    assert b"location: https://example.com/link0\r\n" in old
    assert b"location: https://example.com/new\r\n" in new
    assert b"location: https://example.com/new\r\n" in client.request(b"GET /link0" + END)


def test_failed_read_returns_503_and_next_request_recovers(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.is_failing = True
    assert client.request(b"GET /link0" + END)[9:12] == b"503"
    assert client.new_journal_lines() == []
    database.is_failing = False
    assert client.request(b"GET /link0" + END)[9:12] == b"302"


def test_slow_read_lets_slow_path_shed_load(client: ProtocolClient, database: ObservedDatabase) -> None:
    loader = client.worker_state.visits.loader
    database.resume.clear()
    pipe = client.begin("/link0")
    client.wait_until(lambda: loader.is_overloaded)
    held = client.worker_state.misses
    other = client.begin("/link1")
    client.wait(0)
    assert client.worker_state.misses == held, "not held"
    database.resume.set()
    assert [response[9:12] for response in client.finish([pipe, other])] == [b"302", b"302"]
    assert not loader.is_overloaded


def test_held_request_is_answered_when_worker_stops(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.resume.clear()
    pipe = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    database.resume.set()
    assert client.finish([pipe])[0][9:12] == b"302"
    assert pipe.is_closing()


def test_data_after_held_request_waits_for_its_response(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.resume.clear()
    pipe = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    assert pipe.protocol is not None
    for piece in (b"GET /link1" + END + b"GET /li", b"nk2" + END):
        pipe.protocol.data_received(piece)
    assert not pipe.accepts_data
    database.resume.set()
    client.wait_until(lambda: pipe.written.count(b"HTTP/1.1 302") == 3)
    assert re.findall(rb"example.com/(link\d)", pipe.receive()) == [b"link0", b"link1", b"link2"]
    assert pipe.accepts_data


def test_client_that_ends_its_side_gets_its_response(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.resume.clear()
    pipe = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    protocol: Any = pipe.protocol
    assert protocol.eof_received(), "the connection stays open"
    database.resume.set()
    client.wait_until(pipe.is_closing)
    assert pipe.receive()[9:12] == b"302"
    assert len(client.new_journal_lines()) == 1


def test_client_that_leaves_while_its_name_is_read_counts_nothing(
    client: ProtocolClient, database: ObservedDatabase
) -> None:
    database.resume.clear()
    pipe = client.begin("/link0")
    client.wait_until(lambda: database.name_reads == 1)
    pipe.close()
    database.resume.set()
    assert client.request(b"GET /link1" + END)[9:12] == b"302"
    assert [line.split(b"\t")[2] for line in client.new_journal_lines()] == [b"2"]


def test_clicks_of_one_turn_are_taken_in_one_transaction(client: ProtocolClient, database: ObservedDatabase) -> None:
    client.add_link("limited", clicklimit=5)
    client.add_link("other", clicklimit=5)
    assert client.request(b"GET /limited" + END)[9:12] == b"302"
    before = database.click_writes
    pipes = [client.begin("/limited") for _ in range(8)] + [client.begin("/other")]
    client.wait(0)
    database.resume.set()
    statuses = [response[9:12] for response in client.finish(pipes)]
    assert sorted(statuses[:8]) == [b"302"] * 4 + [b"410"] * 4
    assert statuses[8] == b"302"
    flags = [line.split(b"\t")[3] for line in client.new_journal_lines()]
    assert sorted(flags) == [b"l"] * 4 + [b"t"] * 6
    assert database.click_writes - before <= 3, "the clicks, and those that the slow path tries again"


def test_click_of_client_that_left_is_logged(client: ProtocolClient, database: ObservedDatabase) -> None:
    client.add_link("limited", clicklimit=1)
    assert (
        client.request(b"GET /limited" + END.replace(b"\r\n\r\n", b"\r\nUser-Agent: Googlebot\r\n\r\n"))[9:12] == b"302"
    )
    client.new_journal_lines()
    database.resume.clear()
    pipe = client.begin("/limited")
    client.wait_until(lambda: database.click_writes == 1)
    pipe.close()
    database.resume.set()
    assert client.request(b"GET /limited" + END)[9:12] == b"410"
    assert [line.split(b"\t")[3] for line in client.new_journal_lines()] == [b"t", b"l"]


def test_click_of_client_that_leaves_before_its_response_is_sent_is_logged(
    client: ProtocolClient, database: ObservedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.add_link("limited", clicklimit=1)
    send = FastPathProtocol._send  # in the turn of the event loop that sends the response

    def leave(protocol: FastPathProtocol, *response: Any) -> None:
        send(protocol, *response)
        protocol.transport.close()

    pipe = client.begin("/limited")
    monkeypatch.setattr(FastPathProtocol, "_send", leave)
    client.wait_until(pipe.is_closing)
    monkeypatch.undo()
    assert client.request(b"GET /limited" + END)[9:12] == b"410"
    assert [line.split(b"\t")[3] for line in client.new_journal_lines()] == [b"t", b"l"]


def test_held_click_is_answered_when_worker_stops(client: ProtocolClient, database: ObservedDatabase) -> None:
    client.add_link("limited", clicklimit=2)
    assert client.request(b"GET /limited" + END)[9:12] == b"302"
    database.resume.clear()
    pipe = client.begin("/limited")
    client.wait_until(lambda: database.click_writes == 2)
    assert pipe.protocol is not None
    pipe.protocol.shutdown()
    database.resume.set()
    client.wait_until(pipe.is_closing)
    assert pipe.receive()[9:12] == b"302"


def test_failed_click_returns_503_and_counts_nothing(client: ProtocolClient, database: ObservedDatabase) -> None:
    client.add_link("limited", clicklimit=2)
    assert client.request(b"GET /limited" + END)[9:12] == b"302"
    client.new_journal_lines()
    database.is_failing = True
    assert client.request(b"GET /limited" + END)[9:12] == b"503"
    assert client.new_journal_lines() == []
    database.is_failing = False
    assert [client.request(b"GET /limited" + END)[9:12] for _ in range(2)] == [b"302", b"410"]


def test_rotator_is_answered_on_the_fast_path(client: ProtocolClient) -> None:
    assert (
        client.request(client.api_request("POST", "/api/campaign/add", {"name": "x", "slug": "turn"}))[9:12] == b"201"
    )
    for number in range(2):
        client.add_link(f"turn{number}", campaign=1)
    responses = client.finish([client.begin("/r/turn") for _ in range(40)])
    for number in range(2):
        assert any(b"location: https://example.com/turn%d\r\n" % number in response for response in responses)
    assert client.worker_state.record_redirects == 40
    kinds = Counter(line.split(b"\t")[1] for line in client.new_journal_lines())
    assert kinds == {b"link": 40, b"campaign": 40}


def test_rotator_with_limit_takes_each_click_once(client: ProtocolClient) -> None:
    assert (
        client.request(client.api_request("POST", "/api/campaign/add", {"name": "x", "slug": "turn"}))[9:12] == b"201"
    )
    client.add_link("limited", campaign=1, clicklimit=3)
    client.add_link("open", campaign=1)
    responses = client.finish([client.begin("/r/turn") for _ in range(60)])
    assert sum(b"location: https://example.com/limited\r\n" in response for response in responses) == 3
    assert sum(b"location: https://example.com/open\r\n" in response for response in responses) == 57


def test_rotator_follows_changes_of_its_links(client: ProtocolClient) -> None:
    assert (
        client.request(client.api_request("POST", "/api/campaign/add", {"name": "x", "slug": "turn"}))[9:12] == b"201"
    )
    fields = {"url": "https://example.com/one", "campaign": 1}
    link = json.loads(client.request(client.api_request("POST", "/api/url/add", fields)).splitlines()[-1])["id"]
    visit = b"GET /r/turn" + END
    assert b"location: https://example.com/one\r\n" in client.request(visit)
    for path in ("a", "b"):
        change = client.api_request("PUT", f"/api/url/{link}/update", {"url": f"https://example.com/{path}"})
        assert client.request(change)[9:12] == b"200"
        assert b"location: https://example.com/%b\r\n" % path.encode() in client.request(visit)
    assert client.request(client.api_request("DELETE", f"/api/url/{link}/delete"))[9:12] == b"200"
    assert client.request(visit)[9:12] == b"404"
    assert client.worker_state.record_redirects == 3


def test_refusals_need_no_asgi_request(client: ProtocolClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client.add_link("limited", clicklimit=1)
    client.add_link("replaced", clicklimit=1, expiryurl="https://example.com/over")
    client.add_link("off", status="disabled")
    aliases = ("limited", "replaced", "off", "missing")
    client.finish([client.begin(f"/{alias}") for alias in aliases])
    client.new_journal_lines()
    monkeypatch.delattr(writers, "respond")
    responses = client.finish([client.begin(f"/{alias}") for alias in aliases * 2])
    assert [response[9:12] for response in responses] == [b"410", b"302", b"403", b"404"] * 2
    assert b"location: https://example.com/over\r\n" in responses[1]
    flags = [(line.split(b"\t")[1], line.split(b"\t")[3]) for line in client.new_journal_lines()]
    assert sorted(flags) == [(b"link", b"l")] * 4 + [(b"missing", b"")] * 2
