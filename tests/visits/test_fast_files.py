"""Files on the fast path: small downloads in batches, exact limits, missing content, and pages with limits."""

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.files import objects
from tests.support.observed_database import ObservedDatabase
from tests.support.protocol import ProtocolClient, protocol_client
from waypost.core import clock
from waypost.core.settings import Settings
from waypost.http.connection import LimitedProtocol
from waypost.items.files import download_grants, file_server
from waypost.items.files.download_grants import DownloadGrant, Visitor
from waypost.visits import writers
from waypost.visits.fast_path import FastPathProtocol
from waypost.visits.record_queries import FileView, resolve

pytestmark = ON_BOTH_DATABASES  # downloads that are taken in one transaction
CONTENT = b"a small file"
VISITOR = Visitor(b"visitor", None)
BROWSER = b"User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0\r\nAccept: text/html\r\n"
PROGRAM = b"User-Agent: curl/8.5\r\nAccept: */*\r\n"
BOT = b"User-Agent: Googlebot/2.1\r\n"


@pytest.fixture
def database(database_url: str) -> Iterator[ObservedDatabase]:
    database = ObservedDatabase(database_url)
    yield database
    database.close()


@pytest.fixture
def client(settings: Settings, database: ObservedDatabase) -> Iterator[ProtocolClient]:
    """An application with a file of three downloads. The signing secret was read."""
    with protocol_client(settings, database) as client:
        client.add_link("spring")
        client.add_file("few", CONTENT, maxdownloads=3)
        client.add_file("many", CONTENT)
        assert client.finish([client.begin("/many", PROGRAM + b"Range: bytes=0-\r\n")])[0][9:12] == b"206"
        client.new_journal_lines()
        yield client


def _get(client: ProtocolClient, path: str, headers: bytes) -> bytes:
    return client.finish([client.begin(path, headers)])[0]


def _flags(client: ProtocolClient) -> list[bytes]:
    return [line.split(b"\t")[3] for line in client.new_journal_lines()]


