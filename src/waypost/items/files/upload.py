"""Receive an upload: stream the body into the store, enforce limits, verify digests (decision 17).

A client cannot keep a file open by sending single bytes. As multipart/form-data, an upload is the one file of a form,
with text fields before it (decision 58).
"""

import asyncio
import base64
import binascii
import hashlib
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar, Unpack

import anyio.to_thread
import structlog
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.types import Message

from waypost.api.context import Change, RequestContext
from waypost.core.errors import Kind, Problem, invalid
from waypost.http import file_names, media_types
from waypost.http.multipart import MultipartReader, Part
from waypost.items.files import ops
from waypost.items.files.ops import Fields, File, StoredObject, UploadQuota
from waypost.storage.store import Store, storage_full

_MIN_PROGRESS = 64 * 1024  # bytes that must arrive within the idle time
_FREE_SECONDS = 300.0
_MIN_RATE = 16 * 1024  # bytes a second on average, after the first five minutes
# The number of parts, as Dropzone, Plupload, Fine Uploader, Resumable.js and flow.js send it with each part of a file.
_PART_COUNTS = frozenset(("dztotalchunkcount", "chunks", "qqtotalparts", "resumabletotalchunks", "flowtotalchunks"))
_ONE = frozenset(("", "0", "1"))
T = TypeVar("T")
R = TypeVar("R")
_log = structlog.get_logger("upload")
_CHECKED_BYTES = 16 * 1024 * 1024
_in_progress: Counter[int] = Counter()  # bytes of each account's running uploads; only the event loop changes it
_EXTEND_SECONDS = 60.0  # how often an upload extends its record
_DIGEST = re.compile(r"\s*([a-z0-9-]+)\s*=\s*:([A-Za-z0-9+/=]*):\s*")
_ALGORITHMS = {"md5": "md5", "sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}


class UploadPace:
    """Adds up the time for which a client is waited for; time of the storage does not count."""

    def __init__(self, idle_seconds: float, *, field: str | None = None) -> None:
        """`field` is that of the problem."""
        self._idle_seconds, self._field = idle_seconds, field
        self._size = self._counted = 0
        self._waited = self._total = 0.0

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Wait for the client in this context. Raises TOO_SLOW."""
        began = time.monotonic()
        left = _FREE_SECONDS + self._size / _MIN_RATE - self._total
        try:
            async with asyncio.timeout(max(0.001, min(left, self._idle_seconds - self._waited))) as limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_slow() from None
        finally:
            seconds = time.monotonic() - began
            self._waited += seconds
            self._total += seconds

    def count(self, size: int) -> None:
        """Count bytes that have arrived."""
        self._size += size
        if self._size - self._counted >= _MIN_PROGRESS:
            self._counted, self._waited = self._size, 0.0

    def _too_slow(self) -> Problem:
        message = (
            f"The upload is too slow: at least {_MIN_PROGRESS} bytes must arrive every {self._idle_seconds:g} seconds,"
            f" and {_MIN_RATE} bytes a second on average."
        )
        return Problem(Kind.TOO_SLOW, message, field=self._field)


@dataclass(frozen=True)
class FormFile:
    """The file of a form. The body of `request` is the file; `fields` are the settings that precede it."""

    filename: str
    fields: Mapping[str, str]
    request: Request


def is_form(request: Request) -> bool:
    """Return whether the body is a form, and not the file itself."""
    media_type = request.headers.get("content-type", "").partition(";")[0]
    return media_type.strip().lower() == "multipart/form-data"


async def open_form(request: Request, settings: Collection[str], *, seconds: float) -> FormFile:
    """Read the form up to its file. `settings` are the names of text fields with a meaning; others are ignored.

    Raises INVALID, also while the file's request is read: nothing but the file and unknown fields may follow.
    """
    reader = MultipartReader(request, field_seconds=seconds)
    fields: dict[str, str] = {}
    refuse_parts(request.query_params)
    while (part := await reader.next_part()) is not None:
        if part.filename:
            return FormFile(part.filename, fields, _file_request(reader, part, settings))
        if part.filename is None and part.name in settings:
            if part.name in fields:
                raise _repeated(part.name)
            fields[part.name] = await part.text()
        elif part.filename is None and part.name.lower() in _PART_COUNTS:
            refuse_parts({part.name: await part.text()})
    raise invalid("file", "The form must have one file: a part whose Content-Disposition has a filename.")


def refuse_parts(fields: Mapping[str, str]) -> None:
    """Raise INVALID on the field that says that a program uploads a file in parts: each would be stored as a file."""
    for name, count in fields.items():
        if name.lower() in _PART_COUNTS and count.strip() not in _ONE:
            message = f"{name}: a file must be uploaded as a whole. Turn off chunks in the program that uploads it."
            raise invalid(name, message)


def merge(query: Mapping[str, str], fields: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the query and of the form. Raises INVALID for one that both have."""
    for name in fields:
        if name in query:
            raise _repeated(name)
    return {**query, **fields}


def _file_request(reader: MultipartReader, part: Part, settings: Collection[str]) -> Request:
    async def receive() -> Message:
        chunk = await reader.read_chunk(part)
        if chunk is None:  # before the upload is stored
            await _check_end(reader, settings)
        return {"type": "http.request", "body": chunk or b"", "more_body": chunk is not None}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


async def _check_end(reader: MultipartReader, settings: Collection[str]) -> None:
    """Read the form to its end."""
    while (part := await reader.next_part()) is not None:
        if part.filename:
            raise invalid("file", "The form must have one file, but it has more. Send each file in a request.")
        if part.filename is None and part.name in settings:
            raise invalid(part.name, f"{part.name} must precede the file in the form.")
        if part.filename is None and part.name.lower() in _PART_COUNTS:
            refuse_parts({part.name: await part.text()})


def _repeated(name: str) -> Exception:
    return invalid(name, f"{name} must be sent only once.")


async def receive(
    request: Request, context: RequestContext, filename: str, respond: Callable[[File], R], **fields: Unpack[Fields]
) -> R:
    """Store the request's body as a new file of the account; return the response that `respond` makes of it.

    On an error, neither object nor row remains.

    Raises INVALID or TAKEN on the field at fault, TOO_LARGE, STORAGE_FULL, TOO_SLOW, UNAVAILABLE.
    """

    def check(tx: Connection) -> UploadQuota:
        ops.check_fields(tx, context.account, settings=context.settings, **fields)
        return ops.upload_quota(tx, context.account)

    quota = await _threaded(lambda: context.read(check))
    _refuse_early(request, quota, context.store, await _threaded(context.store.free_bytes))
    body = UploadBody(request, quota, context, digests=_declared_digests(request))
    random = secrets.token_hex(16)
    stored_as = f"{random[:2]}/{random}"
    locks = context.cleaner.upload_locks
    lock = await _threaded(lambda: locks.acquire(stored_as))
    try:
        return await _receive(context, body, stored_as, filename, fields, respond)
    finally:
        body.close()
        locks.release(stored_as, lock)


async def _receive(
    context: RequestContext, body: "UploadBody", name: str, filename: str, fields: Fields, respond: Callable[[File], R]
) -> R:
    """Store the body as the object `name`, and create its file."""
    await _threaded(lambda: context.write(lambda tx: ops.register_upload(tx, name)))
    extending = asyncio.create_task(_extend(context, name))
    try:
        disposition = file_names.disposition(filename)
        await context.store.put(name, body.chunks(), on_chunk=body.update_digests, disposition=disposition)
        body.verify()
        stored = StoredObject(name, filename, body.size, body.sha256, media_types.detect(body.head))
        change = Change(lambda tx: ops.add(tx, context.account, stored, settings=context.settings, **fields), respond)
        return await _threaded(lambda: context.run(change))
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_threaded(lambda: context.cleaner.discard(name))))
        raise
    finally:
        extending.cancel()


