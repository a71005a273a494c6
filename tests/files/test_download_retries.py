"""Downloads that clients break off at once and begin again, as browsers with a separate downloader do (decision 68)."""

import socket
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import time_machine
from sqlalchemy import select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_BOTH_DATABASES, ON_SQLITE
from tests.support.file_server import FileServer
from tests.support.files import CONTENT, download, downloads_left, new_file, open_page
from tests.support.load import until
from tests.support.nodes import two_nodes
from tests.support.server import Server, at_once
from tests.support.visits import click_totals
from waypost.db.database import Database
from waypost.db.schema import download_grants, files

pytestmark = ON_BOTH_DATABASES  # limits under concurrency
_WEB_VIEW = "Mozilla/5.0 (Linux; Android 14; wv) Chrome/130.0 Mobile Safari/537.36"
_DOWNLOADER = {"User-Agent": "ddg_android/5.216.2 (com.duckduckgo.mobile.android; Android API 34)"}
_REFUSAL = len('{"error":1,"message":"This file has expired or reached its download limit.","code":"gone"}')
NOW = 1_800_000_000


def _break_off(url: str, path: str, *lines: str, count: int = 600) -> None:
    """Request a file as a browser does, read the beginning of the response, and close the connection."""
    head = [f"GET {path} HTTP/1.1", "Host: localhost", f"User-Agent: {_WEB_VIEW}", "Accept: text/html,*/*;q=0.8"]
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port or 0)) as client:
        client.sendall("\r\n".join([*head, *lines, "", ""]).encode())
        received = 0
        while received < count:
            data = client.recv(min(4096, count - received))
            assert data
            received += len(data)


def _fetch(server: Server, path: str, **headers: str) -> tuple[int, int]:
    """Request a file as the downloader does; return the status and the number of bytes."""
    response = server.call("GET", path, headers={**_DOWNLOADER, **headers})
    return response.status_code, len(response.content)


@pytest.mark.parametrize("size", [1, 20_000, 60_000, 300_000, 5_000_000, 20_000_000])
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_separate_downloader_gets_file_with_one_download(
    file_server: FileServer, big: bytes, size: int, connection: str
) -> None:
    alias = f"again-{size}-{connection}"
    assert file_server.upload(alias, big[:size], maxdownloads=1).status_code == 200
    server, path = file_server.server, f"/{alias}?download=1"
    _break_off(server.url, path, f"Connection: {connection}", count=200)
    assert _fetch(server, path) == (200, size)
    assert _fetch(server, path)[0] == 410
    assert file_server.downloads(alias) == 1


def test_download_that_brought_more_is_not_started_again(file_server: FileServer, big: bytes) -> None:
    assert file_server.upload("more", big[:5_000_000], maxdownloads=1).status_code == 200
    _break_off(file_server.server.url, "/more?download=1", count=500_000)
    assert _fetch(file_server.server, "/more")[0] == 410


def test_complete_small_download_is_not_started_again(file_server: FileServer, big: bytes) -> None:
    for alias, size in (("whole-1", 1), ("whole-2", 20_000), ("whole-3", 100_000)):
        assert file_server.upload(alias, big[:size], maxdownloads=1).status_code == 200
        assert _fetch(file_server.server, f"/{alias}") == (200, size)
        assert _fetch(file_server.server, f"/{alias}", Connection="close")[0] == 410


def test_bytes_of_one_download_stay_below_twice_the_size(file_server: FileServer, big: bytes) -> None:
    assert file_server.upload("twice", big[:20_000], maxdownloads=1).status_code == 200
    for served in (20_000, 40_000):
        _break_off(file_server.server.url, "/twice?download=1", count=1500)
        until(lambda served=served: _grants(file_server.database(), "twice") == [(served, True)])  # type: ignore[misc]  # at once
    assert _fetch(file_server.server, "/twice")[0] == 410


def test_broken_downloads_are_started_again_exactly_under_load(file_server: FileServer, big: bytes) -> None:
    size = 1_000_000
    assert file_server.upload("load", big[:size], maxdownloads=4).status_code == 200
    at_once([partial(_break_off, file_server.server.url, "/load?download=1")] * 6)
    until(lambda: all(served < size for served, _ in _grants(file_server.database(), "load")))
    left = _left(_grants(file_server.database(), "load"))
    answers = at_once([partial(_fetch, file_server.server, "/load")] * 24)
    assert Counter(answers) == {(200, size): left, (410, _REFUSAL): 24 - left}
    grants = _grants(file_server.database(), "load")
    assert (len(grants), file_server.downloads("load")) == (4, 4)
    assert all(served <= 2 * size for served, _ in grants)