@pytest.mark.parametrize(("path", "headers"), [("", PROGRAM), ("?download=1", PROGRAM), ("?download=1", BROWSER)])
def test_small_download_needs_no_slow_path(
    client: ProtocolClient, path: str, headers: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(file_server, "serve")
    for alias, flag in (("few", b"t"), ("many", b"")):
        response = _get(client, f"/{alias}{path}", headers)
        assert response.endswith(b"\r\n\r\n" + CONTENT)
        assert (b"set-cookie: wp_visitor=" in response) is (headers == BROWSER)
        assert _flags(client) == [flag]


def test_downloads_of_one_turn_are_exact_and_taken_in_one_transaction(
    client: ProtocolClient, database: ObservedDatabase
) -> None:
    assert _get(client, "/few", BOT)[9:12] == b"200"
    client.new_journal_lines()
    before = database.click_writes
    pipes = [client.begin("/few", PROGRAM) for _ in range(8)] + [client.begin("/many", PROGRAM)]
    statuses = [response[9:12] for response in client.finish(pipes)]
    assert sorted(statuses[:8]) == [b"200"] * 3 + [b"410"] * 5
    assert statuses[8] == b"200"
    assert sorted(_flags(client)) == [b""] + [b"l"] * 5 + [b"t"] * 3
    assert database.click_writes - before <= 1 + 5, "the downloads, and those that the slow path tries again"


def test_browser_resumes_its_download(client: ProtocolClient) -> None:
    cookie = re.search(rb"set-cookie: (wp_visitor=[^;]+)", _get(client, "/few?download=1", BROWSER))
    assert cookie is not None
    headers = BROWSER + b"Cookie: " + cookie[1] + b"\r\nRange: bytes=11-\r\n"
    for _ in range(5):
        assert _get(client, "/few?download=1", headers).endswith(b"\r\n\r\n" + CONTENT[11:])
    assert _flags(client) == [b"t"]


@pytest.mark.parametrize("rest", [None, b"a sm"])
def test_missing_content_costs_no_download(client: ProtocolClient, settings: Settings, rest: bytes | None) -> None:
    stored = {path: path.read_bytes() for path in objects(Path(settings.data_dir))}
    for path in stored:
        path.unlink()
        if rest is not None:
            path.write_bytes(rest)
    _get(client, "/few", PROGRAM)
    for path, content in stored.items():
        path.write_bytes(content)
    responses = client.finish([client.begin("/few", PROGRAM) for _ in range(4)])
    assert [response[9:12] for response in responses].count(b"200") == 3


def test_response_that_cannot_be_created_costs_no_download(
    client: ProtocolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, calls = file_server.set_visitor_cookie, []

    def fail_once(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 1:
            raise ValueError
        create(*arguments)

    monkeypatch.setattr(file_server, "set_visitor_cookie", fail_once)
    statuses = [_get(client, "/few?download=1", BROWSER)[9:12] for _ in range(4)]
    assert statuses == [b"200"] * 3 + [b"410"]
    assert _flags(client) == [b"t"] * 3 + [b"l"]


def test_download_of_client_that_left_is_logged(client: ProtocolClient, database: ObservedDatabase) -> None:
    assert _get(client, "/few", BOT)[9:12] == b"200"
    client.new_journal_lines()
    before = database.click_writes
    database.resume.clear()
    pipe = client.begin("/few", PROGRAM)
    client.wait_until(lambda: database.click_writes > before)
    pipe.close()
    database.resume.set()
    client.wait_until(lambda: bool(lines := client.new_journal_lines()) and lines[0].split(b"\t")[3] == b"t")


def test_failed_write_is_tried_again_on_slow_path(client: ProtocolClient, database: ObservedDatabase) -> None:
    database.is_failing = True
    assert _get(client, "/few", PROGRAM)[9:12] == b"503"
    database.is_failing = False
    statuses = [response[9:12] for response in client.finish([client.begin("/few", PROGRAM) for _ in range(4)])]
    assert sorted(statuses) == [b"200"] * 3 + [b"410"]


def test_limit_that_changed_since_the_file_was_read_holds(
    client: ProtocolClient, database: ObservedDatabase, settings: Settings
) -> None:
    def take(alias: str, limit: int | None) -> DownloadGrant | None:
        file = database.read(lambda tx: resolve(tx, [("", alias)], settings))["", alias]
        assert isinstance(file, FileView)
        outdated = replace(file, maxdownloads=limit)
        return database.write(lambda tx: download_grants.take(tx, outdated, VISITOR, served=1, now=clock.now()))

    grants = [take("few", None) for _ in range(4)]
    assert [grant is not None and grant.taken for grant in grants] == [True] * 3 + [False]
    unlimited = take("many", 1)
    assert unlimited is not None
    assert not unlimited.taken
    assert _get(client, "/few", PROGRAM)[9:12] == b"410"


def test_page_counts_no_click(client: ProtocolClient) -> None:
    for _ in range(2):
        assert b"<title>a.txt" in _get(client, "/many", BROWSER)
    assert _flags(client) == []
    assert b"<title>a.txt" in _get(client, "/many", BROWSER + b"X-Purpose: prefetch\r\n")
    assert _flags(client) == [b"p"]


def _left(client: ProtocolClient, alias: str = "few") -> bytes:
    """Return how many downloads the page shows."""
    match = re.search(rb"([0-9]+) downloads? left", _get(client, f"/{alias}", BROWSER))
    return match[1] if match else b""


def test_page_of_limited_file_needs_no_slow_path(client: ProtocolClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(writers, "respond")
    for left in (b"3", b"2", b"1"):
        assert [_left(client), _left(client)] == [left, left]
        assert _flags(client) == []
        assert _get(client, "/few", PROGRAM)[9:12] == b"200"
        assert _flags(client) == [b"t"]


def test_pages_of_one_turn_read_downloads_once_and_later_pages_again(
    client: ProtocolClient, database: ObservedDatabase
) -> None:
    client.add_file("other", CONTENT, maxdownloads=7)
    assert (_left(client), _left(client, "other")) == (b"3", b"7")
    for _ in range(2):
        before = database.name_reads
        pages = client.finish([client.begin(path, BROWSER) for path in ("/few", "/other", "/few", "/other")])
        assert [b"3 downloads left" in page for page in pages] == [True, False] * 2
        assert [b"7 downloads left" in page for page in pages] == [False, True] * 2
        assert database.name_reads == before + 1


def test_page_of_limited_file_is_that_of_slow_path(client: ProtocolClient) -> None:
    variants = [
        b"",
        b"Accept-Language: de\r\n",
        b"Accept-Encoding: gzip\r\n",
        b"Accept-Encoding: br\r\nAccept-Language: fr\r\n",
    ]
    for _ in range(2):
        for variant in variants * 2:
            request = b"GET /few HTTP/1.1\r\nHost: go.localhost:8000\r\n%b\r\n" % (BROWSER + variant)
            assert client.request(request) == client.request(request, protocol=LimitedProtocol)
        assert _get(client, "/few", PROGRAM)[9:12] == b"200"
    assert _flags(client) == [b"t", b"t"]


def test_one_page_of_limited_file_is_cached_for_each_kind_of_visitor(client: ProtocolClient) -> None:
    bodies = client.worker_state.cache.bodies
    for _ in range(2):
        assert _left(client) != b""
        assert len(bodies) == 1
        assert _get(client, "/few", PROGRAM)[9:12] == b"200"


def test_page_without_download_left_returns_410_and_logs_late_visit(client: ProtocolClient) -> None:
    assert _left(client) == b"3"
    for _ in range(3):
        assert _get(client, "/few", PROGRAM)[9:12] == b"200"
    client.new_journal_lines()
    page = _get(client, "/few", BROWSER)
    assert (page[9:12], b"This file has reached its download limit" in page) == (b"410", True)
    assert _flags(client) == [b"l"]


@pytest.mark.usefixtures("ingester")  # a new limit waits for the clicks before it
def test_page_of_limited_file_shows_changes(client: ProtocolClient) -> None:
    changes: list[tuple[dict[str, object], bytes, bytes]] = [
        ({"name": "Renamed"}, b"<title>Renamed", b"3"),
        ({"maxdownloads": 12}, b"<title>Renamed", b"12"),
        ({"maxdownloads": None}, b"<title>Renamed", b""),
        ({"maxdownloads": 3, "name": "Again"}, b"<title>Again", b"3"),
    ]
    assert _left(client) == b"3"
    for fields, title, left in changes:
        assert client.request(client.api_request("PUT", "/api/file/1/update", fields))[9:12] == b"200"
        assert title in _get(client, "/few", BROWSER)
        assert _left(client) == left
    assert client.request(client.api_request("DELETE", "/api/file/1/delete"))[9:12] == b"200"
    assert _get(client, "/few", BROWSER)[9:12] == b"404"


@pytest.mark.parametrize("path", ["/few", "/few?preview=1", "/few+"])
def test_head_request_and_preview_take_and_count_nothing(client: ProtocolClient, path: str) -> None:
    for method in (b"HEAD", b"GET"):
        request = b"%b %b HTTP/1.1\r\nHost: go.localhost:8000\r\n%b\r\n" % (method, path.encode(), BROWSER)
        responses = [client.request(request, protocol=protocol) for protocol in (FastPathProtocol, LimitedProtocol)]
        assert responses[0] == responses[1]
        assert responses[0][9:12] == b"200"
    assert set(_flags(client)) <= {b"h"}
    assert _left(client) == b"3"


def test_page_for_client_that_left_is_not_logged(client: ProtocolClient, database: ObservedDatabase) -> None:
    assert _left(client) == b"3"
    before = database.name_reads
    threading.Timer(0.1, database.resume.set).start()  # on SQLite, the read blocks the event loop
    database.resume.clear()
    pipe = client.begin("/few", BROWSER)
    client.loop.call_soon(pipe.close)
    client.wait_until(lambda: database.name_reads > before and database.resume.is_set())
    assert _left(client) == b"3"
    assert client.new_journal_lines() == []


def test_failed_read_of_downloads_left_returns_503(client: ProtocolClient, database: ObservedDatabase) -> None:
    assert _left(client) == b"3"
    database.is_failing = True
    assert _get(client, "/few", BROWSER)[9:12] == b"503"
    database.is_failing = False
    assert _left(client) == b"3"
