"""An upload under way: its body taken in as it comes, measured, and put into the store (decision 17)."""

import asyncio
import base64
import binascii
import hashlib
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar, Unpack

import anyio.to_thread
from fastapi import Request
from sqlalchemy import Connection

from waypost.api.middleware import RequestContext
from waypost.errors import Kind, Problem, invalid
from waypost.files import ops
from waypost.files.ops import Fields, File, StoredObject, UploadQuota
from waypost.http import file_names, media_types
from waypost.storage.store import full

T = TypeVar("T")
_LEAST = 64 * 1024  # bytes that must come in `transfer_seconds`
_WORD_SECONDS = 600.0  # how often a long upload says that it lives
_DIGEST = re.compile(r"\s*([a-z0-9-]+)\s*=\s*:([A-Za-z0-9+/=]*):\s*")
_KNOWN = {"md5": "md5", "sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}


async def receive(request: Request, context: RequestContext, filename: str, **fields: Unpack[Fields]) -> File:
    """Take the request's body as a new file of the account. When this raises, neither object nor row is left.

    Raises INVALID or TAKEN on the field at fault, TOO_LARGE, STORAGE_FULL, TOO_SLOW, UNAVAILABLE.
    """

    def look(tx: Connection) -> UploadQuota:
        ops.check_fields(tx, context.account, settings=context.settings, **fields)
        return ops.upload_quota(tx, context.account)

    room = await _threaded(lambda: context.read(look))
    _refuse_early(request, room, await _threaded(context.store.room))
    body = UploadBody(request, room, context, expected=_expected(request))
    random = secrets.token_hex(16)
    name = body.name = f"{random[:2]}/{random}"
    await _threaded(lambda: context.write(lambda tx: ops.register_upload(tx, name)))
    try:
        told = file_names.disposition(filename)
        await context.store.put(name, body.chunks(), seen=body.seen, disposition=told)
        body.verify()
        stored = StoredObject(name, filename, body.size, body.sha256, media_types.of(body.start))
        add = lambda tx: ops.add(tx, context.account, stored, settings=context.settings, **fields)  # noqa: E731
        return await _threaded(lambda: context.write(add))
    except BaseException:
        await asyncio.shield(asyncio.ensure_future(_threaded(lambda: context.cleaner.discard(name))))
        raise


class UploadBody:
    """The body of one upload, as far as it has come: `size` bytes, of which `start` are the first."""

    def __init__(
        self, request: Request, room: UploadQuota, context: RequestContext, *, expected: Mapping[str, tuple[str, bytes]]
    ) -> None:
        self.name = ""
        self.size = 0
        self.start = b""
        self._request = request
        self._room = room
        self._door = context
        self._sha256 = hashlib.sha256()
        self._expected = expected
        self._others = {name: hashlib.new(name, usedforsecurity=False) for name in expected if name != "sha256"}

    async def chunks(self) -> AsyncIterator[bytes]:
        """What comes, piece by piece. Raises TOO_LARGE, STORAGE_FULL, TOO_SLOW, and INVALID when it breaks off."""
        waited, came = 0.0, 0
        word = time.monotonic() + _WORD_SECONDS
        more = True
        while more:
            began = time.monotonic()
            message = await self._next(self._door.settings.transfer_seconds - waited)
            waited += time.monotonic() - began
            if message["type"] == "http.disconnect":
                raise invalid("body", "The upload broke off.")
            more = message.get("more_body", False)
            chunk = message.get("body", b"")
            if not chunk:
                continue
            came += len(chunk)
            if came >= _LEAST:
                waited, came = 0.0, 0
            self._grow(chunk)
            yield chunk
            if time.monotonic() > word:
                word = time.monotonic() + _WORD_SECONDS
                await _threaded(
                    lambda: self._door.database.write(lambda tx: ops.extend_upload(tx, self.name), durability="relaxed")
                )
        if not self.size:
            raise invalid("body", "The body must be the file: it is empty.")

    def seen(self, chunk: bytes) -> None:
        """Measure what `chunks` gave; called in a thread, in order."""
        self._sha256.update(chunk)
        for other in self._others.values():
            other.update(chunk)

    @property
    def sha256(self) -> bytes:
        return self._sha256.digest()

    def verify(self) -> None:
        """Raise INVALID on the header whose digest is another one than that of what came."""
        for name, (header, digest) in self._expected.items():
            if digest != (self.sha256 if name == "sha256" else self._others[name].digest()):
                raise invalid(header, f"{header} says something else than what arrived. Please send the file again.")

    async def _next(self, seconds: float) -> Any:
        try:
            async with asyncio.timeout(max(0.001, seconds)):
                return await self._request.receive()
        except TimeoutError:
            most = self._door.settings.transfer_seconds
            told = f"The upload is too slow: at least {_LEAST} bytes must come in {most} seconds."
            raise Problem(Kind.TOO_SLOW, told) from None

    def _grow(self, chunk: bytes) -> None:
        if len(self.start) < media_types.LOOKED_AT:
            self.start = (self.start + chunk)[: media_types.LOOKED_AT]
        self.size += len(chunk)
        _refuse(self.size, self._room)


def _refuse(size: int, room: UploadQuota) -> None:
    """Raise what a file of that many bytes is too large for."""
    if size > room.upload_limit:
        raise Problem(Kind.TOO_LARGE, f"The file is too large: your plan allows {room.upload_limit} bytes a file.")
    if room.left is not None and size > room.left:
        raise ops.storage_full(room.left)


def _refuse_early(request: Request, room: UploadQuota, free: int | None) -> None:
    """Where the length is said, nobody has to send in vain; where it is not, some room must be there."""
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() and len(declared) <= 18 else 1
    if not size:
        raise invalid("body", "The body must be the file: it is empty.")
    _refuse(size, room)
    if free is not None and size > free:
        raise full()


def _expected(request: Request) -> dict[str, tuple[str, bytes]]:
    """The digests that the sender says, by algorithm, each with its header. Raises INVALID on a header."""
    found: dict[str, tuple[str, bytes]] = {}
    if (md5 := request.headers.get("content-md5")) is not None:
        found["md5"] = ("Content-MD5", _decoded("Content-MD5", "md5", md5))
    for header in ("Content-Digest", "Repr-Digest"):
        for part in filter(None, request.headers.get(header, "").split(",")):
            match = _DIGEST.fullmatch(part)
            if match is None:
                raise invalid(header, f"{header} must be of the form sha-256=:BASE64:")
            if algorithm := _KNOWN.get(match[1]):
                found[algorithm] = (header, _decoded(header, algorithm, match[2]))
    return found


def _decoded(header: str, algorithm: str, text: str) -> bytes:
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
