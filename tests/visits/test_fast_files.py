"""Files on the fast path: small downloads in batches, exact limits, and missing content."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.files import objects
from tests.support.observed_database import ObservedDatabase
from tests.support.protocol import ProtocolClient, protocol_client
from waypost import clock
from waypost.files import download_grants, file_server
from waypost.files.download_grants import DownloadGrant
from waypost.settings import Settings
from waypost.visits.lookup import FileView, resolve

CONTENT = b"a small file"
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
        assert client.finish([client.begin("/many", PROGRAM + b"Range: bytes=0-0\r\n")])[0][9:12] == b"206"
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
    expected = 3 if rest is None else 2
    assert [response[9:12] for response in responses].count(b"200") == expected


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
        return database.write(lambda tx: download_grants.take(tx, outdated, b"visitor", served=1, now=clock.now()))

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
