"""The folder of objects: what is kept is kept whole."""

import asyncio
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest

from waypost.errors import Kind, Problem
from waypost.storage.disk import DiskStore

_ROOM = 1_000_000


@contextmanager
def _room_for(size: int) -> Iterator[None]:
    """A disk on which a file takes that many bytes: of a write that goes beyond, it takes the beginning."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def _one(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


def test_a_disk_that_takes_only_the_beginning_of_a_file_keeps_nothing_of_it(tmp_path: Path) -> None:
    store, content = DiskStore(tmp_path), bytes(_ROOM + 1)
    with _room_for(_ROOM):
        with pytest.raises(Problem) as caught:
            asyncio.run(store.put("aa/sent", _one(content), on_chunk=len, disposition="attachment"))
        with pytest.raises(Problem) as restored:
            store.save("aa/restored", BytesIO(content), disposition="attachment")
        store.save("aa/fits", BytesIO(content[1:]), disposition="attachment")
    assert (caught.value.kind, restored.value.kind) == (Kind.STORAGE_FULL, Kind.STORAGE_FULL)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["fits"]
    store.close()