def _left(grants: list[tuple[int, bool]]) -> int:
    """Return how many of four downloads are left: those that were not taken, and those that can be started again."""
    return 4 - sum(not is_broken for _, is_broken in grants)


def test_rest_waits_for_bytes_of_broken_parallel_connections(file_server: FileServer, big: bytes) -> None:
    """Three parallel connections have reserved all that one download may serve, and end without having sent it."""
    assert file_server.upload("parallel", big, maxdownloads=2).status_code == 200
    head = "GET /parallel HTTP/1.1\r\nHost: localhost\r\nUser-Agent: aria2/1.36.0\r\n"
    connections = []
    for lines in ("", "Range: bytes=1000000-\r\n", "Range: bytes=2000000-\r\n"):
        connections.append(socket.create_connection(file_server.address))
        connections[-1].sendall(f"{head}{lines}\r\n".encode())
        assert connections[-1].recv(12).startswith(b"HTTP/1.1 20")
    with socket.create_connection(file_server.address) as rest:
        rest.sendall(f"{head}Range: bytes=12000000-\r\n\r\n".encode())
        for connection in connections:
            connection.close()
        assert rest.recv(12) == b"HTTP/1.1 206"
    assert file_server.downloads("parallel") == 1


def _grants(database: Database, alias: str) -> list[tuple[int, bool]]:
    """Return the served bytes of each download of a file, and whether it can be started again."""
    query = select(download_grants).join(files, files.c.id == download_grants.c.file).where(files.c.alias == alias)
    with closing(database):
        rows = database.read(lambda tx: tx.execute(query).all())
    return [(row.served, row.retry_until is not None) for row in rows]


def test_nodes_start_downloads_again_exactly(tmp_path: Path, postgres: str, big: bytes) -> None:
    size = 1_000_000
    with two_nodes(tmp_path, postgres) as nodes:
        upload = "/api/files/upload/a.bin?custom=shared&maxdownloads=4"
        assert nodes.first.call("POST", upload, key=nodes.key, content=big[:size]).status_code == 200
        until(lambda: nodes.second.call("HEAD", "/shared", headers=_DOWNLOADER).status_code == 200)
        servers, database = [nodes.first, nodes.second], partial(Database, nodes.database_url)
        at_once([partial(_break_off, server.url, "/shared?download=1") for server in servers * 3])
        until(lambda: all(served < size for served, _ in _grants(database(), "shared")))
        left = _left(_grants(database(), "shared"))
        answers = at_once([partial(_fetch, server, "/shared") for server in servers * 8])
        assert Counter(answers) == {(200, size): left, (410, _REFUSAL): 16 - left}
        assert all(served <= 2 * size for served, _ in _grants(database(), "shared"))


@ON_SQLITE
def test_player_that_asks_for_two_bytes_first_takes_one_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.mp4", CONTENT, custom="mine", maxdownloads=2)
    for byte_range in ("bytes=0-1", "bytes=-4", "bytes=0-", "bytes=9000-"):
        assert download(service, Range=byte_range).status_code == 206
    assert downloads_left(ana, file) == 1
    assert click_totals(ana, f"/file/{file}") == {"clicks": 1, "uniqueClicks": 1}


@ON_SQLITE
def test_download_whose_parts_are_complete_is_not_started_again(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert [download(service, Range=part).status_code for part in ("bytes=0-999", "bytes=1000-")] == [206, 206]
    assert download(service).status_code == 410


@ON_SQLITE
def test_download_is_started_again_within_ten_minutes_by_cookie_or_address(
    ana: Person, service: AsgiClient, proxied: AsgiClient
) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=3)
        first = open_page(proxied, "mine?download=1", Range="bytes=0-1", **{"X-Forwarded-For": "203.0.113.7"})
        cookie = first.headers["set-cookie"].partition(";")[0]
        service.cookies.clear()
        clock.shift(600)
        moved = {"X-Forwarded-For": "203.0.113.8", "Cookie": cookie}
        assert open_page(proxied, "mine?download=1", Range="bytes=0-1", **moved).status_code == 206
        assert downloads_left(ana, file) == 2
        same = {"X-Forwarded-For": "203.0.113.7"}
        assert download(proxied, **same).content == CONTENT
        assert downloads_left(ana, file) == 2
        assert download(proxied, Range="bytes=0-1", **same).status_code == 206
        clock.shift(601)
        assert download(proxied, **same).status_code == 200
        assert download(proxied, **{"X-Forwarded-For": "203.0.113.9"}).status_code == 410
        assert downloads_left(ana, file) == 0