async def _extend(context: RequestContext, name: str) -> None:
    """Record regularly that the upload runs, also while the client or the storage is slow."""

    def extend(tx: Connection) -> None:
        ops.extend_upload(tx, name)
        if context.claim is not None:
            context.claim.extend(tx)

    while True:
        await asyncio.sleep(_EXTEND_SECONDS)
        try:
            await _threaded(lambda: context.database.write(extend, durability="relaxed"))
        except Problem as problem:
            _log.warning("upload not extended", reason=problem.message)


class UploadBody:
    """The body of an upload in progress: `size` bytes received, `head` are the first ones."""

    def __init__(
        self, request: Request, quota: UploadQuota, context: RequestContext, *, digests: Mapping[str, tuple[str, bytes]]
    ) -> None:
        self.size = 0
        self.head = b""
        self._request = request
        self._checked = 0
        self._pace = UploadPace(context.settings.transfer_seconds)
        self._quota = quota
        self._context = context
        self._sha256 = hashlib.sha256()
        self._declared = digests
        self._other_hashes = {name: hashlib.new(name, usedforsecurity=False) for name in digests if name != "sha256"}

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks. Raises TOO_LARGE, STORAGE_FULL, TOO_SLOW, and INVALID if it is interrupted."""
        more = True
        while more:
            async with self._pace.waiting():
                message = await self._request.receive()
            if message["type"] == "http.disconnect":
                raise invalid("body", "The upload was interrupted. Please try again.")
            more = message.get("more_body", False)
            chunk = message.get("body", b"")
            if not chunk:
                continue
            self._pace.count(len(chunk))
            self._add(chunk)
            await self._require_free_space()
            yield chunk
        if not self.size:
            raise invalid("body", "The body must contain the file, but it is empty.")

    def update_digests(self, chunk: bytes) -> None:
        """Hash a chunk that `chunks` yielded; called in a thread, in order."""
        self._sha256.update(chunk)
        for digest in self._other_hashes.values():
            digest.update(chunk)

    @property
    def sha256(self) -> bytes:
        return self._sha256.digest()

    def verify(self) -> None:
        """Raise INVALID on the header whose digest does not match the received bytes."""
        for name, (header, digest) in self._declared.items():
            if digest != (self.sha256 if name == "sha256" else self._other_hashes[name].digest()):
                raise invalid(header, f"{header} does not match the received file. Please upload it again.")

    def _add(self, chunk: bytes) -> None:
        if len(self.head) < media_types.SNIFF_BYTES:
            self.head = (self.head + chunk)[: media_types.SNIFF_BYTES]
        self.size += len(chunk)
        _in_progress[self._context.account] += len(chunk)
        ops.refuse_over_quota(self.size, self._quota)
        _refuse_over_store(self.size, self._context.store)
        left = self._quota.left
        if left is not None and _in_progress[self._context.account] > left:  # of all uploads that are not files yet
            raise ops.storage_full(left)

    async def _require_free_space(self) -> None:
        """Raise STORAGE_FULL if too little space is left, every few megabytes."""
        if self.size - self._checked >= _CHECKED_BYTES:
            self._checked = self.size
            if await _threaded(self._context.store.free_bytes) == 0:
                raise storage_full()

    def close(self) -> None:
        """Count its bytes no more as those of an upload in progress."""
        _in_progress[self._context.account] -= self.size
        if not _in_progress[self._context.account]:
            del _in_progress[self._context.account]


def _refuse_early(request: Request, quota: UploadQuota, store: Store, free: int | None) -> None:
    """Check the declared length before the client sends the body; without one, require a byte of free space."""
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() and len(declared) <= 18 else 1
    if not size:
        raise invalid("body", "The body must contain the file, but it is empty.")
    ops.refuse_over_quota(size, quota)
    _refuse_over_store(size, store)
    if free is not None and size > free:
        raise storage_full()


def _refuse_over_store(size: int, store: Store) -> None:
    """Raise TOO_LARGE if the storage cannot have an object of this size."""
    if store.max_bytes is not None and size > store.max_bytes:
        raise Problem(Kind.TOO_LARGE, f"The file is too large: the storage allows {store.max_bytes} bytes per file.")


def _declared_digests(request: Request) -> dict[str, tuple[str, bytes]]:
    """Return (header, digest) by algorithm from the request's headers. Raises INVALID on a header."""
    digests: dict[str, tuple[str, bytes]] = {}
    if (md5 := request.headers.get("content-md5")) is not None:
        digests["md5"] = ("Content-MD5", _decode_digest("Content-MD5", "md5", md5))
    for header in ("Content-Digest", "Repr-Digest"):
        for part in filter(None, request.headers.get(header, "").split(",")):
            match = _DIGEST.fullmatch(part)
            if match is None:
                raise invalid(header, f"{header} must have the form sha-256=:BASE64:")
            if algorithm := _ALGORITHMS.get(match[1]):
                digests[algorithm] = (header, _decode_digest(header, algorithm, match[2]))
    return digests


def _decode_digest(header: str, algorithm: str, text: str) -> bytes:
    length = hashlib.new(algorithm, usedforsecurity=False).digest_size
    try:
        digest = base64.b64decode(text.strip(), validate=True)
    except binascii.Error:
        digest = b""
    if len(digest) != length:
        raise invalid(header, f"{header} must be {length} bytes in Base64.")
    return digest


async def _threaded(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
