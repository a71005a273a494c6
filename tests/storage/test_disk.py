"""File storage in a folder."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from waypost.core.errors import Kind, Problem
from waypost.storage.disk import DiskStore

_SPACE = 1_000_000


@contextmanager
def _limited_space(size: int) -> Iterator[None]:
    """Limit the size of files. A larger write stores only its beginning, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def _stream(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


def test_error_is_logged_with_reason_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.touch()
    store = DiskStore(folder)
    with capture_logs() as logs:
        for work in (
            lambda: asyncio.run(store.put("aa/a", _stream(b"a"), on_chunk=len, disposition="attachment")),
            lambda: store.save("aa/a", BytesIO(b"a"), disposition="attachment"),
            lambda: store.load("aa/a"),
            lambda: store.size("aa/a"),
            lambda: store.remove("aa/a"),
            lambda: asyncio.run(store.open("aa/a")),
        ):
            with pytest.raises(Problem) as caught:
                work()
            assert caught.value.kind is Kind.UNAVAILABLE
    assert len(logs) == 6
    assert all("Not a directory" in log["reason"] or "File exists" in log["reason"] for log in logs), logs
    assert store.health.fault
    folder.unlink()
    store.save("aa/a", BytesIO(b"a"), disposition="attachment")
    assert store.health.fault == ""
    store.close()


def test_check_finds_unusable_folder_and_creates_nothing(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "files")
    store.check()
    assert store.health.fault == ""
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "files").touch()
    with capture_logs() as logs:
        store.check()
        store.check()
    assert store.health.fault == "Not a directory"
    assert len(logs) == 1
    store.close()


def test_file_on_full_disk_leaves_nothing(tmp_path: Path) -> None:
    store, content = DiskStore(tmp_path), bytes(_SPACE + 1)
    with _limited_space(_SPACE):
        with pytest.raises(Problem) as caught:
            asyncio.run(store.put("aa/sent", _stream(content), on_chunk=len, disposition="attachment"))
        with pytest.raises(Problem) as restored:
            store.save("aa/restored", BytesIO(content), disposition="attachment")
        store.save("aa/fits", BytesIO(content[1:]), disposition="attachment")
    assert (caught.value.kind, restored.value.kind) == (Kind.STORAGE_FULL, Kind.STORAGE_FULL)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["fits"]
    store.close()
