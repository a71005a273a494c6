"""Exports in the dashboard: the button, one at a time, clients that disconnect or stop reading, and CSV of links."""

import asyncio
import csv
import io
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from tests.conftest import Person
from tests.support.dashboard_client import Browser
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.threads import join
from waypost.core.settings import Settings
from waypost.db.database import Database
from waypost.db.schema import account_exports
from waypost.storage.factory import open_store
from waypost.transfer.exports import runner
from waypost.transfer.exports.archive import Source
from waypost.transfer.exports.runner import Abandoned, Pipe

pytestmark = ON_BOTH_DATABASES  # claims and limits of exports


def _await_end(database: Database, account: int) -> None:
    """Wait until no export of the account runs."""
    running = select(account_exports.c.running_until).where(account_exports.c.account == account)
    deadline = time.monotonic() + 10
    while database.read(lambda tx: tx.execute(running).scalar_one()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_button_downloads_archive(ana: Person, dashboard: Browser) -> None:
    ana.add("url", url="https://example.com/", custom="spring")
    response = dashboard.submit("/account/export", at="/account")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/zip")
    assert response.headers["content-disposition"].startswith('attachment; filename="ana-')
    with zipfile.ZipFile(io.BytesIO(response.content)) as opened:
        assert opened.testzip() is None
        assert b"/spring" in opened.read("links.csv")
    _await_end(ana.database, ana.account)
    assert ana.database.read(lambda tx: runner.last_finished(tx, ana.account))


def test_export_without_csrf_token_is_rejected(ana: Person, dashboard: Browser) -> None:
    assert dashboard.client.post("/dashboard/account/export", data={}).status_code == 403


def test_second_export_shows_message(ana: Person, dashboard: Browser) -> None:
    ana.write(lambda tx: runner.acquire_claim(tx, ana.account))
    message = dashboard.submit_for_message("/account/export", at="/account")
    assert "An export of this account is running" in message


def test_exports_are_limited_by_hour(ana: Person, dashboard: Browser) -> None:
    for _ in range(10):
        assert dashboard.submit("/account/export", at="/account").status_code == 200
        _await_end(ana.database, ana.account)
    assert "Too many attempts" in dashboard.submit_for_message("/account/export", at="/account")


def test_claim_of_killed_export_ends_by_itself(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(time.time())
    ana.write(lambda tx: runner.acquire_claim(tx, ana.account))
    monkeypatch.setattr("waypost.core.clock.now", lambda: now + runner.CLAIM_SECONDS + 2)
    ana.write(lambda tx: runner.acquire_claim(tx, ana.account))


def test_disconnected_client_ends_export(ana: Person, settings: Settings, database: Database) -> None:
    assert ana.call("POST", "/files/upload/a.bin", content=b"\x00" * 9_000_000).json()["error"] == 0
    response = runner.download(Source(database, open_store(settings), settings, ana.account), name="a")

    async def disconnect_after_first_chunk() -> None:
        received = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await received.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message.get("body"):
                received.set()
                await asyncio.sleep(0.05)

        await asyncio.wait_for(response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send), 10)

    asyncio.run(disconnect_after_first_chunk())
    _await_end(database, ana.account)
    assert database.read(lambda tx: runner.last_finished(tx, ana.account)) is None


def test_stalled_client_is_abandoned(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, stalled_seconds=0.1)
    pipe.write(b"a" * 9_000_000)  # to the file: no client has to read it
    pipe.stop_spooling()
    for _ in range(5):
        pipe.write(b"b" * 1_000_000)
    with pytest.raises(Abandoned):
        pipe.write(b"b")
    pipe.abandon()


def test_pipe_passes_bytes_in_order_and_waits_for_reader(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path, stalled_seconds=10)
    parts = [bytes([n % 256]) * 100_000 for n in range(150)]

    def write() -> None:
        for number, part in enumerate(parts):
            if number == 50:
                pipe.stop_spooling()
            pipe.write(part)
        pipe.end()

    writer = threading.Thread(target=write)
    writer.start()
    received = b""
    for chunk in pipe:
        assert pipe._waiting <= 4_400_000
        received += chunk
    join(writer)
    assert received == b"".join(parts)
    pipe.abandon()


def test_error_during_export_breaks_download_off(
    ana: Person, dashboard: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana.add("url", url="https://example.com/")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("waypost.transfer.exports.archive._write_files", fail)
    with pytest.raises(AssertionError, match="the response is incomplete"):
        dashboard.submit("/account/export", at="/account")
    _await_end(ana.database, ana.account)


def test_links_in_columns_of_shlink_and_dub(ana: Person, ben: Person, dashboard: Browser) -> None:
    ben.add("url", url="https://example.com/ben")
    for name in ("mail", "2020"):
        ana.add("channel", name=name)
    ana.add("domain", domain="http://brand.example")
    ana.add("url", url="https://example.com/a", custom="spring", channel=[1, 2])
    ana.add("url", url="https://example.com/b", custom="b", domain="brand.example", metatitle="B")
    tables = [
        list(csv.reader(io.StringIO(dashboard.get(f"/account/links/{service}").text, newline="")))
        for service in ("shlink", "dub")
    ]
    assert tables[0] == [
        ["Long URL", "Tags", "Domain", "Short code", "Title"],
        ["https://example.com/a", "mail|2020", "", "spring", ""],
        ["https://example.com/b", "", "brand.example", "b", ""],
    ]
    assert tables[1][0] == ["Short link", "Destination URL", "Clicks", "Created at", "Tags", "Archived"]
    assert [[row[0], row[1], row[2], row[4], row[5]] for row in tables[1][1:]] == [
        ["http://go.localhost:8000/spring", "https://example.com/a", "0", "mail, 2020", "No"],
        ["http://brand.example/b", "https://example.com/b", "0", "", "No"],
    ]
    assert dashboard.get("/account/links/bitly").status_code == 404
