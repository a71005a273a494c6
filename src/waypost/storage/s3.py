"""Objects in an S3-compatible store, through obstore: streamed in parts, never a file in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import IO, Any
from urllib.parse import urlsplit

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store

from waypost.settings import Settings
from waypost.storage.store import CHUNK, Missing, Readable, away, full

_log = structlog.get_logger("storage")
_PART = 8 * 1024 * 1024  # bytes; a store takes at most 10,000 parts: objects of up to 80 GB
_PARTS_AT_ONCE = 2
_UPLOADS_AT_ONCE = 16  # of each process: each may hold three parts
_RETRIES = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
_FULL = ("507 Insufficient Storage", "QuotaExceeded", "XMinioStorageFull", "<Code>EntityTooLarge</Code>")


class S3Blob:
    """An object that is there."""

    file: IO[bytes] | None = None

    def __init__(self, store: S3Store, name: str) -> None:
        self._store = store
        self._name = name

    async def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        with _translated():
            found = await obstore.get_async(self._store, self._name, options={"range": (start, end)})
            async for chunk in found.stream(min_chunk_size=CHUNK // 4):
                yield bytes(chunk)

    def close(self) -> None:
        """Nothing is held."""


class S3:
    """A bucket, or a part of one."""

    def __init__(self, settings: Settings) -> None:
        self._store = _client(settings, timedelta(seconds=60))
        # A limit holds for a whole answer: a slow reader's takes as long as he likes.
        self._reading = _client(settings, timedelta(days=7))
        self._uploads = asyncio.Semaphore(_UPLOADS_AT_ONCE)

    async def put(
        self, name: str, chunks: AsyncIterator[bytes], *, seen: Callable[[bytes], object], disposition: str
    ) -> None:
        loop = asyncio.get_running_loop()
        first = bytearray()

        async def told() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                await loop.run_in_executor(None, seen, chunk)
                yield chunk

        rest = told()
        async with self._uploads:
            async for chunk in rest:
                first += chunk
                if len(first) > _PART:
                    break
            with _translated():
                if len(first) <= _PART:  # one request instead of three, and a crash leaves nothing behind
                    await obstore.put_async(self._store, name, bytes(first), **_options(disposition, parts=False))
                else:
                    await obstore.put_async(self._store, name, _after(first, rest), **_options(disposition, parts=True))

    async def open(self, name: str) -> S3Blob:
        with _translated():
            await obstore.head_async(self._store, name)
        return S3Blob(self._reading, name)

    async def signed(self, name: str, *, seconds: int) -> str | None:
        with _translated():
            return await obstore.sign_async(self._store, "GET", name, timedelta(seconds=seconds))

    def remove(self, name: str) -> None:
        try:
            with _translated():
                obstore.delete(self._store, name)
        except Missing:
            pass

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        with _translated():
            found = obstore.get(self._reading, name)
            return int(found.meta["size"]), _chunks(found)

    def size(self, name: str) -> int | None:
        try:
            with _translated():
                return int(obstore.head(self._store, name)["size"])
        except Missing:
            return None

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        with _translated():
            chunks = iter(lambda: file.read(CHUNK), b"")
            obstore.put(self._store, name, chunks, **_options(disposition, parts=True))

    def is_empty(self) -> bool:
        with _translated():
            return not any(len(page) for page in obstore.list(self._store, chunk_size=1))

    def room(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is held."""


async def _after(first: bytearray, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield bytes(first)
    first.clear()
    async for chunk in rest:
        yield chunk


def _options(disposition: str, *, parts: bool) -> Any:
    told = {"Content-Disposition": disposition, "Content-Type": "application/octet-stream"}
    return {"chunk_size": _PART, "max_concurrency": _PARTS_AT_ONCE, "attributes": told, "use_multipart": parts}


def _chunks(found: Any) -> Iterator[bytes]:
    with _translated():
        for chunk in found.stream(min_chunk_size=CHUNK):
            yield bytes(chunk)


def _client(settings: Settings, limit: timedelta) -> S3Store:
    parts = urlsplit(settings.storage_url)
    given = {
        "endpoint": settings.storage_endpoint,
        "region": settings.storage_region,
        "access_key_id": settings.storage_key,
        "secret_access_key": settings.storage_secret.get_secret_value(),
    }
    config: Any = {name: value for name, value in given.items() if value}
    config["disable_bulk_delete"] = True  # not every store has it
    client: Any = {"timeout": limit, "connect_timeout": timedelta(seconds=5)}
    if settings.storage_endpoint.startswith("http://"):
        client["allow_http"] = True
    retry: Any = _RETRIES
    prefix = parts.path.strip("/") or None
    return S3Store(parts.netloc, prefix=prefix, config=config, client_options=client, retry_config=retry)


@contextmanager
def _translated() -> Iterator[None]:
    """What the store says, as a problem; the whole of it goes into the log, which may name a bucket, never a key."""
    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            _log.error("the bucket is not there", reason=str(error)[:500])
            raise away() from error
        raise Missing from error
    except (BaseError, OSError) as error:
        _log.error("the file storage failed", reason=str(error)[:500])
        raise (full() if any(word in str(error) for word in _FULL) else away()) from error
