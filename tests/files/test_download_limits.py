"""Download limits, resumed downloads, expiry, and the removal of expired files."""

import re
from pathlib import Path

import time_machine
from sqlalchemy import select

from tests.conftest import Person
from tests.support.asgi_client import AsgiClient
from tests.support.databases import ON_SQLITE
from tests.support.files import CONTENT, PNG, download, downloads_left, new_file, objects, open_page
from tests.support.visits import click_totals
from waypost.core.settings import Settings
from waypost.db import schema
from waypost.db.database import Database
from waypost.storage.cleanup import StorageCleaner
from waypost.storage.factory import open_store

pytestmark = ON_SQLITE
NOW = 1_800_000_000


def test_download_over_limit_returns_410(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert [download(service).status_code for _ in range(4)] == [200, 200, 410, 410]
    page = open_page(service)
    assert (page.status_code, "This file has reached its download limit" in page.text) == (410, True)
    body = download(service).json()
    assert body == {"error": 1, "message": "This file has expired or reached its download limit.", "code": "gone"}
    assert ana.details("file", file)["downloads"] == 2
    assert ana.details("file", file)["available"] is False
    assert click_totals(ana, f"/file/{file}") == {"clicks": 2, "uniqueClicks": 1, "late": 4}
    ana.update("file", file, maxdownloads=3)
    assert [download(service).status_code for _ in range(2)] == [200, 410]


def test_limit_includes_earlier_downloads(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine")
    assert [download(service).status_code for _ in range(3)] == [200] * 3
    ana.update("file", file, maxdownloads=4)
    assert [download(service).status_code for _ in range(2)] == [200, 410]


def test_resumed_download_counts_once(ana: Person, service: AsgiClient, proxied: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    assert download(service).status_code == 200
    for start in (5000, 9000, 10_000, 10_239):
        response = download(service, Range=f"bytes={start}-")
        assert (response.status_code, response.content) == (206, CONTENT[start:])
    assert downloads_left(ana, file) == 1
    elsewhere = {"X-Forwarded-For": "203.0.113.7"}
    assert download(proxied, Range="bytes=5000-", **elsewhere).status_code == 206  # a new visitor takes a download
    assert downloads_left(ana, file) == 0
    assert download(proxied, Range="bytes=5000-", **{"X-Forwarded-For": "203.0.113.8"}).status_code == 410
    assert download(service, Range="bytes=10000-").status_code == 206


def test_range_from_start_takes_download(ana: Person, service: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=4)
    for byte_range in ("bytes=0-", "bytes=-99999", "bytes=0-10239", "bytes=5-,0-4"):
        assert download(service, Range=byte_range).status_code == 206
    assert downloads_left(ana, file) == 0
    assert download(service, Range="bytes=0-").status_code == 410


def test_resuming_over_twice_the_size_returns_410(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
    assert download(service).status_code == 200
    assert download(service, Range="bytes=1-").status_code == 206
    assert download(service, Range="bytes=1-").status_code == 410
    assert download(service, Range="bytes=-1").status_code == 206  # one byte was left
    assert download(service, Range="bytes=-1").status_code == 410


def test_resuming_after_a_day_returns_410(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=1)
        assert download(service).status_code == 200
        clock.shift(86_400)
        assert download(service, Range="bytes=9000-").status_code == 206
        clock.shift(1)
        assert download(service, Range="bytes=9000-").status_code == 410


def test_browser_resumes_by_cookie_from_any_address(ana: Person, service: AsgiClient, proxied: AsgiClient) -> None:
    file = new_file(ana, "a.bin", CONTENT, custom="mine", maxdownloads=2)
    new_file(ana, "b.bin", CONTENT, custom="other", maxdownloads=1)
    started = open_page(service, "mine?download=1")
    cookie = started.headers["set-cookie"]
    assert "; HttpOnly; " in cookie
    assert "; Path=/mine; " in cookie
    token = cookie.partition(";")[0]
    service.cookies.clear()
    moved = {"X-Forwarded-For": "203.0.113.9", "Cookie": token, "Range": "bytes=9000-"}
    assert open_page(proxied, "mine?download=1", **moved).status_code == 206
    assert download(proxied, **moved).status_code == 206  # a download manager that uses the browser's cookies
    assert downloads_left(ana, file) == 1
    foreign = open_page(proxied, "other?download=1", **moved)  # a token is valid for one file only
    assert (foreign.status_code, "set-cookie" in foreign.headers) == (206, True)
    assert open_page(proxied, "other?download=1", **moved).status_code == 410
    for forged in (token[:-1] + "x", "wp_visitor=", "wp_visitor=a.b", "wp_visitor=" + "x" * 3000):
        response = open_page(proxied, "mine?download=1", **{**moved, "Cookie": forged})
        assert response.status_code in (206, 410)
    assert downloads_left(ana, file) == 0


def test_visitors_are_stored_as_digests(ana: Person, proxied: AsgiClient, database: Database) -> None:
    new_file(ana, "a.bin", CONTENT, custom="mine")
    new_file(ana, "b.bin", CONTENT, custom="other")
    for path in ("mine", "other"):
        download(proxied, path, **{"X-Forwarded-For": "203.0.113.9"})
    digests = database.read(lambda tx: tx.execute(select(schema.download_grants.c.visitor)).scalars().all())
    assert len({bytes(digest) for digest in digests}) == 2
    assert not [digest for digest in digests if b"203" in bytes(digest) or len(digest) != 16]


def test_file_expires_at_end_of_day(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel("2027-03-01 12:00:00Z", tick=False) as clock:
        file = new_file(ana, "a.bin", CONTENT, custom="mine", expiry="2027-03-01")
        clock.move_to("2027-03-01 23:59:59Z")
        assert (download(service).status_code, open_page(service).status_code) == (200, 200)
        clock.move_to("2027-03-02 00:00:00Z")
        assert (download(service).status_code, open_page(service).status_code) == (410, 410)
        assert download(service, Range="bytes=5-").status_code == 410
        ana.update("file", file, expiry="2027-03-03")
        assert download(service).status_code == 200


def test_page_shows_time_left_until_it_changes(ana: Person, service: AsgiClient) -> None:
    with time_machine.travel("2027-03-01 12:00:00Z", tick=False) as clock:
        new_file(ana, "a.bin", CONTENT, custom="mine", expiry="2027-03-03")
        for time, text in (
            ("2027-03-01 12:00:00Z", "2 days left"),
            ("2027-03-02 12:00:00Z", "1 day left"),
            ("2027-03-03 12:00:00Z", "11 hours left"),
            ("2027-03-03 23:30:59Z", "29 minutes left"),
            ("2027-03-03 23:59:59Z", "1 minute left"),
        ):
            clock.move_to(time)
            assert f"<li>{text}</li>" in open_page(service).text
        clock.move_to("2027-03-04 00:00:00Z")
        page = open_page(service)
        assert (page.status_code, "<h1>Expired</h1>" in page.text) == (410, True)


def test_page_has_icon_of_type_unless_it_has_preview(ana: Person, service: AsgiClient) -> None:
    new_file(ana, "a.pdf", b"%PDF-1.7 ", custom="prices")
    new_file(ana, "a.zip", b"PK\x03\x04", custom="archive")
    new_file(ana, "a.png", PNG, custom="picture")
    icons = [
        re.findall(r'<svg class="file-icon".*?</svg>', open_page(service, alias).text, re.DOTALL)
        for alias in ("prices", "archive", "picture")
    ]
    assert [len(page_icons) for page_icons in icons] == [1, 1, 0]
    assert icons[0] != icons[1]


def test_expired_object_is_removed_after_grace_period(
    ana: Person, service: AsgiClient, database: Database, settings: Settings, tmp_path: Path
) -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        cleaner = StorageCleaner(database, open_store(settings), settings)
        used = new_file(ana, "a.bin", b"used", custom="used", maxdownloads=1)
        gone = new_file(ana, "b.bin", b"gone", custom="gone", expiry="2027-01-15")
        kept_file = new_file(ana, "c.bin", b"kept", custom="kept", expiry="2027-01-15")
        new_file(ana, "d.bin", b"live", custom="live", expiry="2030-01-15")
        assert download(service, "used").status_code == 200
        clock.shift(86_400)  # one file expired a day ago, two just now
        cleaner.run_due()
        clock.shift(6 * 86_400 - 1)
        cleaner.run_due()
        assert len(objects(tmp_path)) == 4
        clock.shift(86_400)
        cleaner.run_due()
        cleaner.run_due()
        assert sorted(path.read_bytes() for path in objects(tmp_path)) == [b"gone", b"kept", b"live"]
        ana.update("file", kept_file, expiry="2027-02-28")  # within the grace period
        clock.shift(61)
        cleaner.run_due()
        cleaner.run_due()
        assert sorted(path.read_bytes() for path in objects(tmp_path)) == [b"kept", b"live"]
        assert download(service, "kept").content == b"kept"
        for file, field, value in (
            (used, "maxdownloads", 5),
            (gone, "expiry", "2027-02-28"),
            (used, "maxdownloads", None),
        ):
            response = ana.call("PUT", f"/file/{file}/update", {field: value})
            assert (response.status_code, response.json()["field"]) == (400, field)
            assert "upload it again" in response.json()["message"]
            ana.update("file", file, name="Renamed")
        assert [download(service, path).status_code for path in ("used", "gone")] == [410, 410]
        details = ana.details("file", used)
        assert (details["downloads"], details["kept"], details["available"], details["size"]) == (1, False, False, 4)
        assert database.read(lambda tx: tx.execute(select(schema.accounts.c.stored)).scalars().first()) == 8
        ana.remove("file", used)
