"""Uploads of an account at the same time count together; a slow upload ends, however regular its progress is."""

import asyncio
import socket
from pathlib import Path

import pytest

from tests.support.databases import ON_BOTH_DATABASES
from tests.support.file_server import new_file_server
from tests.support.load import until
from tests.support.server import serving
from waypost.core.errors import Kind, Problem
from waypost.items.files.upload import UploadPace

pytestmark = ON_BOTH_DATABASES  # limits under concurrency
_LIMIT = 1_000_000


def test_simultaneous_uploads_count_together_against_the_storage(tmp_path: Path) -> None:
    files = new_file_server(tmp_path, storage_limit=_LIMIT)
    with serving(tmp_path, workers=1) as files._server:
        head = files.request_head(f"Content-Length: {_LIMIT}")
        with socket.create_connection(files.address) as first:
            first.sendall(head + b"x" * (_LIMIT - 1))
            until(lambda: _stored_bytes(tmp_path) > _LIMIT // 2)
            with socket.create_connection(files.address) as second:
                second.sendall(head + b"x" * (_LIMIT - 1))
                second.settimeout(30)
                assert second.recv(100).startswith(b"HTTP/1.1 507 ")
            first.sendall(b"x")
            first.settimeout(30)
            assert first.recv(100).startswith(b"HTTP/1.1 200 ")
        assert files.upload("more", b"x").status_code == 507
        until(lambda: _stored_bytes(tmp_path) == _LIMIT)


def _stored_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "files").rglob("*") if path.is_file())


def test_upload_below_the_average_rate_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("waypost.items.files.upload._FREE_SECONDS", 0.2)

    async def upload() -> None:
        pace = UploadPace(60, field="file")
        while True:
            async with pace.waiting():
                await asyncio.sleep(0.05)
            pace.count(64)

    with pytest.raises(Problem) as caught:
        asyncio.run(upload())
    assert (caught.value.kind, caught.value.field) == (Kind.TOO_SLOW, "file")


def test_timeout_of_the_caller_is_not_that_of_the_upload() -> None:
    async def upload() -> None:
        async with asyncio.timeout(0.01), UploadPace(60).waiting():
            await asyncio.sleep(30)

    with pytest.raises(TimeoutError):
        asyncio.run(upload())
