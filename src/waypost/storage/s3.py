"""File storage in an S3-compatible bucket, with obstore. Multipart uploads: a file is never in memory as a whole."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import IO, Any
from urllib.parse import urlsplit

import obstore
import structlog
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store as Bucket

from waypost.core import reasons
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.storage.s3_parts import UnfinishedUploads
from waypost.storage.store import CHUNK, Health, ObjectNotFound, Readable, StorageUnavailable, storage_full

_log = structlog.get_logger("storage")
_PART_BYTES = 8 * 1024 * 1024
_MAX_PARTS = 10_000  # of an object, in S3
_PARALLEL_PARTS = 2
_PARALLEL_UPLOADS = 16  # of each process; each can hold three parts in memory
_FULL_ERRORS = ("507 Insufficient Storage", "QuotaExceeded", "XMinioStorageFull", "<Code>EntityTooLarge</Code>")


class S3Blob:
    """An existing object."""

    file: IO[bytes] | None = None

    def __init__(self, store: Bucket, name: str) -> None:
        self._store = store
        self._name = name

    async def read(self, start: int, end: int) -> AsyncIterator[bytes]:
        with _translated_errors():
            result = await obstore.get_async(self._store, self._name, options={"range": (start, end)})
            async for chunk in result.stream(min_chunk_size=CHUNK // 4):
                yield bytes(chunk)

    def close(self) -> None:
        """Do nothing: no resources are held."""


class S3Store:
    """Objects in a bucket, or below a prefix of one."""

    is_local = False
    max_bytes: int | None = _MAX_PARTS * _PART_BYTES

    def __init__(self, settings: Settings) -> None:
        self.health = Health()
        self._store = _client(settings, timedelta(seconds=60))
        # The timeout is for a whole response, and slow clients may read for hours.
        self._reading = _client(settings, timedelta(days=7))
        self._checking = _client(settings, timedelta(seconds=5), retries=0)
        self._uploads = asyncio.Semaphore(_PARALLEL_UPLOADS)
        self._unfinished = UnfinishedUploads(settings)

    async def put(
        self, name: str, chunks: AsyncIterator[bytes], *, on_chunk: Callable[[bytes], object], disposition: str
    ) -> None:
        loop = asyncio.get_running_loop()
        first = bytearray()

        async def reported_chunks() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                await loop.run_in_executor(None, on_chunk, chunk)
                yield chunk

        rest = reported_chunks()
        async with self._uploads:
            async for chunk in rest:
                first += chunk
                if len(first) > _PART_BYTES:
                    break
            with self._recorded_write(), _translated_errors():
                if len(first) <= _PART_BYTES:  # one request instead of three; a crash leaves nothing behind
                    await obstore.put_async(self._store, name, bytes(first), **_options(disposition, parts=False))
                else:
                    await obstore.put_async(
                        self._store, name, _prepend(first, rest), **_options(disposition, parts=True)
                    )

    async def open(self, name: str) -> S3Blob:
        with _translated_errors():
            await obstore.head_async(self._store, name)
        return S3Blob(self._reading, name)

    async def signed(self, name: str, *, seconds: int) -> str | None:
        with _translated_errors():
            return await obstore.sign_async(self._store, "GET", name, timedelta(seconds=seconds))

    def remove(self, name: str) -> None:
        try:
            with _translated_errors():
                obstore.delete(self._store, name)
        except ObjectNotFound:
            pass
        self._unfinished.abort(name)

    def load(self, name: str) -> tuple[int, Iterator[bytes]]:
        with _translated_errors():
            result = obstore.get(self._reading, name)
            return int(result.meta["size"]), _chunks(result)

    def size(self, name: str) -> int | None:
        try:
            with _translated_errors():
                return int(obstore.head(self._store, name)["size"])
        except ObjectNotFound:
            return None

    def save(self, name: str, file: Readable, *, disposition: str) -> None:
        with _translated_errors():
            chunks = iter(lambda: file.read(CHUNK), b"")
            obstore.put(self._store, name, chunks, **_options(disposition, parts=True))

    def check(self) -> None:
        try:
            with _translated_errors():
                obstore.head(self._checking, "check")
        except ObjectNotFound:
            self.health.access_fault = ""
        except Problem as problem:
            self.health.access_fault = _reason(problem)

    def is_empty(self) -> bool:
        with _translated_errors():
            return not any(len(page) for page in obstore.list(self._store, chunk_size=1))

    def free_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        """Do nothing: no resources are held."""

    @contextmanager
    def _recorded_write(self) -> Iterator[None]:
        try:
            yield
        except Problem as problem:
            if isinstance(problem.__cause__, BaseError | OSError):  # else the upload itself is at fault
                self.health.record_write(_reason(problem))
            raise
        self.health.record_write("")


def _reason(problem: Problem) -> str:
    """Return the kind of an error of obstore in words. Its message would reveal addresses."""
    if "InvalidCertificate" in str(problem.__cause__):
        return "the certificate of the store is not valid"
    return _REASONS.get(type(problem.__cause__), "the store does not answer")


_REASONS: Mapping[type[object], str] = {
    PermissionDeniedError: "the keys have no right to do that",
    UnauthenticatedError: "the keys are refused",
    FileNotFoundError: "the bucket does not exist",
    NotFoundError: "the bucket does not exist",
}


async def _prepend(first: bytearray, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield bytes(first)
    first.clear()
    async for chunk in rest:
        yield chunk


def _options(disposition: str, *, parts: bool) -> Any:
    headers = {"Content-Disposition": disposition, "Content-Type": "application/octet-stream"}
    return {
        "chunk_size": _PART_BYTES,
        "max_concurrency": _PARALLEL_PARTS,
        "attributes": headers,
        "use_multipart": parts,
    }


def _chunks(result: Any) -> Iterator[bytes]:
    with _translated_errors():
        for chunk in result.stream(min_chunk_size=CHUNK):
            yield bytes(chunk)


def _client(settings: Settings, limit: timedelta, *, retries: int = 4) -> Bucket:
    parts = urlsplit(settings.storage_url)
    options = {
        "endpoint": settings.storage_endpoint,
        "region": settings.storage_region,
        "access_key_id": settings.storage_key,
        "secret_access_key": settings.storage_secret.get_secret_value(),
    }
    config: Any = {name: value for name, value in options.items() if value}
    config["disable_bulk_delete"] = True  # not every server supports it
    client: Any = {"timeout": limit, "connect_timeout": timedelta(seconds=5)}
    if settings.storage_endpoint.startswith("http://"):
        client["allow_http"] = True
    retry: Any = {"max_retries": retries, "retry_timeout": timedelta(seconds=60)}
    prefix = parts.path.strip("/") or None
    return Bucket(parts.netloc, prefix=prefix, config=config, client_options=client, retry_config=retry)


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Translate errors of obstore. The log has the full message, which can contain a bucket name but never a key."""
    try:
        yield
    except FileNotFoundError as error:
        if "NoSuchBucket" in str(error):
            _log.error("bucket does not exist", reason=reasons.clean(str(error)))
            raise StorageUnavailable from error
        raise ObjectNotFound from error
    except (BaseError, OSError) as error:
        _log.error("file storage failed", reason=reasons.clean(str(error)))
        raise (storage_full() if any(word in str(error) for word in _FULL_ERRORS) else StorageUnavailable()) from error
