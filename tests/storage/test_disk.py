"""File storage in a folder."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from waypost.errors import Kind, Problem
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
