"""File storage in an S3-compatible bucket, with obstore. Multipart uploads: a file is never in memory as a whole.

obstore cannot list the parts of multipart uploads whose process was killed. The two requests that remove them are
signed here: Signature Version 4 of AWS, in headers.
"""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit
from xml.etree import ElementTree as ET

import httpx2
import obstore
import structlog
from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store as Bucket

from waypost.core import reasons
from waypost.core.errors import Problem
from waypost.core.settings import Settings
from waypost.storage.store import CHUNK, Health, ObjectNotFound, Readable, StorageUnavailable, storage_full

_log = structlog.get_logger("storage")
_PART_BYTES = 8 * 1024 * 1024
_MAX_PARTS = 10_000  # of an object, in S3
_PARALLEL_PARTS = 2
_PARALLEL_UPLOADS = 16  # of each process; each can hold three parts in memory
_FULL_ERRORS = ("507 Insufficient Storage", "QuotaExceeded", "XMinioStorageFull", "<Code>EntityTooLarge</Code>")
_EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()
_TIMEOUT = 30


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


class UnfinishedUploads:
    """The multipart uploads of a bucket that were neither completed nor aborted."""

    def __init__(self, settings: Settings) -> None:
        bucket = urlsplit(settings.storage_url)
        self._region = settings.storage_region or "us-east-1"
        endpoint = settings.storage_endpoint or f"https://s3.{self._region}.amazonaws.com"
        self._base = f"{endpoint.rstrip('/')}/{bucket.netloc}"
        self._prefix = bucket.path.strip("/")
        self._key, self._secret = settings.storage_key, settings.storage_secret.get_secret_value()

    def abort(self, name: str) -> None:
        """Remove the parts of an object. Without effect if the keys are not in the settings. Raises UNAVAILABLE."""
        if not self._key:
            return
        path = f"{self._prefix}/{name}".lstrip("/")
        try:
            with httpx2.Client(timeout=_TIMEOUT) as client:
                answer = self._send(client, "GET", "", {"prefix": path, "uploads": ""})
                if answer.is_success:
                    for upload in _ids(answer.content, path):
                        self._send(client, "DELETE", path, {"uploadId": upload})
        except (httpx2.HTTPError, ET.ParseError) as error:
            raise StorageUnavailable from error
        if answer.status_code >= 500 and answer.status_code != 501:
            raise StorageUnavailable
        if answer.is_error:  # not supported, or not permitted: then a rule of the bucket removes them
            _log.warning("multipart uploads cannot be listed", status=answer.status_code)

    def _send(self, client: httpx2.Client, method: str, path: str, query: Mapping[str, str]) -> httpx2.Response:
        url = f"{self._base}/{quote(path)}".rstrip("/") + "?" + urlencode(sorted(query.items()), quote_via=quote)
        headers = signed_headers(method, url, self._region, self._key, self._secret, datetime.now(UTC))
        return client.request(method, url, headers=headers)


def signed_headers(method: str, url: str, region: str, key: str, secret: str, now: datetime) -> dict[str, str]:
    """Return the headers of a request without a body. The query of `url` is sorted and percent-encoded."""
    parts = urlsplit(url)
    stamp = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": parts.netloc, "x-amz-content-sha256": _EMPTY_DIGEST, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = "\n".join((method, parts.path, parts.query, lines, names, _EMPTY_DIGEST))
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()))
    signing_key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        signing_key = hmac.digest(signing_key, step.encode(), "sha256")
    signature = hmac.digest(signing_key, text.encode(), "sha256").hex()
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={key}/{scope},SignedHeaders={names},Signature={signature}"
    return headers


def _ids(listing: bytes, path: str) -> Iterator[str]:
    """Yield the ids of the uploads of an object. `listing` comes from the store, which is trusted."""
    for upload in ET.fromstring(listing).iterfind("{*}Upload"):  # noqa: S314
        if upload.findtext("{*}Key") == path:
            yield upload.findtext("{*}UploadId", "")
